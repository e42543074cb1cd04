"""What is shipped: metadata, data files, contracts."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from codemods.selfdebug.commands import CONFIG
from selfdebug.demo import PROJECT, lay_out
from selfdebug.errors import UsageError

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_core_needs_four_libraries(pyproject: dict[str, Any]) -> None:
    names = {requirement.split(">")[0] for requirement in pyproject["project"]["dependencies"]}
    assert names == {"libcst", "click", "pygit2", "pytest"}
    assert set(pyproject["project"]["optional-dependencies"]) == {"rich", "mcp", "llm", "dask"}
    assert pyproject["project"]["requires-python"] == ">=3.11"


def test_the_command_is_the_module(pyproject: dict[str, Any]) -> None:
    module, function = pyproject["project"]["scripts"]["selfdebug"].split(":")
    assert callable(getattr(import_module(module), function))


def test_the_layers_are_those_of_the_design(pyproject: dict[str, Any]) -> None:
    contract = next(one for one in pyproject["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    assert contract["exhaustive"]
    flat = [name for layer in contract["layers"] for name in layer.split(" | ")]
    order = ["cli", "explain", "repair", "reports", "stages", "workspace", "config", "model", "errors"]
    places = [flat.index(name) for name in order]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", ".libcst.codemod.yaml"])
def test_the_repository_holds(name: str) -> None:
    assert (REPOSITORY / name).stat().st_size > 0


def test_ci_is_executable() -> None:
    assert (REPOSITORY / ".ci" / "run").stat().st_mode & 0o111


def test_this_repository_is_set_up_for_libcst() -> None:
    assert (REPOSITORY / ".libcst.codemod.yaml").read_text(encoding="utf-8") == CONFIG


# ---------------------------------------------------------------- the demo project


def test_the_demo_fails_as_it_should(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "demo")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"1 failed, 2 passed" in done.stdout


def test_the_demo_is_laid_out_writable_and_whole(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "a" / "b")
    files = [file.relative_to(PROJECT) for file in PROJECT.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert len(files) == 5
    for file in files:
        assert (folder / file).read_bytes() == (PROJECT / file).read_bytes()
        assert (folder / file).stat().st_mode & 0o200


def test_the_demo_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    with pytest.raises(UsageError, match="is not empty"):
        lay_out(tmp_path)
    with pytest.raises(UsageError, match="Cannot lay out the demo project"):
        lay_out(tmp_path / "mine.py")
