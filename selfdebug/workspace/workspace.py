"""The one door to the user's files: the lock, recovery, reading, the edits of a run, and what past runs did."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from selfdebug.errors import LockedError, UsageError, WorkspaceError
from selfdebug.workspace import past
from selfdebug.workspace.backups import Backups
from selfdebug.workspace.errors import GitRefusedError
from selfdebug.workspace.folder import Folder
from selfdebug.workspace.lock import held
from selfdebug.workspace.open_run import OpenRun
from selfdebug.workspace.past_changes import PastChange
from selfdebug.workspace.project import Project, cause, explained
from selfdebug.workspace.records import JournalRun, Kept, Owner, Recovery, RollBack, Undo
from selfdebug.workspace.run_folder import checked_run_id, opened_run
from selfdebug.workspace.state import dry_trace_dir, find_state_dir, made, opened, repair_marks


class Snapshot:
    """The saved state of the files that a run may edit."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run

    @property
    def run_id(self) -> str:
        """The run that the files were saved for."""
        return self._run.run_id

    @property
    def files(self) -> tuple[str, ...]:
        """The real paths of the saved files."""
        return self._run.files

    @property
    def reference(self) -> str | None:
        """The git reference that holds them, or None where git does not."""
        return self._run.reference

    @property
    def git_refusal(self) -> str | None:
        """Why git does not hold them, or an attempt, as the end of a sentence."""
        return self._run.git_refusal

    @property
    def copies(self) -> tuple[str, ...]:
        """Where a person finds the saved bytes, one path a file."""
        return self._run.copies

    def extend(self, files: Sequence[str]) -> None:
        """Save more files before they are edited. Raises as `Workspace.snapshot` does."""
        self._run.save(files)


