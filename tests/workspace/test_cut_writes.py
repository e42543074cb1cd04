"""Writes in place that were cut: the start of the new bytes before the rest of the old ones is ours to take back."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.errors import WorkspaceError
from selfdebug.workspace import Workspace
from selfdebug.workspace.durable import Step, Watcher, watched
from workspace.git_projects import files_at

Locked = Callable[..., Workspace]
EDITS = [b"b", b"b = 'longer than it was before'\n", b"", b"c = 2\n"]


def _cut_at(cut: str) -> Watcher:
    """No file can be renamed over `b.py`, and writing into it ends with an error at the step `cut`."""

    def watcher(step: Step) -> None:
        if step.name != "b.py":
            return
        if step.operation == "rename":
            raise OSError(errno.EBUSY, "Device or resource busy")
        if step.operation == cut:
            if step.fd is not None:
                os.write(step.fd, step.data[: len(step.data) // 2])
            raise OSError(errno.EIO, "Input/output error")

    return watcher


@pytest.mark.parametrize("cut", ["open", "write", "truncate", "sync"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_cut_write_is_taken_back(plain: Path, locked: Locked, cut: str, edit: bytes) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    with watched(_cut_at(cut)), pytest.raises(WorkspaceError, match=r"b\.py cannot be written"):
        workspace.write("b.py", edit)
    assert workspace.roll_back().is_exact
    assert files_at(plain) == before


@pytest.mark.parametrize("cut", ["open", "write", "truncate", "sync"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_cut_roll_back_is_finished_by_the_next(plain: Path, locked: Locked, cut: str, edit: bytes) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", edit)
    with watched(_cut_at(cut)):
        (pending,) = workspace.roll_back().pending
    assert (pending.file, pending.reason) == ("b.py", "input/output error")
    assert workspace.roll_back().is_exact
    assert files_at(plain) == before


def test_a_roll_back_in_place_that_lost_only_the_time_gets_it_back(plain: Path, locked: Locked) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    with watched(_cut_at("sync")):
        assert workspace.roll_back().pending
    os.utime(plain / "b.py")
    assert workspace.roll_back().restored == ("b.py",)
    assert files_at(plain) == before


def test_a_change_by_someone_else_is_not_taken_for_a_cut_write(plain: Path, locked: Locked) -> None:
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    with watched(_cut_at("never")):
        workspace.write("b.py", b"b = 2\nc = 3\n")
    (plain / "b.py").write_bytes(b"b = 2\nc = 4\n")
    (conflict,) = workspace.roll_back().conflicts
    assert conflict.reason == "it was changed by someone else during the run"
    assert (plain / "b.py").read_bytes() == b"b = 2\nc = 4\n"


def test_a_file_that_was_never_made_needs_no_roll_back(plain: Path, locked: Locked) -> None:
    def refuse(step: Step) -> None:
        if step.operation == "create" and step.name.startswith(".selfdebug-"):
            raise OSError(errno.ENOSPC, "No space left on device")

    workspace = locked(plain)
    workspace.snapshot(["new.py"], "r1")
    with watched(refuse), pytest.raises(WorkspaceError):
        workspace.write("new.py", b"n = 1\n")
    assert workspace.roll_back().restored == ()
    assert not (plain / "new.py").exists()


def test_a_disk_that_does_not_keep_what_was_written_is_noticed(plain: Path, locked: Locked) -> None:
    def spoil(step: Step) -> None:
        if step.operation == "sync-folder" and step.name == "project" and is_rolling_back:
            (plain / "b.py").write_bytes(b"spoiled\n")

    is_rolling_back = False
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    with watched(spoil):
        is_rolling_back = True
        (pending,) = workspace.roll_back().pending
    assert pending.reason == "the restored bytes could not be read back"
