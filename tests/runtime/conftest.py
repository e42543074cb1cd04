"""Small projects on disk, and the interpreters that can run their tests."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from selfdebug.errors import EnvironmentUnusableError
from selfdebug.model import PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

Project = Callable[[Mapping[str, str]], Path]
Run = Callable[..., PytestRun]


@cache
def interpreters() -> tuple[Interpreter, ...]:
    """The current interpreter, those named in SELFDEBUG_TEST_PYTHONS, and those on the PATH that have a pytest."""
    named = os.environ.get("SELFDEBUG_TEST_PYTHONS", "").split(os.pathsep)
    on_path = [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    found = {sys.version_info[:2]: Interpreter.find(sys.executable)}
    for python in filter(None, [*named, *on_path]):
        try:
            interpreter = Interpreter.find(python)
        except EnvironmentUnusableError:
            continue
        major, minor = interpreter.version.split(".")[:2]
        found.setdefault((int(major), int(minor)), interpreter)
    return tuple(found.values())


@pytest.fixture(scope="session", params=interpreters(), ids=lambda interpreter: f"py{interpreter.version}")
def each_interpreter(request: pytest.FixtureRequest) -> Interpreter:
    """Each interpreter in turn."""
    interpreter: Interpreter = request.param
    return interpreter


@pytest.fixture(scope="session")
def interpreter() -> Interpreter:
    """The interpreter that runs these tests."""
    return interpreters()[0]


@pytest.fixture(scope="session")
def quick_timeout(interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds in which a short test surely ends on this machine, loaded as it is, and which are worth waiting for."""
    root = write_files(tmp_path_factory.mktemp("quick"), {"test_it.py": "def test_a(): pass\n"})
    run_pytest(PytestRequest(interpreter, root))  # the first compiles the libraries
    return max(2.0, 3 * run_pytest(PytestRequest(interpreter, root)).seconds)


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dedent(text).lstrip("\n").encode("utf-8", "surrogateescape"))
    return root


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Writes files below a fresh folder and returns it."""
    return lambda files: write_files(tmp_path / "project", files)


@pytest.fixture
def run(project: Project, interpreter: Interpreter) -> Run:
    """Writes a project and runs its tests once."""

    def run_project(
        files: Mapping[str, str],
        node_ids: tuple[str, ...] = (),
        pytest_args: tuple[str, ...] = (),
        timeout: float = 60.0,
    ) -> PytestRun:
        root = project(files)
        return run_pytest(PytestRequest(interpreter, root, node_ids=node_ids, pytest_args=pytest_args, timeout=timeout))

    return run_project


def every_path(root: Path) -> dict[str, bytes | None]:
    """All files and folders below `root`, with the content of the files."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }
