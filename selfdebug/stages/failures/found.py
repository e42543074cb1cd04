"""What the forms find in a log, before paths and names are resolved: the record each form writes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from selfdebug.model import Failure

MAX_FOUND = 5_000
MAX_FRAMES = 500_000
MAX_HELD = 2_000


class Source(StrEnum):
    """Who says that this is a failure."""

    RUNNER = "runner"
    TRACEBACK = "traceback"
    IGNORED = "ignored-by-the-interpreter"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Found:
    """One failure as a form read it: `line` is where it starts, `title` what its runner calls the test.

    `repeat` counts the failures of the same run that look the same and are others; `bases` are the folders that
    relative paths of this failure may start from, the likeliest first.
    """

    failure: Failure
    source: Source
    line: int
    title: str | None = None
    bases: tuple[str, ...] = ()
    repeat: int = 0


@dataclass(slots=True)
class Findings:
    """Everything found in one log, in any order; `line` is the number of the line that is being read."""

    found: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rootdirs: list[str] = field(default_factory=list)
    line: int = 0
    left_out: int = 0
    repeated: int = 0
    runs: int = 0
    _frames: int = 0
    _told: set[int] = field(default_factory=set)

    def record(self, found: Found) -> None:
        """Keep a failure, unless it was shown before in the same words."""
        key = hash((_telling(found.failure), found.failure.node_id, found.title, found.repeat))
        if key in self._told:
            self.repeated += 1
        elif len(self.found) >= MAX_FOUND or self._frames >= MAX_FRAMES:
            self.left_out += 1
        else:
            self._told.add(key)
            self._frames += len(found.failure.frames)
            self.found.append(found)

    def note(self, sentence: str) -> None:
        """Add a sentence for the reader, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


@dataclass(slots=True)
class Stream:
    """The findings of one stream of a log (one container, one process), and whether a test run is going on in it.

    A traceback that passing tests or a server print in the middle of a run is no failure when that run goes on to
    report its own: tracebacks are held back until the run ends, or something shows that they are no part of one.
    """

    findings: Findings
    in_run: bool = False
    held: list[Found] = field(default_factory=list)
    run_found: int = 0
    name: str = ""

    def add(self, failure: Failure, source: Source, line: int, title: str | None = None) -> None:
        """Record a failure."""
        self._keep(Found(failure, source, line, title))

    def add_all(self, found: list[Found]) -> None:
        """Record the failures of a finished run."""
        for one in found:
            self._keep(one)

    def start_run(self, *, claims_earlier: bool = False) -> None:
        """A runner reports; with `claims_earlier` what was printed before belongs to its run, which has no opening."""
        if self.in_run:
            return
        if not claims_earlier:
            self.release()
        self.in_run, self.run_found = True, 0

    def end_run(self) -> None:
        """The runner has said how it ended: what it did not count is no failure."""
        self.findings.runs += self.in_run
        self.in_run = False
        self.held.clear()

    def abandon_run(self) -> None:
        """The log ends in the middle of a run: what was printed is all there is, unless the runner reported some."""
        if self.in_run and self.run_found:
            self.held.clear()
        self.in_run = False
        self.release()

    def release(self) -> None:
        """What was held back is no part of a run."""
        held, self.held = self.held, []
        for one in held:
            self.findings.record(one)

    def _keep(self, found: Found) -> None:
        if found.source not in (Source.TRACEBACK, Source.IGNORED):
            self.run_found += 1
            self.findings.record(found)
            return
        if len(self.held) >= MAX_HELD and not self.in_run:
            self.release()
        if len(self.held) < MAX_HELD:
            self.held.append(found)


def _telling(failure: Failure) -> tuple[object, ...]:
    last = failure.frames[-1] if failure.frames else None
    return (
        failure.when,
        failure.exception.type,
        failure.exception.message,
        len(failure.frames),
        last and (last.path, last.line),
        tuple((frame.path, frame.line) for frame in failure.frames[:20]),
        tuple(map(_telling, failure.causes)),
        tuple(map(_telling, failure.group)),
    )
