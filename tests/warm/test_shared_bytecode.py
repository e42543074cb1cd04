"""The bytecode of libraries outlives a run in the user's cache folder, and never goes where it could do harm."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from selfdebug.pytest_process import Interpreter, PytestRequest, bytecode, run_pytest
from selfdebug.pytest_process.bytecode import share_bytecode


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home / "selfdebug" / "bytecode"


def a_library(tmp_path: Path, name: str = "library") -> tuple[Interpreter, Path]:
    library = tmp_path / name
    library.mkdir(exist_ok=True)
    return Interpreter(Path("/usr/bin/python3"), "3.11.4", "8.0.0", (library,)), library


def linked(tmp_path: Path, interpreter: Interpreter, library: Path, root: Path) -> Path | None:
    """Where the bytecode of the library goes for a new process."""
    prefix = tmp_path / f"prefix-{time.monotonic_ns()}"
    prefix.mkdir()
    share_bytecode(prefix, interpreter, root)
    link = prefix.joinpath(*library.parts[1:])
    return link.readlink() if link.is_symlink() else None


def test_the_same_folder_serves_until_the_library_changes(tmp_path: Path, cache_home: Path) -> None:
    interpreter, library = a_library(tmp_path)
    root = tmp_path / "project"
    first = linked(tmp_path, interpreter, library, root)
    assert first is not None
    assert first.parent == cache_home
    assert linked(tmp_path, interpreter, library, root) == first
    os.utime(library, (1, 1))
    assert linked(tmp_path, interpreter, library, root) != first
    other = Interpreter(interpreter.path, "3.12.0", "8.0.0", (library,))
    os.utime(library, (2, 2))
    assert linked(tmp_path, other, library, root) != linked(tmp_path, interpreter, library, root)


def test_a_second_process_compiles_no_library_again(tmp_path: Path, cache_home: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "test_it.py").write_text("def test_it():\n    pass\n")
    interpreter = Interpreter.find(sys.executable)
    run_pytest(PytestRequest(interpreter, root))
    compiled = {path: path.stat().st_mtime_ns for path in cache_home.rglob("*.pyc")}
    assert any("_pytest" in path.parts for path in compiled)
    run_pytest(PytestRequest(interpreter, root))
    assert {path: path.stat().st_mtime_ns for path in cache_home.rglob("*.pyc")} == compiled
    assert not [path for path in compiled if "test_it" in path.name]


def test_a_project_that_holds_the_cache_or_the_library_is_left_alone(tmp_path: Path, cache_home: Path) -> None:
    interpreter, library = a_library(tmp_path)
    around_the_cache = linked(tmp_path, interpreter, library, tmp_path / "cache")
    assert around_the_cache is not None
    assert not around_the_cache.is_relative_to(cache_home)
    assert linked(tmp_path, interpreter, library, library / "project") is None


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, cache_home: Path) -> None:
    interpreter, library = a_library(tmp_path)
    cache_home.mkdir(parents=True)
    cache_home.chmod(0o777)
    target = linked(tmp_path, interpreter, library, tmp_path / "project")
    assert target is not None
    assert not target.is_relative_to(cache_home)


def test_without_a_usable_home_the_bytecode_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter, library = a_library(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    target = linked(tmp_path, interpreter, library, tmp_path / "project")
    assert target is not None
    assert "selfdebug-bytecode-" in str(target)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    target = linked(tmp_path, interpreter, library, tmp_path / "project")
    assert target is not None
    assert target.parent == tmp_path / "home" / ".cache" / "selfdebug" / "bytecode"
    monkeypatch.setenv("HOME", "relative")
    target = linked(tmp_path, interpreter, library, tmp_path / "project")
    assert "selfdebug-bytecode-" in str(target)


def test_what_no_run_has_used_for_a_month_goes(tmp_path: Path, cache_home: Path) -> None:
    old, young = cache_home / "old", cache_home / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "a.pyc").write_bytes(b"")
    cache_home.chmod(0o700)
    os.utime(old, (time.time() - 31 * 86400,) * 2)
    os.utime(young, (time.time() - 29 * 86400,) * 2)
    bytecode._forget_unused.cache_clear()
    interpreter, library = a_library(tmp_path)
    linked(tmp_path, interpreter, library, tmp_path / "project")
    assert not old.exists()
    assert (young / "a.pyc").exists()
