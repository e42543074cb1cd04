"""Where journal and backups go, what they are called, and that no copy overwrites another."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.errors import WorkspaceError
from selfdebug.workspace import Workspace
from selfdebug.workspace.backups import Backups
from selfdebug.workspace.durable import Step, watched
from selfdebug.workspace.state import dry_trace_dir, find_state_dir, find_trace_dir
from workspace.git_projects import git

Locked = Callable[..., Workspace]
BACKUP_NAME = re.compile(r"(?P<base>.+)\.(?P<time>\d{10})\.bak")


def test_the_environment_chooses_the_state_folder(plain: Path, tmp_path: Path) -> None:
    assert find_state_dir(plain, {}) == plain / ".selfdebug"
    assert find_state_dir(plain, {"SELFDEBUG_DIR": "build/debug"}) == plain / "build/debug"
    one = find_state_dir(plain, {"SELFDEBUG_DIR": str(tmp_path / "all")})
    other = find_state_dir(plain / "pkg", {"SELFDEBUG_DIR": str(tmp_path / "all")})
    assert one.parent == other.parent == tmp_path / "all"
    assert one != other


def test_the_users_state_folder_without_xdg(plain: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(os, "supports_effective_ids", {os.access})
    assert find_state_dir(plain, {}).parent == tmp_path / ".local/state/selfdebug"
    assert find_state_dir(plain, {"XDG_STATE_HOME": "relative"}).parent == tmp_path / ".local/state/selfdebug"


def test_dry_runs_record_themselves_outside_a_project_without_a_state_folder(plain: Path, tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    apart = dry_trace_dir(plain, environ)
    assert apart.parent == tmp_path / "state" / "selfdebug"
    assert find_trace_dir(plain, environ) == plain / ".selfdebug", "no dry run has been yet"
    apart.mkdir(parents=True)
    assert find_trace_dir(plain, environ) == apart
    assert dry_trace_dir(plain, {"SELFDEBUG_DIR": str(tmp_path / "all")}).parent == tmp_path / "all"
    (plain / ".selfdebug").mkdir()
    assert dry_trace_dir(plain, environ) == find_trace_dir(plain, environ) == plain / ".selfdebug"


def test_a_dry_run_without_a_place_of_the_user_records_itself_for_its_own_time(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
    with Workspace.open(plain).dry_trace() as folder:
        assert folder.is_dir()
        assert not folder.is_relative_to(plain)
    assert not folder.exists()


@pytest.mark.parametrize("chosen", ["build/debug", "absolute"])
def test_a_run_with_its_state_elsewhere(
    repo: Path, locked: Locked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: str
) -> None:
    monkeypatch.setenv("SELFDEBUG_DIR", str(tmp_path / "all") if chosen == "absolute" else chosen)
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert workspace.roll_back().is_exact
    assert not (repo / ".selfdebug").exists()
    assert (workspace.state_dir / "runs/r1/journal.jsonl").exists()
    assert git(repo, "status", "--porcelain") == ""


def test_the_state_folder_may_be_named(plain: Path, locked: Locked, tmp_path: Path) -> None:
    workspace = locked(plain, state_dir=tmp_path / "a/b")
    workspace.snapshot(["b.py"], "r1")
    assert (tmp_path / "a/b/runs/r1").is_dir()


def test_making_the_state_folder(plain: Path) -> None:
    workspace = Workspace.open(plain)
    assert workspace.make_state_dir() == plain / ".selfdebug"
    assert (plain / ".selfdebug/.gitignore").read_bytes() == b"*\n"


def test_processes_that_make_the_state_folder_at_once_do_not_trip_over_each_other(tmp_path: Path) -> None:
    roots = [tmp_path / f"project{number}" for number in range(20)]
    for root in roots:
        root.mkdir()
    script = (
        "import pathlib, sys, time\nfrom selfdebug.workspace import Workspace\n"
        "spaces = [Workspace.open(pathlib.Path(root)) for root in sys.argv[2:]]\nprint(flush=True)\n"
        "while not pathlib.Path(sys.argv[1]).exists():\n    pass\n"
        "for space in spaces:\n    space.make_state_dir()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "go"), *map(str, roots)]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    for maker in makers:
        assert maker.stdout is not None
        maker.stdout.readline()
    (tmp_path / "go").touch()
    for maker in makers:
        maker.communicate()
    assert [maker.returncode for maker in makers] == [0, 0, 0]
    for root in roots:
        assert sorted(path.name for path in (root / ".selfdebug").iterdir()) == [".gitignore", "CACHEDIR.TAG"]


def test_marks_that_a_killed_run_left_out_are_written(plain: Path) -> None:
    (plain / ".selfdebug").mkdir()
    (plain / ".selfdebug/.gitignore.tmp").write_bytes(b"*")
    assert Workspace.open(plain).recover() is None
    assert sorted(path.name for path in (plain / ".selfdebug").iterdir()) == [".gitignore", "CACHEDIR.TAG"]


def test_a_state_folder_that_is_a_file(plain: Path) -> None:
    (plain / ".selfdebug").write_bytes(b"")
    with pytest.raises(WorkspaceError, match="is not a plain folder; repair it, or set SELFDEBUG_DIR"):
        Workspace.open(plain).make_state_dir()


def test_a_state_folder_on_a_full_disk(plain: Path) -> None:
    def full(step: Step) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", step.name)

    with watched(full), pytest.raises(WorkspaceError, match="no space left on device"):
        Workspace.open(plain).make_state_dir()


def test_backups_outside_git(plain: Path, locked: Locked, tmp_path: Path) -> None:
    (plain / "pkg/b.py").write_bytes(b"another b\n")
    snapshot = locked(plain).snapshot(["b.py", "pkg/b.py", "new.py"], "r1")
    folder = tmp_path / "tmp/agent-self-debugger-loop"
    assert folder.stat().st_mode & 0o777 == 0o700
    names = sorted(path.name for path in folder.iterdir())
    assert [match["base"] for name in names if (match := BACKUP_NAME.fullmatch(name))] == ["b.py", "b.py"]
    assert {Path(copy).read_bytes() for copy in snapshot.copies} == {b"b = 1\n", b"another b\n"}
    assert snapshot.git_refusal == "the project is not in a git repository"


def test_a_named_backup_folder_is_used_in_git_too(repo: Path, locked: Locked, tmp_path: Path) -> None:
    workspace = locked(repo, backup_dir=tmp_path / "my/backups")
    snapshot = workspace.snapshot(["b.py"], "r1")
    (backup,) = (tmp_path / "my/backups").iterdir()
    assert backup.read_bytes() == b"b = 1\n"
    assert BACKUP_NAME.fullmatch(backup.name)
    assert snapshot.copies == (str(backup),)
    assert snapshot.reference


def test_the_backup_brings_the_file_back_when_our_copy_is_damaged(plain: Path, locked: Locked) -> None:
    workspace = locked(plain)
    snapshot = workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    for path in (plain / ".selfdebug/runs/r1").glob("0-*"):
        path.unlink()
    Path(snapshot.copies[0]).chmod(0o400)
    assert workspace.roll_back().restored == ("b.py",)
    assert (plain / "b.py").read_bytes() == b"b = 1\n"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_damaged_backup_is_not_put_back(plain: Path, locked: Locked, is_there: bool) -> None:
    workspace = locked(plain)
    snapshot = workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    for path in (plain / ".selfdebug/runs/r1").glob("0-*"):
        path.unlink()
    Path(snapshot.copies[0]).write_bytes(b"damaged\n")
    if not is_there:
        Path(snapshot.copies[0]).unlink()
    (conflict,) = workspace.roll_back().conflicts
    assert (conflict.reason, conflict.copy) == ("the saved copy is gone or damaged", snapshot.copies[0])
    assert (plain / "b.py").read_bytes() == b"edited\n"


def test_another_users_backup_folder_is_not_used(plain: Path, locked: Locked, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tmp/agent-self-debugger-loop").symlink_to(tmp_path / "elsewhere")
    snapshot = locked(plain).snapshot(["b.py"], "r1")
    assert Path(snapshot.copies[0]).parent == tmp_path / f"tmp/agent-self-debugger-loop-{os.geteuid()}"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_backups_of_one_name_in_one_second(tmp_path: Path) -> None:
    backups = Backups(tmp_path / "backups")
    paths = [backups.save("a.py", b"%d" % number) for number in range(5)]
    assert [Path(path).read_bytes() for path in paths] == [b"0", b"1", b"2", b"3", b"4"]
    assert all(BACKUP_NAME.fullmatch(Path(path).name) for path in paths)


def test_a_backup_folder_that_cannot_be_made(plain: Path, locked: Locked) -> None:
    workspace = locked(plain, backup_dir=plain / "b.py")
    with pytest.raises(WorkspaceError, match="No backup can be written to"):
        workspace.snapshot(["b.py"], "r1")
    assert (plain / "b.py").read_bytes() == b"b = 1\n"


def test_copies_stand_in_where_pygit2_cannot_be_loaded(
    repo: Path, locked: Locked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygit2", None)
    workspace = locked(repo)
    snapshot = workspace.snapshot(["b.py"], "r1")
    assert snapshot.git_refusal == "pygit2 cannot be imported"
    workspace.write("b.py", b"edited\n")
    assert workspace.roll_back().is_exact


def test_importing_the_package_does_not_load_pygit2() -> None:
    program = "import selfdebug.workspace, sys; print('pygit2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
