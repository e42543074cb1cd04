"""File systems that allow less: read-only files and folders, no rename-over, no links, other owners, a full disk."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from selfdebug.errors import InputError, WorkspaceError
from selfdebug.workspace import ReadOnlyError, Workspace
from selfdebug.workspace.durable import Step, Watcher, watched
from selfdebug.workspace.lock import is_alive
from selfdebug.workspace.records import Owner
from workspace.git_projects import files_at

Locked = Callable[..., Workspace]
NOBODY = 65534


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of an ordinary user; a test run by the superuser becomes one for its duration."""
    base = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own folder is closed to other users
    root = base / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg/a.py").write_bytes(b"a = 1\n")
    for name in ("tmp", "xdg"):
        (base / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(base / "tmp"))
    monkeypatch.setenv("XDG_STATE_HOME", str(base / "xdg"))
    importlib.import_module("pygit2")  # the superuser's Python may be closed to other users
    is_superuser = os.geteuid() == 0
    if is_superuser:
        for path in (base, *base.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield root
    if is_superuser:
        os.seteuid(0)
    for path in base.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)
    shutil.rmtree(base)


def test_a_read_only_file_is_refused(shared: Path, locked: Locked) -> None:
    (shared / "pkg/a.py").chmod(0o444)
    before = files_at(shared)
    workspace = locked(shared)
    workspace.snapshot(["pkg/a.py"], "r1")
    with pytest.raises(ReadOnlyError, match=r"pkg/a\.py is read-only, so it is not edited"):
        workspace.write("pkg/a.py", b"edited\n")
    assert workspace.roll_back().restored == ()
    assert files_at(shared) == before


def test_a_file_that_nobody_may_read_is_refused(shared: Path, locked: Locked) -> None:
    (shared / "pkg/a.py").chmod(0o000)
    with pytest.raises(InputError, match="cannot be read: permission denied"):
        locked(shared).snapshot(["pkg/a.py"], "r1")


def test_in_a_read_only_folder_the_file_is_written_in_place(shared: Path, locked: Locked) -> None:
    inode = (shared / "pkg/a.py").stat().st_ino
    (shared / "pkg").chmod(0o555)
    before = files_at(shared)
    workspace = locked(shared)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", b"a much longer text\n")
    workspace.write("pkg/a.py", b"short")
    assert (shared / "pkg/a.py").read_bytes() == b"short"
    assert workspace.roll_back().restored == ("pkg/a.py",)
    assert (shared / "pkg/a.py").stat().st_ino == inode
    assert files_at(shared) == before


def test_tests_that_take_permissions_away_do_not_stop_the_roll_back(shared: Path, locked: Locked) -> None:
    before = files_at(shared)
    workspace = locked(shared)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", b"edited\n")
    (shared / "pkg/a.py").chmod(0o444)
    (shared / "pkg").chmod(0o555)
    assert workspace.roll_back().restored == ("pkg/a.py",)
    (shared / "pkg").chmod(0o755)
    assert files_at(shared)["pkg/a.py"] == before["pkg/a.py"]


def test_a_folder_that_cannot_be_entered_leaves_the_roll_back_for_later(shared: Path, locked: Locked) -> None:
    workspace = locked(shared)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", b"edited\n")
    (shared / "pkg").chmod(0o000)
    (pending,) = workspace.roll_back().pending
    assert (pending.file, pending.reason) == ("pkg/a.py", "its folder cannot be entered")
    (shared / "pkg").chmod(0o755)
    assert workspace.roll_back().restored == ("pkg/a.py",)
    assert (shared / "pkg/a.py").read_bytes() == b"a = 1\n"


def test_a_read_only_project_has_its_state_with_the_user(shared: Path, locked: Locked) -> None:
    shared.chmod(0o555)
    workspace = locked(shared)
    assert workspace.state_dir.parent == shared.parent / "xdg/selfdebug"
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", b"edited\n")
    assert workspace.roll_back().restored == ("pkg/a.py",)
    assert sorted(path.name for path in shared.iterdir()) == ["pkg"]


