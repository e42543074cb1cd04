"""One run a project, a dead owner's project taken over, and what the next command does about an interrupted run."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.errors import LockedError, UsageError, WorkspaceError
from selfdebug.workspace import RunStatus, Workspace
from selfdebug.workspace.durable import Step, watched
from selfdebug.workspace.lock import is_alive
from selfdebug.workspace.records import Owner
from workspace.git_projects import Seen, git

HOLDER = """
    import sys, time
    from pathlib import Path
    from selfdebug.workspace import Workspace
    workspace = Workspace.open(Path(sys.argv[1]))
    with workspace.lock("holder"):
        workspace.snapshot(["b.py", "pkg/a.py"], "holder")
        workspace.write("b.py", b"half done\\n")
        print("ready", flush=True)
        time.sleep(60)
"""


def _hold(root: Path) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", textwrap.dedent(HOLDER), str(root)]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def _kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


def test_a_living_owner_is_named_and_a_dead_one_taken_over(repo: Path) -> None:
    before = Seen.at(repo)
    child = _hold(repo)
    workspace = Workspace.open(repo)
    try:
        with pytest.raises(LockedError) as caught, workspace.lock("r2"):
            pass
        for part in ("holder", str(child.pid), socket.gethostname(), "since 20"):
            assert part in str(caught.value)
        assert workspace.recover() is None
        assert (repo / "b.py").read_bytes() == b"half done\n"
        with pytest.raises(LockedError):
            workspace.undo()
        assert workspace.history()[0].status is RunStatus.OPEN
    finally:
        _kill(child)
    recovery = workspace.recover()
    assert recovery is not None
    assert (recovery.run_id, recovery.restored, recovery.conflicts) == ("holder", ("b.py",), ())
    assert recovery.sentence == "Run holder had been interrupted: b.py put back."
    assert Seen.at(repo) == before
    assert workspace.recover() is None
    (run,) = workspace.history()
    assert (run.status, run.was_recovered, run.files) == (RunStatus.ROLLED_BACK, True, ("b.py",))
    assert git(repo, "for-each-ref", "refs/selfdebug") == ""


def test_taking_over_tells_the_former_owner(repo: Path) -> None:
    child = _hold(repo)
    _kill(child)
    workspace = Workspace.open(repo)
    with workspace.lock("r2") as former:
        assert former is not None
        assert (former.pid, former.run_id) == (child.pid, "holder")
        with pytest.raises(WorkspaceError, match="Run holder was interrupted"):
            workspace.snapshot(["b.py"], "r2")
        recovery = workspace.recover()
        assert recovery is not None
        assert recovery.run_id == "holder"
        workspace.snapshot(["b.py"], "r2")
        assert workspace.recover() is None
    with workspace.lock("r3") as former:
        assert former is None


def test_recovery_leaves_what_was_changed_after_the_crash(repo: Path) -> None:
    _kill(_hold(repo))
    (repo / "b.py").write_bytes(b"mended by hand\n")
    recovery = Workspace.open(repo).recover()
    assert recovery is not None
    assert recovery.conflicts[0].file == "b.py"
    assert "b.py was left as it is" in recovery.sentence
    assert "0-b.py.bak" in recovery.sentence
    assert (repo / "b.py").read_bytes() == b"mended by hand\n"


def test_a_recovery_that_cannot_write_says_so_and_is_tried_again(repo: Path) -> None:
    def full(step: Step) -> None:
        if step.operation in ("link", "create"):
            raise OSError(errno.ENOSPC, "No space left on device")

    _kill(_hold(repo))
    workspace = Workspace.open(repo)
    with watched(full):
        recovery = workspace.recover()
    assert recovery is not None
    assert "b.py could not be put back yet: no space left on device" in recovery.sentence
    with workspace.lock("r2"), pytest.raises(WorkspaceError, match="Run holder was interrupted"):
        workspace.snapshot(["b.py"], "r2")
    again = workspace.recover()
    assert again is not None
    assert again.restored == ("b.py",)


def test_linked_worktrees_and_two_projects_of_one_repository_have_their_own_locks(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../linked", "-b", "side")
    linked = repo.with_name("linked")
    first, second, third = Workspace.open(repo), Workspace.open(linked), Workspace.open(repo / "pkg")
    with first.lock("r1"), second.lock("r2"), third.lock("r3"):
        first.snapshot(["b.py"], "r1")
        second.snapshot(["b.py"], "r2")
        third.snapshot(["a.py"], "r3")
        first.write("b.py", b"first\n")
        second.write("b.py", b"second\n")
        third.write("a.py", b"third\n")
        first.stash_attempt({"b.py": b"first\n"}, "first")
        second.stash_attempt({"b.py": b"second\n"}, "second")
        third.stash_attempt({"a.py": b"third\n"}, "third")
        assert first.roll_back().is_exact
        assert (linked / "b.py").read_bytes() == b"second\n"
        assert third.roll_back().is_exact
        assert second.roll_back().is_exact
    assert git(repo, "status", "--porcelain") == git(linked, "status", "--porcelain") == ""
    shown = git(repo, "stash", "list", "--format=%gs").splitlines()
    assert shown == ["third", "second", "first"]
    assert git(repo, "show", "--format=", "--name-only", "--first-parent", "stash@{0}").split() == ["pkg/a.py"]


@pytest.mark.parametrize("run_id", ["", "a/b", "..", "-x", "a.lock", "x" * 101, "é"])
def test_a_run_id_that_could_not_be_a_file_name(plain: Path, run_id: str) -> None:
    with pytest.raises(UsageError, match="no run id"), Workspace.open(plain).lock(run_id):
        pass


def test_snapshot_and_write_need_lock_and_snapshot(plain: Path) -> None:
    workspace = Workspace.open(plain)
    with pytest.raises(WorkspaceError, match="not locked"):
        workspace.snapshot(["b.py"], "r1")
    with workspace.lock("r1"):
        with pytest.raises(WorkspaceError, match="No snapshot"):
            workspace.write("b.py", b"")
        with pytest.raises(WorkspaceError, match="not locked for run r2"):
            workspace.snapshot(["b.py"], "r2")
        assert workspace.roll_back().run_id is None
        assert workspace.stash_attempt({}, "nothing") == ()
        workspace.snapshot(["b.py"], "r1")
        with pytest.raises(WorkspaceError, match="not in the snapshot"):
            workspace.write("pkg/a.py", b"")
        workspace.roll_back()
        for act in (lambda: workspace.write("b.py", b""), lambda: workspace.snapshot(["b.py"], "r1")):
            with pytest.raises(WorkspaceError, match="has ended"):
                act()


def test_opening_reading_and_asking_creates_nothing(plain: Path) -> None:
    workspace = Workspace.open(plain)
    assert workspace.read("b.py") == b"b = 1\n"
    assert workspace.recover() is None
    assert workspace.history() == ()
    with pytest.raises(UsageError, match="no kept run"):
        workspace.undo()
    assert not (plain / ".selfdebug").exists()


def _failing(number: int) -> Callable[..., None]:
    def system_call(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return system_call


def test_owners_on_file_systems_without_locks(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", _failing(errno.ENOTSUP))
    workspace = Workspace.open(plain)
    with workspace.lock("r1"), pytest.raises(LockedError, match="r1"), Workspace.open(plain).lock("r2"):
        pass
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    note = {"pid": int(dead.stdout), "host": socket.gethostname(), "started": 0.0, "run_id": "old"}
    (plain / ".selfdebug/lock").write_text(json.dumps(note))
    with workspace.lock("r3") as former:
        assert former is not None
        assert former.run_id == "old"


def test_whether_an_owner_is_alive() -> None:
    here = socket.gethostname()
    assert is_alive(Owner(os.getpid(), here, 0.0, "r"))
    assert is_alive(Owner(2**22 + 1, "another machine", 0.0, "r"))
    assert not is_alive(Owner(2**22 + 1, here, 0.0, "r"))


def test_a_lock_that_fails_otherwise_is_one_sentence(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", _failing(errno.EIO))
    with pytest.raises(WorkspaceError, match="cannot be used: input/output error"), Workspace.open(plain).lock("r1"):
        pass


def test_a_lock_without_a_note_still_holds(plain: Path) -> None:
    workspace = Workspace.open(plain)
    with workspace.lock("r1"):
        (plain / ".selfdebug/lock").write_bytes(b"torn")
        with pytest.raises(LockedError, match="Another selfdebug run is using"), Workspace.open(plain).lock("r2"):
            pass


def test_leaving_the_lock_without_an_end_rolls_back(repo: Path) -> None:
    before = Seen.at(repo)
    workspace = Workspace.open(repo)
    with pytest.raises(KeyboardInterrupt), workspace.lock("r1"):
        workspace.snapshot(["b.py"], "r1")
        workspace.write("b.py", b"edited\n")
        raise KeyboardInterrupt
    with workspace.lock("r2"):
        workspace.snapshot(["b.py"], "r2")
    assert Seen.at(repo) == before
    assert [run.status for run in workspace.history()] == [RunStatus.ROLLED_BACK] * 2
    assert workspace.recover() is None


def test_a_refusal_on_leaving_the_lock_is_left_to_the_next_command(repo: Path) -> None:
    def refused(step: Step) -> None:
        raise OSError(errno.EIO, "Input/output error", step.name)

    workspace = Workspace.open(repo)
    with watched(lambda step: refused(step) if broken else None):
        broken = False
        with workspace.lock("r1"):
            workspace.snapshot(["b.py"], "r1")
            workspace.write("b.py", b"edited\n")
            broken = True
    recovery = workspace.recover()
    assert recovery is not None
    assert recovery.restored == ("b.py",)
