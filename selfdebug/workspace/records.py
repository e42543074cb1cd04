"""The frozen records that the workspace gives back: what was restored, kept or undone, and what past runs did.

Files are named relative to the project root with POSIX slashes; times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RunStatus(StrEnum):
    """How a run stands: an OPEN one whose process is dead is what `recover` finishes."""

    OPEN = "open"
    KEPT = "kept"
    ROLLED_BACK = "rolled-back"
    UNDOING = "undoing"
    UNDONE = "undone"

    @property
    def is_unfinished(self) -> bool:
        """Whether files of the run may still differ from what its end promises."""
        return self in (RunStatus.OPEN, RunStatus.UNDOING)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that was left as it is, the reason, and the place of the bytes it had before the run."""

    file: str
    copy: str
    reason: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """The result of putting files back.

    `restored` are the files whose bytes were written; `pending` are those that the disk refused, which the next
    command tries again; `conflicts` are those that someone else changed and that stay as they are.
    """

    run_id: str | None
    restored: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    pending: tuple[Conflict, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether every file of the run is as it was before."""
        return not self.conflicts and not self.pending


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was done about a run that had been interrupted."""

    run_id: str
    restored: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that ended with its patch: the changed files and where their former bytes are."""

    run_id: str
    files: tuple[str, ...]
    copies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """A kept run that was undone."""

    run_id: str
    restored: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class JournalRun:
    """One past or present run as the journal tells it; `ended` is None while it is not finished.

    `stash` is the best attempt: the commit of its stash entry, which `git stash apply` takes and which stays the same
    when other entries come on top, or a file outside git.
    """

    run_id: str
    started: float
    ended: float | None
    status: RunStatus
    files: tuple[str, ...]
    message: str
    stash: str | None
    copies: tuple[str, ...]
    was_recovered: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a project: `started` is the time at which the lock was taken."""

    pid: int
    host: str
    started: float
    run_id: str