def test_a_file_of_another_owner_keeps_its_owner(shared: Path, locked: Locked) -> None:
    if os.getuid() != 0:
        pytest.skip("only the superuser can make files of another owner")
    os.seteuid(0)
    os.chown(shared / "pkg/a.py", 4242, 4242)
    (shared / "pkg/a.py").chmod(0o666)
    os.seteuid(NOBODY)
    before = files_at(shared)
    workspace = locked(shared)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", b"edited\n")
    assert (shared / "pkg/a.py").stat().st_uid == 4242
    workspace.roll_back()
    assert (shared / "pkg/a.py").stat().st_uid == 4242
    assert files_at(shared)["pkg/a.py"][1] == before["pkg/a.py"][1]


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_process: int, _signal: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "kill", forbidden)
    assert is_alive(Owner(1, socket.gethostname(), 0.0, "r"))


def _refusing(number: int, *operations: str) -> Watcher:
    def watcher(step: Step) -> None:
        if step.operation in operations and (step.name == "b.py" or step.name.startswith(".selfdebug")):
            raise OSError(number, os.strerror(number), step.name)

    return watcher


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM, errno.EXDEV])
def test_without_rename_over_the_file_is_written_in_place(plain: Path, locked: Locked, number: int) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    with watched(_refusing(number, "rename")):
        workspace.write("b.py", b"edited\n")
        assert (plain / "b.py").read_bytes() == b"edited\n"
        assert workspace.roll_back().restored == ("b.py",)
    assert files_at(plain) == before


def test_a_new_file_needs_a_folder_that_takes_it(plain: Path, locked: Locked) -> None:
    workspace = locked(plain)
    workspace.snapshot(["new.py"], "r1")
    with watched(_refusing(errno.EACCES, "create")), pytest.raises(WorkspaceError, match=r"new\.py cannot be written"):
        workspace.write("new.py", b"n = 1\n")
    workspace.write("new.py", b"n = 1\n")
    assert workspace.roll_back().restored == ("new.py",)
    assert not (plain / "new.py").exists()


def test_a_full_disk_refuses_the_write_and_the_file_is_as_before(plain: Path, locked: Locked) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    with (
        watched(_refusing(errno.ENOSPC, "write")),
        pytest.raises(WorkspaceError, match=r"b\.py cannot be written: no space left on device"),
    ):
        workspace.write("b.py", b"edited\n")
    assert workspace.roll_back().restored == ()
    assert files_at(plain) == before


def test_a_full_disk_does_not_stop_the_roll_back(plain: Path, locked: Locked) -> None:
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    with watched(_refusing(errno.ENOSPC, "write", "create")):
        assert workspace.roll_back().restored == ("b.py",)
    assert files_at(plain) == before


def test_without_links_the_copy_is_put_back(plain: Path, locked: Locked) -> None:
    before = files_at(plain)

    def watcher(step: Step) -> None:
        if step.operation == "link":
            raise OSError(errno.EPERM, "Operation not permitted")

    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    with watched(watcher):
        workspace.write("b.py", b"edited\n")
        assert workspace.roll_back().restored == ("b.py",)
    assert files_at(plain) == before


def test_a_folder_that_cannot_be_synced_is_no_error(
    plain: Path, locked: Locked, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert workspace.roll_back().is_exact


def test_a_folder_whose_sync_fails_is_an_error(plain: Path, locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        real(fd)

    workspace = locked(plain)
    with monkeypatch.context() as patch, pytest.raises(WorkspaceError, match="input/output error"):
        patch.setattr(os, "fsync", fsync)
        workspace.snapshot(["b.py"], "r1")
    assert workspace.roll_back().is_exact


def test_a_file_system_without_attributes(plain: Path, locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(_: int) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "listxattr", unsupported)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert (plain / "b.py").read_bytes() == b"edited\n"


def test_attributes_are_kept(plain: Path, locked: Locked) -> None:
    try:
        os.setxattr(plain / "b.py", "user.note", b"mine")
    except OSError:
        pytest.skip("the file system of the temporary folder has no extended attributes")
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert os.getxattr(plain / "b.py", "user.note") == b"mine"
    workspace.roll_back()
    assert os.getxattr(plain / "b.py", "user.note") == b"mine"
