"""Killed, torn or refused at every single change of the disk: afterwards the project is as before, or wholly patched.

Each scenario is first run to its end to count its steps. Then, for every step, a fresh copy of the project is used by
a child process that dies there by SIGKILL (or writes half of the bytes and dies, or is told that the disk is full),
and the next command's recovery has to bring back every byte, the index, the stashes and the branches.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from selfdebug.errors import SelfdebugError
from selfdebug.workspace import RunStatus, Workspace
from selfdebug.workspace.durable import Step, Watcher, watched
from workspace.git_projects import Seen, git

A, B, NEW = "pkg/a.py", "b.py", "untracked.py"
PATCHED = {A: b"def f(x):\n    return None\n", B: b"b = 'longer than it was before'\n", NEW: b"x = 2\n"}
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


# ---------------------------------------------------------------- what is done


def _edit(workspace: Workspace) -> None:
    workspace.snapshot([A], "r1").extend([B])
    workspace.write(A, b"first try\n")
    workspace.write(B, PATCHED[B])
    workspace.snapshot([NEW], "r1")
    workspace.write(NEW, PATCHED[NEW])
    workspace.write(A, PATCHED[A])


def rolled_back(root: Path) -> None:
    workspace = Workspace.open(root)
    with workspace.lock("r1"):
        _edit(workspace)
        assert not workspace.roll_back().conflicts
        workspace.stash_attempt({A: PATCHED[A]}, "selfdebug: r1 attempt 1")


def kept(root: Path) -> None:
    workspace = Workspace.open(root)
    with workspace.lock("r1"):
        _edit(workspace)
        workspace.keep("guarded")


def undone(root: Path) -> None:
    Workspace.open(root).undo()


def recovered(root: Path) -> None:
    assert Workspace.open(root).recover() is not None


def left_open(root: Path) -> None:
    def act() -> None:
        workspace = Workspace.open(root)
        with workspace.lock("r1"):
            _edit(workspace)
            os.kill(os.getpid(), signal.SIGKILL)

    assert _in_child(act) == -signal.SIGKILL


def nothing(root: Path) -> None:
    assert root.is_dir()


@dataclass(frozen=True)
class Scenario:
    """`prepare` runs whole, then `act` is disturbed."""

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]


SCENARIOS = {
    "rolled-back": Scenario(nothing, rolled_back),
    "kept": Scenario(nothing, kept),
    "undone": Scenario(kept, undone),
    "recovered": Scenario(left_open, recovered),
}


# ---------------------------------------------------------------- how it is disturbed


def _at(number: int, disturb: Callable[[Step], None], obstacle: Watcher) -> Watcher:
    count = iter(range(1, 100_000))

    def watcher(step: Step) -> None:
        if next(count) == number:
            disturb(step)
        obstacle(step)

    return watcher


def no_obstacle(step: Step) -> None:
    assert step.operation


def no_rename_over(step: Step) -> None:
    """As a file that is a mount point, or a share that cannot rename over a file: it has to be written in place."""
    if step.operation == "rename" and step.name in ("a.py", "b.py", "untracked.py"):
        raise OSError(errno.EBUSY, "Device or resource busy", step.name)


def killed(step: Step) -> None:
    assert step.operation
    os.kill(os.getpid(), signal.SIGKILL)


def torn(step: Step) -> None:
    if step.fd is not None:
        os.write(step.fd, step.data[: len(step.data) // 2])
    killed(step)


def refused(step: Step) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", step.name)


def _in_child(act: Callable[[], None]) -> int:
    """Run in a forked process that has to be killed; the signal that ended it, negative, or its exit code."""
    child = os.fork()
    if not child:
        _in_the_child(act)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _in_the_child(act: Callable[[], None]) -> NoReturn:
    try:
        act()
    finally:
        traceback.print_exc()
        os._exit(1)  # the child must never come back into the test


def _steps(act: Callable[[], None], obstacle: Watcher) -> list[Step]:
    steps: list[Step] = []

    def watcher(step: Step) -> None:
        steps.append(step)
        obstacle(step)

    with watched(watcher):
        act()
    return steps


# ---------------------------------------------------------------- what must be true


@dataclass(frozen=True)
class Ground:
    """A prepared project that is copied for every trial, with what it looked like before any run."""

    template: Path
    before: Seen

    @contextlib.contextmanager
    def copy(self, number: int) -> Iterator[Path]:
        root = self.template.with_name(f"trial-{number}")
        shutil.copytree(self.template, root, symlinks=True)
        yield root
        shutil.rmtree(root)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: the steps are the same and a sync costs nothing."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(params=["git", "plain", "in-place"])
def project(request: pytest.FixtureRequest, plain: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(memory))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(memory))
    plain = Path(shutil.copytree(plain, memory / "project"))
    (plain / B).chmod(0o755)
    if request.param == "git":
        git(plain, "init", "-q", "-b", "main")
        git(plain, "add", ".")
        git(plain, "commit", "-q", "-m", "start")
        (plain / A).write_bytes(b"def f(x):\n\treturn x.name.mine\n")
        git(plain, "stash", "-q")
        (plain / A).write_bytes(b"def f(x):\n\treturn x.name.staged\n")
        git(plain, "add", A)
    (plain / A).write_bytes(b"def f(x):\n\treturn x.name.unstaged\n")
    (plain / NEW).write_bytes(b"x = 1\n")
    return plain


def _as_before(seen: Seen, before: Seen) -> bool:
    """The same but for entries that an attempt added on top of the stash."""
    return replace(seen, stashes="") == replace(before, stashes="") and seen.stashes.count("\n") <= 1


def _wholly_patched(root: Path) -> bool:
    return all((root / file).read_bytes() == data for file, data in PATCHED.items())


def _check(root: Path, before: Seen, scenario: str) -> None:
    Workspace.open(root).recover()
    assert Workspace.open(root).recover() is None
    statuses = {run.status for run in Workspace.open(root).history()}
    if RunStatus.KEPT in statuses:
        assert scenario in ("kept", "undone")
        assert _wholly_patched(root)
        Workspace.open(root).undo()
    seen = Seen.at(root)
    assert _as_before(seen, before), (seen, before)
    if before.stashes:
        assert before.stashes.split(": ", 1)[1] in seen.stashes


@pytest.mark.parametrize("disturb", [killed, torn, refused])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_step(
    project: Path, scenario: str, disturb: Callable[[Step], None], request: pytest.FixtureRequest
) -> None:
    obstacle = no_rename_over if request.node.callspec.params["project"] == "in-place" else no_obstacle
    chosen = SCENARIOS[scenario]
    before = Seen.at(project)
    chosen.prepare(project)
    ground = Ground(project, before)
    with ground.copy(0) as root:
        steps = _steps(lambda: chosen.act(root), obstacle)
    points = [(number, step) for number, step in enumerate(steps, 1) if disturb is not torn or step.fd is not None]
    assert points
    request.node.user_properties.append(("points", len(points)))
    for number, step in points:
        with ground.copy(number) as root:

            def act(root: Path = root, number: int = number) -> None:
                with watched(_at(number, disturb, obstacle)):
                    chosen.act(root)

            if disturb is refused:
                with contextlib.suppress(SelfdebugError):
                    act()
            else:
                code = _in_child(act)
                assert code == -signal.SIGKILL, (number, step, code)
            _check(root, before, scenario)


@pytest.mark.parametrize("scenario", ["rolled-back", "kept"])
def test_random_moments(project: Path, scenario: str) -> None:
    """Between the steps too, inside libgit2 and the system's own calls."""
    chosen = SCENARIOS[scenario]
    ground = Ground(project, Seen.at(project))
    with ground.copy(0) as root:
        started = time.perf_counter()
        chosen.act(root)
        whole = time.perf_counter() - started
    for number in range(1, 16):
        with ground.copy(number) as root:
            child = os.fork()
            if not child:
                _in_the_child(partial(chosen.act, root))
            time.sleep(random.uniform(0, whole))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            _check(root, ground.before, scenario)
