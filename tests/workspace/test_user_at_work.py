"""A user and a run take turns in any order: nothing of the user's is overwritten, and what is ours is taken back.

The machine keeps its own account of who wrote what. A run may be rolled back, killed and recovered, kept or undone;
the user edits, removes, stages, commits, stashes, checks out and collects garbage in between.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from selfdebug.workspace import ChangedMeanwhileError, Owner, Workspace
from selfdebug.workspace.durable import Step, watched
from workspace.git_projects import git

FILES = ("a.py", "pkg/b.py", "untracked.py")
CONTENTS = st.sampled_from([b"one\n", b"two\r\n", b"three\n", b""])
WHICH = st.sampled_from(FILES)


def _refuse(step: Step) -> None:
    raise OSError(errno.EIO, "Input/output error", step.name)


class UserAndRun(RuleBasedStateMachine):
    """`before` is what the run saved, `ours` what it wrote to each file; whatever else is on disk is the user's."""

    def __init__(self) -> None:
        super().__init__()
        shared = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
        self.root = self.folder / "project"
        self.number = 0
        self.run: Workspace | None = None
        self.lock: AbstractContextManager[Owner | None] | None = None
        self.before: dict[str, bytes | None] = {}
        self.ours: dict[str, set[bytes]] = {}
        self.stashes = 0

    @initialize()
    def start(self) -> None:
        (self.root / "pkg").mkdir(parents=True)
        for file in FILES:
            (self.root / file).write_bytes(b"start\n")
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "a.py", "pkg/b.py")
        git(self.root, "commit", "-q", "-m", "start")

    def teardown(self) -> None:
        self._unlock()
        shutil.rmtree(self.folder)

    def _unlock(self) -> None:
        if self.lock is not None:
            self.lock.__exit__(None, None, None)
        self.run = self.lock = None

    def _disk(self, file: str) -> bytes | None:
        path = self.root / file
        return path.read_bytes() if path.exists() else None

    def _stash(self) -> str:
        return git(self.root, "rev-parse", "-q", "--verify", "refs/stash", check=False)

    def _git_state(self) -> tuple[bytes, str]:
        index = self.root / ".git/index"
        return index.read_bytes(), git(self.root, "for-each-ref", "refs/heads")

    def _check_taken_back(self, disk: dict[str, bytes | None]) -> None:
        for file in FILES:
            now = self._disk(file)
            if disk[file] in self.ours.get(file, ()):
                assert now == self.before[file]
            else:
                assert now == disk[file]
        self.before, self.ours = {}, {}

    # ------------------------------------------------------------ the run

    @precondition(lambda self: self.run is None)
    @rule(files=st.sets(WHICH, min_size=1))
    def begin(self, files: set[str]) -> None:
        git_state = self._git_state()
        self.number += 1
        workspace = Workspace.open(self.root)
        self.lock = workspace.lock(f"r{self.number}")
        self.lock.__enter__()
        self.run = workspace
        workspace.snapshot(sorted(files), f"r{self.number}")
        self.before = {file: self._disk(file) for file in files}
        self.ours = {}
        assert self._git_state() == git_state

    @precondition(lambda self: self.run is not None)
    @rule(file=WHICH, data=CONTENTS)
    def edit(self, file: str, data: bytes) -> None:
        assert self.run is not None
        now = self._disk(file)
        if file not in self.before:
            self.run.snapshot([file], f"r{self.number}")
            self.before[file] = now
        try:
            self.run.write(file, data)
        except ChangedMeanwhileError:
            assert self._disk(file) == now
        else:
            assert self._disk(file) == data
            if now != data:
                self.ours.setdefault(file, set()).add(data)

    @precondition(lambda self: self.run is not None)
    @rule()
    def roll_back(self) -> None:
        assert self.run is not None
        git_state = self._git_state()
        disk = {file: self._disk(file) for file in FILES}
        self.run.roll_back()
        self._check_taken_back(disk)
        assert self._git_state() == git_state
        self._unlock()

    @precondition(lambda self: self.run is not None)
    @rule()
    def die_and_recover(self) -> None:
        with watched(_refuse):  # a run that cannot change anything any more leaves what a dead one leaves
            self._unlock()
        git_state = self._git_state()
        disk = {file: self._disk(file) for file in FILES}
        assert Workspace.open(self.root).recover() is not None
        self._check_taken_back(disk)
        assert self._git_state() == git_state

    @precondition(lambda self: self.run is not None)
    @rule(undo=st.booleans())
    def keep(self, undo: bool) -> None:
        assert self.run is not None
        disk = {file: self._disk(file) for file in FILES}
        kept = self.run.keep("kept")
        assert {file: self._disk(file) for file in FILES} == disk
        self._unlock()
        if undo and kept.files:
            try:
                Workspace.open(self.root).undo()
            except ChangedMeanwhileError:
                assert {file: self._disk(file) for file in FILES} == disk
            else:
                assert all(self._disk(file) == self.before[file] for file in kept.files)
        self.before, self.ours = {}, {}

    @precondition(lambda self: self.run is not None)
    @rule(file=WHICH, data=CONTENTS)
    def stash_an_attempt(self, file: str, data: bytes) -> None:
        assert self.run is not None
        if self._disk(file) is None and file not in self.before:
            return
        git_state = self._git_state()
        disk = self._disk(file)
        top = self._stash()
        assert self.run.stash_attempt({file: data}, "attempt") == ("stash@{0}",)
        self.stashes += top != self._stash()  # the same attempt in the same second is the same entry
        assert (self._git_state(), self._disk(file)) == (git_state, disk)

    # ------------------------------------------------------------ the user

    @rule(file=WHICH, data=CONTENTS)
    def save(self, file: str, data: bytes) -> None:
        (self.root / file).parent.mkdir(exist_ok=True)
        (self.root / file).write_bytes(data)

    @rule(file=WHICH)
    def remove(self, file: str) -> None:
        (self.root / file).unlink(missing_ok=True)

    @rule()
    def commit(self) -> None:
        git(self.root, "commit", "-q", "-a", "-m", "theirs", check=False)

    @rule()
    def stash(self) -> None:
        before = self._stash()
        git(self.root, "stash", "-q", check=False)
        self.stashes += before != self._stash()

    @rule(file=WHICH)
    def stage_or_check_out(self, file: str) -> None:
        git(self.root, "add", file, check=False)
        git(self.root, "checkout", "HEAD", "--", file, check=False)

    @rule()
    def collect_garbage(self) -> None:
        git(self.root, "gc", "-q", "--prune=now")

    @invariant()
    def nothing_is_left_lying_about(self) -> None:
        assert list(self.root.rglob(".selfdebug-*")) == []

    @invariant()
    def no_stash_is_lost(self) -> None:
        assert len(git(self.root, "stash", "list", check=False).splitlines()) == self.stashes


TestUserAndRun = UserAndRun.TestCase
TestUserAndRun.settings = settings(
    max_examples=12, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
