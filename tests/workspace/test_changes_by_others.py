"""What an editor, a git command or a test changes during the run stays, is reported, and the saved copy is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.workspace import ChangedMeanwhileError, Workspace
from selfdebug.workspace.durable import Step, watched
from workspace.git_projects import git

Locked = Callable[..., Workspace]


@pytest.fixture
def writing(repo: Path, locked: Locked) -> Workspace:
    """A run that has edited b.py and saved pkg/a.py."""
    workspace = locked(repo)
    workspace.snapshot(["b.py", "pkg/a.py"], "r1")
    workspace.write("b.py", b"ours = 1\n")
    return workspace


def _saved(repo: Path) -> Path:
    return repo / ".selfdebug/runs/r1/0-b.py.bak"


@pytest.mark.parametrize("by", ["saving", "replacing"])
def test_an_editor_saves_the_file(repo: Path, writing: Workspace, by: str) -> None:
    if by == "replacing":
        (repo / "b.py").unlink()
    (repo / "b.py").write_bytes(b"theirs = 1\n")
    with pytest.raises(ChangedMeanwhileError, match=r"b\.py was changed by someone else") as caught:
        writing.write("b.py", b"ours = 2\n")
    assert caught.value.copies == (str(_saved(repo)),)
    result = writing.roll_back()
    assert not result.is_exact
    (conflict,) = result.conflicts
    assert (conflict.file, conflict.copy) == ("b.py", str(_saved(repo)))
    assert conflict.reason == "it was changed by someone else during the run"
    assert (repo / "b.py").read_bytes() == b"theirs = 1\n"
    assert _saved(repo).read_bytes() == b"b = 1\n"
    assert git(repo, "cat-file", "-p", "refs/selfdebug/r1:b.py") == "b = 1"
    assert writing.roll_back().conflicts == result.conflicts


def test_an_editor_saves_in_the_last_moment_before_the_rename(repo: Path, writing: Workspace) -> None:
    def save(step: Step) -> None:
        if step.operation == "sync" and step.name.endswith(".tmp"):
            (repo / "b.py").write_bytes(b"theirs = 1\n")

    with watched(save), pytest.raises(ChangedMeanwhileError):
        writing.write("b.py", b"ours = 2\n")
    assert (repo / "b.py").read_bytes() == b"theirs = 1\n"
    assert [path.name for path in repo.glob(".selfdebug-*")] == []


def test_an_editor_saves_in_the_last_moment_of_the_roll_back(repo: Path, writing: Workspace) -> None:
    def save(step: Step) -> None:
        if step.operation == "link" and step.name.endswith(".tmp"):
            (repo / "b.py").write_bytes(b"theirs = 1\n")

    with watched(save):
        (conflict,) = writing.roll_back().conflicts
    assert conflict.file == "b.py"
    assert (repo / "b.py").read_bytes() == b"theirs = 1\n"


def test_a_file_is_removed_or_moved(repo: Path, writing: Workspace) -> None:
    (repo / "b.py").rename(repo / "c.py")
    (conflict,) = writing.roll_back().conflicts
    assert conflict.reason == "it was removed or moved by someone else during the run"
    assert not (repo / "b.py").exists()


def test_the_folder_is_removed(repo: Path, writing: Workspace) -> None:
    writing.write("pkg/a.py", b"ours\n")
    (repo / "pkg/a.py").unlink()
    (repo / "pkg").rmdir()
    result = writing.roll_back()
    assert result.restored == ("b.py",)
    assert result.conflicts[0].file == "pkg/a.py"


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_something_else_takes_the_place(repo: Path, writing: Workspace, kind: str) -> None:
    (repo / "b.py").unlink()
    if kind == "link":
        (repo / "b.py").symlink_to("pkg/a.py")
    elif kind == "folder":
        (repo / "b.py").mkdir()
    else:
        os.mkfifo(repo / "b.py")
    (conflict,) = writing.roll_back().conflicts
    assert conflict.reason == "something else has taken its place"
    assert (repo / "pkg/a.py").read_bytes() == b"def f(x):\r\n\treturn x.name\r\n"


def test_a_test_changes_the_mode(repo: Path, writing: Workspace) -> None:
    mode = (repo / "pkg/a.py").stat().st_mode
    writing.write("pkg/a.py", b"ours\n")
    (repo / "b.py").chmod(0o000)
    assert writing.roll_back().restored == ("b.py", "pkg/a.py")
    assert (repo / "b.py").stat().st_mode == mode


@pytest.mark.parametrize("command", ["stash", "commit", "checkout", "reset"])
def test_git_commands_of_the_user(repo: Path, writing: Workspace, command: str) -> None:
    arguments = {
        "stash": ["stash", "-q"],
        "commit": ["commit", "-q", "-a", "-m", "theirs"],
        "checkout": ["checkout", "-q", "b.py"],
        "reset": ["reset", "-q", "--hard"],
    }
    git(repo, *arguments[command])
    result = writing.roll_back()
    assert result.is_exact
    assert (repo / "b.py").read_bytes() == b"b = 1\n"
    if command == "stash":
        assert git(repo, "show", "stash@{0}:b.py") == "ours = 1"
    if command == "commit":
        assert git(repo, "show", "HEAD:b.py") == "ours = 1"


def test_a_commit_and_more_edits_on_top(repo: Path, writing: Workspace) -> None:
    git(repo, "commit", "-q", "-a", "-m", "theirs")
    (repo / "b.py").write_bytes(b"ours = 1\ntheirs = 1\n")
    assert writing.roll_back().conflicts[0].file == "b.py"
    assert (repo / "b.py").read_bytes() == b"ours = 1\ntheirs = 1\n"


def test_gc_keeps_what_the_snapshot_holds(repo: Path, writing: Workspace) -> None:
    git(repo, "gc", "-q", "--prune=now")
    _saved(repo).write_bytes(b"damaged")
    (repo / ".selfdebug/runs/r1/0-held").unlink()
    assert writing.roll_back().restored == ("b.py",)
    assert (repo / "b.py").read_bytes() == b"b = 1\n"


def test_a_stash_of_the_user_between_two_attempts(repo: Path, writing: Workspace) -> None:
    writing.roll_back()
    writing.stash_attempt({"b.py": b"ours = 1\n"}, "first")
    (repo / "b.py").write_bytes(b"theirs = 1\n")
    git(repo, "stash", "-q")
    writing.stash_attempt({"b.py": b"ours = 2\n"}, "second")
    assert [line.split(": ", 1)[1] for line in git(repo, "stash", "list").splitlines()] == [
        "second",
        git(repo, "log", "-1", "--format=WIP on main: %h %s"),
        "first",
    ]


def test_every_copy_is_lost(repo: Path, writing: Workspace) -> None:
    for path in (repo / ".selfdebug/runs/r1").glob("0-*"):
        path.unlink()
    git(repo, "update-ref", "-d", "refs/selfdebug/r1")
    git(repo, "gc", "-q", "--prune=now")
    (conflict,) = writing.roll_back().conflicts
    assert conflict.reason == "the saved copy is gone or damaged"
    assert (repo / "b.py").read_bytes() == b"ours = 1\n"