class Workspace:
    """A project root with its journal. Every method raises children of SelfdebugError only."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._state: Folder | None = None
        self._run: OpenRun | None = None
        self._run_id = ""
        self._stack = ExitStack()

    @classmethod
    def open(cls, root: Path, backup_dir: Path | None = None, state_dir: Path | None = None) -> Workspace:
        """Open a project; nothing is created. Raises UsageError where the root is no folder."""
        try:
            real = Path(os.path.realpath(root, strict=True))
            Folder.open(real).close()
        except OSError as error:
            raise UsageError(f"The project root {root} cannot be used: {cause(error)}.") from error
        state = state_dir.absolute() if state_dir else find_state_dir(real, os.environ)
        backups = Backups(backup_dir.absolute() if backup_dir else None)
        return cls(Project(real, state, backups))

    @property
    def root(self) -> Path:
        """The real path of the project."""
        return self._project.root

    @property
    def state_dir(self) -> Path:
        """Where the journal lives, and the trace may; see `make_state_dir`."""
        return self._project.state_dir

    def make_state_dir(self) -> Path:
        """Make the state folder, which ignores itself, and return it. Raises WorkspaceError."""
        with made(self.root, self.state_dir):
            return self.state_dir

    @contextmanager
    def dry_trace(self) -> Iterator[Path]:
        """A folder for the trace of a dry run; one that goes at the end where the user's own state cannot be kept."""
        folder = dry_trace_dir(self.root, os.environ)
        try:
            with made(self.root, folder):
                pass
        except WorkspaceError:
            with tempfile.TemporaryDirectory(prefix="selfdebug-") as passing:
                yield Path(passing)
        else:
            yield folder

    def publish(self, name: str, data: bytes) -> None:
        """Put a small file for other commands into the state folder. Raises WorkspaceError."""
        with explained(f"{name} cannot be written into {self.state_dir}"), made(self.root, self.state_dir) as state:
            state.publish(name, data)

    # ------------------------------------------------------------ lock and recovery

    @contextmanager
    def lock(self, run_id: str) -> Iterator[Owner | None]:
        """Hold the project for one run; yields the dead owner that it was taken over from, if any.

        A run that was neither kept nor rolled back when the block ends, for whatever reason, is rolled back then.
        Raises LockedError that names the living owner, WorkspaceError where the state folder cannot be used.
        """
        checked_run_id(run_id)
        with ExitStack() as stack:
            state, former = self._lock(stack, run_id)
            self._state, self._run_id = state, run_id
            try:
                with self._stack:
                    try:
                        yield former
                    finally:
                        self._settle()
            finally:
                self._state, self._run = None, None

    def _settle(self) -> None:
        # What the disk refuses here stays in the journal, and the next command finishes it and says so.
        with contextlib.suppress(WorkspaceError):
            self.roll_back()

    def _lock(self, stack: ExitStack, run_id: str) -> tuple[Folder, Owner | None]:
        with explained(f"The state folder {self.state_dir} cannot be used"):
            state = stack.enter_context(made(self.root, self.state_dir))
            return state, stack.enter_context(held(state, run_id))

    @contextmanager
    def _exclusively(self, purpose: str) -> Iterator[Folder]:
        """The state folder under this workspace's own lock, or under one that is taken for the block."""
        if self._state is not None:
            yield self._state
            return
        with ExitStack() as stack:
            yield self._lock(stack, purpose)[0]

    def recover(self) -> Recovery | None:
        """Finish the roll back of an interrupted run; None where there is nothing to do or another run is alive.

        Raises WorkspaceError where the journal cannot be read or written.
        """
        with explained("An interrupted run cannot be rolled back"):
            repair_marks(self.root, self.state_dir)
            if not self._unfinished():
                return None
            try:
                with self._exclusively("recovery") as state:
                    done = [past.finish(self._project, state, run_id) for run_id in self._unfinished()]
            except LockedError:
                return None
        if not done:
            return None
        return Recovery(
            done[0].run_id,
            tuple(file for one in done for file in one.restored),
            tuple(conflict for one in done for conflict in one.conflicts),
            " ".join(one.sentence for one in done),
        )

    def _unfinished(self) -> list[str]:
        with opened(self.root, self.state_dir) as state:
            own = self._run.run_id if self._run else None
            return [run_id for run_id in past.unfinished(state) if run_id != own] if state else []

    # ------------------------------------------------------------ the run's files

    def read(self, file: str) -> bytes:
        """The bytes of a file, a relative POSIX path. Raises InputError, OutsideError."""
        return self._project.read(file)[1].data

    def snapshot(self, files: Sequence[str], run_id: str) -> Snapshot:
        """Save files before the first edit; the project must be locked for the same run.

        Raises InputError for a file that cannot be read, WorkspaceError where the bytes cannot be saved.
        """
        if self._state is None or run_id != self._run_id:
            raise WorkspaceError(f"The project is not locked for run {run_id}.")
        if self._run is None:
            self._run = self._begin(self._state, run_id)
        self._run.save(files)
        return Snapshot(self._run)

    def _begin(self, state: Folder, run_id: str) -> OpenRun:
        with explained("The journal cannot be written, so nothing was changed"):
            left = past.tidy(self._project, state, run_id)
            if left:
                raise WorkspaceError(f"Run {left[0]} was interrupted; `selfdebug rollback` has to finish it first.")
            return OpenRun(self._project, self._stack.enter_context(opened_run(state, run_id, create=True)))

    def write(self, file: str, data: bytes) -> None:
        """Replace the bytes of a file of the snapshot. See `OpenRun.write` for what it raises."""
        self._current().write(file, data)

    def roll_back(self) -> RollBack:
        """Put every file back that the run wrote; safe to call again, and without a snapshot."""
        return self._run.roll_back() if self._run else RollBack(None)

    def keep(self, message: str) -> Kept:
        """End the run with what it wrote. Raises WorkspaceError where that cannot be recorded: then roll back."""
        return self._current().keep(message)

    def stash_attempt(self, files: Mapping[str, bytes], message: str) -> tuple[str, ...]:
        """Put an attempt where it can be brought back from, before or after the roll back; returns the places.

        In git an entry on refs/stash, made without touching tree or index; elsewhere copies in the backup folder.
        """
        return self._current().stash(files, message) if files else ()

    def _current(self) -> OpenRun:
        if self._run is None:
            raise WorkspaceError("No snapshot was taken, so nothing is edited.")
        return self._run

    def find_repository(self) -> None:
        """Look for the repository now, so that the first snapshot need not."""
        with contextlib.suppress(GitRefusedError):
            self._project.git()

    def past_changes(self) -> Iterator[PastChange]:
        """What earlier commits made of the project's files, newest first, bounded; none where git cannot tell."""
        with contextlib.suppress(GitRefusedError):
            yield from self._project.git().past_changes()

    # ------------------------------------------------------------ past runs

    def undo(self, run_id: str | None = None) -> Undo:
        """Undo a kept run, the last one by default.

        Raises UsageError where there is none, LockedError, ChangedMeanwhileError that names the copies, WorkspaceError.
        """
        with explained("The run cannot be undone"):
            with opened(self.root, self.state_dir) as state:
                if state is None:
                    raise UsageError("There is no kept run to undo in this project.")
            with self._exclusively("rollback") as state:
                return past.undo(self._project, state, run_id)

    def history(self) -> tuple[JournalRun, ...]:
        """The remembered runs, oldest first. Raises WorkspaceError where the state folder cannot be read."""
        with explained("The journal cannot be read"), opened(self.root, self.state_dir) as state:
            return past.history(state) if state else ()
