"""A hermetic git, two small projects, and a workspace whose lock is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from selfdebug.workspace import Workspace
from workspace.git_projects import GIT_ENVIRONMENT, git


@pytest.fixture(autouse=True)
def hermetic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg-state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    monkeypatch.delenv("SELFDEBUG_DIR", raising=False)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A project without git: two modules and an empty folder."""
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "pkg" / "a.py").write_bytes(b"def f(x):\r\n\treturn x.name\r\n")
    (root / "b.py").write_bytes(b"b = 1\n")
    return root


@pytest.fixture
def repo(plain: Path) -> Path:
    """The same project, committed."""
    git(plain, "init", "-q", "-b", "main")
    git(plain, "add", ".")
    git(plain, "commit", "-q", "-m", "start")
    return plain


Opener = Callable[..., Workspace]


@pytest.fixture
def locked() -> Iterator[Callable[[Path], Workspace]]:
    """Open a workspace and hold its lock until the end of the test."""
    held = []

    def take(root: Path, run_id: str = "r1", **places: Path) -> Workspace:
        workspace = Workspace.open(root, **places)
        held.append(context := workspace.lock(run_id))
        context.__enter__()
        return workspace

    yield take
    for context in reversed(held):
        context.__exit__(None, None, None)
