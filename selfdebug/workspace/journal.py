"""The journal of a run: what was saved, what is about to be written, and how the run ended.

One JSON object a line, synced before the step that it announces. A line that was cut by a crash announces a step
that never began, so it is left out when the journal is read. A journal may come with a cloned repository: its names
are checked like any other input before they are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_type_hints

from selfdebug.workspace.records import Conflict, JournalRun, RunStatus


@dataclass(frozen=True, slots=True)
class Begun:
    """The first line: who runs, since when."""

    run_id: str
    started: float
    pid: int
    host: str


@dataclass(frozen=True, slots=True)
class Saved:
    """The state of a file before the run: `sha` is the SHA-256 of its bytes, None where the file was absent.

    `copy` is the saved file in the run's folder, `backup` the absolute path of a second copy, where one was made.
    """

    file: str
    number: int
    sha: str | None
    mode: int
    mtime_ns: int
    copy: str | None
    backup: str | None


@dataclass(frozen=True, slots=True)
class Planned:
    """Bytes that are about to be written to a file; `copy` holds them where the write is not atomic."""

    file: str
    sha: str
    copy: str | None


@dataclass(frozen=True, slots=True)
class Snapshotted:
    """The git reference that holds the saved files as a stash-shaped commit."""

    reference: str
    commit: str


@dataclass(frozen=True, slots=True)
class Stashed:
    """The commit of the stash entry that holds the best attempt, or the path of a copy of it."""

    place: str


@dataclass(frozen=True, slots=True)
class Final:
    """The bytes that a kept run left in a file."""

    file: str
    sha: str


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A file that was not put back because someone else had changed it."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undoing:
    """A kept run is about to be undone."""

    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the run, or of its undoing; `by_recovery` says that a later command finished it."""

    status: str
    at: float
    message: str
    by_recovery: bool


Record = Begun | Saved | Planned | Snapshotted | Stashed | Final | LeftAlone | Undoing | Ended

_KINDS: dict[str, type[Record]] = {
    kind.__name__.lower(): kind
    for kind in (Begun, Saved, Planned, Snapshotted, Stashed, Final, LeftAlone, Undoing, Ended)
}


_TYPES = {kind: get_type_hints(kind) for kind in _KINDS.values()}
"""The types of the fields of each kind: looked up once, since each run reads the journals of those before it."""


def encode(record: Record) -> bytes:
    """One line for a record; undecodable bytes of file names are escaped."""
    values = {name: getattr(record, name) for name in _TYPES[type(record)]}
    return json.dumps({"kind": type(record).__name__.lower(), **values}).encode("ascii") + b"\n"


def decode(line: bytes) -> Record | None:
    """The record of one line, or None for a torn or foreign one."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    kind = _KINDS.get(str(values.pop("kind", ""))) if isinstance(values, dict) else None
    if kind is None or values.keys() != _TYPES[kind].keys():
        return None
    if not all(isinstance(value, _TYPES[kind][name]) for name, value in values.items()):
        return None
    return kind(**values)


@dataclass(slots=True)
class RunState:
    """What the lines of a journal add up to. `planned` holds the announced writes of each file, oldest first."""

    run_id: str = ""
    started: float = 0.0
    pid: int = 0
    host: str = ""
    status: RunStatus = RunStatus.OPEN
    ended: float | None = None
    message: str = ""
    by_recovery: bool = False
    reference: Snapshotted | None = None
    stash: str | None = None
    saved: dict[str, Saved] = field(default_factory=dict)
    planned: dict[str, list[Planned]] = field(default_factory=dict)
    final: dict[str, str] = field(default_factory=dict)
    left_alone: dict[str, str] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Take one more record into account."""
        match record:
            case Begun():
                self.run_id, self.started = record.run_id, record.started
                self.pid, self.host = record.pid, record.host
            case Saved():
                self.saved[record.file] = record
            case Planned():
                self.planned.setdefault(record.file, []).append(record)
            case Snapshotted():
                self.reference = record
            case Stashed():
                self.stash = record.place
            case Final():
                self.final[record.file] = record.sha
            case LeftAlone():
                self.left_alone[record.file] = record.reason
            case Undoing():
                self.status, self.ended = RunStatus.UNDOING, None
            case Ended():
                self._end(record)

    def _end(self, record: Ended) -> None:
        if record.status not in set(RunStatus):
            return
        self.status = RunStatus(record.status)
        self.ended, self.by_recovery = record.at, record.by_recovery
        self.message = record.message or self.message

    def place_of(self, saved: Saved, folder: str) -> str:
        """Where a person finds the saved bytes of a file: the second copy, else the one in the run's folder."""
        return saved.backup or f"{folder}/{saved.copy}"

    def conflicts(self, folder: str) -> tuple[Conflict, ...]:
        """The files that were left alone."""
        return tuple(
            Conflict(file, self.place_of(self.saved[file], folder), reason)
            for file, reason in self.left_alone.items()
            if file in self.saved
        )

    def summary(self, run_id: str, folder: str) -> JournalRun:
        """The run as `selfdebug runs` shows it."""
        changed = self.final if self.status is RunStatus.KEPT else self.planned
        return JournalRun(
            run_id,
            self.started,
            self.ended,
            self.status,
            tuple(sorted(changed)),
            self.message,
            self.stash,
            tuple(self.place_of(saved, folder) for saved in self.saved.values() if saved.copy),
            self.by_recovery,
        )


def fold(lines: Iterable[bytes]) -> RunState:
    """Read a journal."""
    state = RunState()
    for line in lines:
        record = decode(line)
        if record is not None:
            state.add(record)
    return state
