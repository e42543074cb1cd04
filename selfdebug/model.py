"""The frozen records that the stages of a run take and return, in the order in which a run makes them.

Files are named relative to the project root with POSIX slashes; lines count from 1, columns are code points from 0;
durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from codemods.selfdebug.spans import Span

# ---------------------------------------------------------------- ingest: failures


class When(StrEnum):
    """The phase of a test that failed."""

    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a project file, as reports name it."""

    file: str
    line: int
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Value:
    """What was recorded of one object: its class, a bounded and redacted repr, and whether it was None."""

    type: str
    repr: str
    is_none: bool = False
    truncated: bool = False
    redacted: bool = False
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExceptionRecord:
    """An exception as it was seen: qualified class name without `builtins.`, message, and what it says of itself.

    `name` is the attribute or variable an AttributeError or NameError names, `key` the repr of a KeyError's key;
    `is_cut` says that the message was shortened before it reached us.
    """

    type: str
    message: str
    name: str | None = None
    key: str | None = None
    is_cut: bool = False
    mro: tuple[str, ...] = ()

    @property
    def short_type(self) -> str:
        """The class name without its module."""
        return self.type.rsplit(".", 1)[-1]

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback entry. `path` is as the log or the interpreter writes it; `file` is set when it is in the project.

    `span` covers the sub-expression that was being evaluated, where the interpreter tells (Python 3.11 and newer).
    """

    path: str
    line: int | None
    function: str | None = None
    file: str | None = None
    span: Span | None = None
    code: str | None = None
    locals: tuple[tuple[str, Value], ...] = ()
    is_test: bool = False
    is_hidden: bool = False

    @property
    def place(self) -> Place | None:
        """The frame as a place in the project, or None outside it."""
        return Place(self.file, self.line, self.function) if self.file and self.line else None


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing test phase: frames outermost first, the chained causes newest first, the leaves of a group."""

    node_id: str | None
    when: When
    exception: ExceptionRecord
    frames: tuple[Frame, ...] = ()
    causes: tuple[Failure, ...] = ()
    group: tuple[Failure, ...] = ()

    @property
    def crash(self) -> Failure:
        """The failure that really crashed: for an exception group its first leaf with a project frame, else itself."""
        for leaf in self.group:
            if leaf.crash.deepest is not None:
                return leaf.crash
        return self

    @property
    def project_frames(self) -> tuple[Frame, ...]:
        """The visible frames inside the project, outermost first."""
        return tuple(frame for frame in self.frames if frame.file and frame.line and not frame.is_hidden)

    @property
    def deepest(self) -> Frame | None:
        """The last frame inside the project, its tests included."""
        return self.project_frames[-1] if self.project_frames else None

    @property
    def deepest_source(self) -> Frame | None:
        """The last frame inside the project and outside its tests."""
        return next((frame for frame in reversed(self.project_frames) if not frame.is_test), None)


# ---------------------------------------------------------------- pytest runs


class Outcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


@dataclass(frozen=True, slots=True)
class ProbeHit:
    """One call of the recorder that a probe inserted: `id` is the number the probe gave its expression."""

    id: int
    node_id: str | None
    function: str
    value: Value
    sequence: int


@dataclass(frozen=True, slots=True)
class ProbeCatch:
    """An exception that left a probed statement (`id` is the probe's own number), with the locals of its frame."""

    id: int
    node_id: str | None
    function: str
    exception: ExceptionRecord
    locals: tuple[tuple[str, Value], ...]
    sequence: int


@dataclass(frozen=True, slots=True)
class TracedValue:
    """What a trace keeps of one object: its identity while it lived (0 for None), its class and a short text.

    `size` is the length of a text or of a built-in container.
    """

    identity: int
    type: str
    text: str
    size: int | None = None

    @property
    def is_none(self) -> bool:
        """Whether the value was None."""
        return self.type == "NoneType"

    @property
    def is_missing(self) -> bool:
        """Whether there was no such name, attribute or item."""
        return self.type == ""


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One event of a frame. `kind` is `line`, `return`, `yield`, `raise` or `unwind`.

    `reads` are the names, attributes and items that a line was about to use, `stores` those after it was executed,
    both by their source text; `consumer` is the number of the frame that a generator yielded to.
    """

    sequence: int
    kind: str
    line: int
    value: TracedValue | None = None
    reads: tuple[tuple[str, TracedValue], ...] = ()
    stores: tuple[tuple[str, TracedValue], ...] = ()
    exception: str = ""
    consumer: int | None = None


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """One execution of a function, module or class body of the project, with the frame of the project that called it.

    `way` counts the frames outside the project between the two. A partial frame ran too often for its last lines to be
    recorded; of an old one only the last execution of each line is there, if anything.
    """

    number: int
    file: str
    function: str
    qualified: str
    first_line: int
    started: int
    caller: int | None
    caller_line: int | None
    way: int
    arguments: tuple[tuple[str, TracedValue], ...]
    thread: int
    steps: tuple[TracedStep, ...]
    is_partial: bool = False
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project by its file, its name, and the first line of its code, decorators included."""

    file: str
    name: str
    line: int


class Pass(StrEnum):
    """What a traced run looks at: everything, or in the first of two passes only which functions return None."""

    EVERYTHING = "everything"
    RETURNS = "returns"


Tracing = Pass | frozenset[Function]
"""What a traced run looks at: all of a pass, or (in the second of two) these functions only."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What the project's code did up to a failure of `node_id`. `gap` says why it could not be traced, if so.

    Of a narrow trace, only the functions of the second pass are there.
    """

    node_id: str | None
    frames: tuple[TracedFrame, ...]
    gap: str = ""
    is_cut: bool = False
    is_narrow: bool = False


class Tier(StrEnum):
    """How tests were run: in which state of a process, and where the sources came from."""

    WARM = "warm"
    PRELOADED = "preloaded"
    FRESH = "fresh"
    IN_PLACE = "in-place"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Calls:
    """Which tests ran which functions of the project: node ids by file and first line (that of the first decorator).

    `gap` says why it is not known, if so.
    """

    tests: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    gap: str = ""


@dataclass(frozen=True, slots=True)
class PytestRun:
    """One start of pytest: what was asked, what really ran, and what the injected plugin saw.

    `outcomes` maps node ids to outcomes in the order of the run. `ended` is False when pytest did not reach the end of
    its session (killed, time-out, `os._exit`, `pytest.exit`): such a run proves nothing. `served` names the files whose
    source came from memory; `running` the test that had begun when the process ended early; `halted_by` the test that
    ended the session, since it passed before. `durations` are seconds by node id, all phases together.
    """

    id: str
    proposed: tuple[str, ...]
    command: tuple[str, ...]
    exit_code: int | None
    seconds: float
    outcomes: tuple[tuple[str, Outcome], ...] = ()
    failures: tuple[Failure, ...] = ()
    hits: tuple[ProbeHit, ...] = ()
    catches: tuple[ProbeCatch, ...] = ()
    served: tuple[str, ...] = ()
    ended: bool = False
    timed_out: bool = False
    out_of_memory: bool = False
    collected: int = 0
    python: str = ""
    pytest: str = ""
    output: str = ""
    is_output_cut: bool = False
    running: str | None = None
    traces: tuple[Trace, ...] = ()
    halted_by: str | None = None
    returned_none: tuple[Function, ...] = ()
    durations: tuple[tuple[str, float], ...] = ()
    calls: Calls | None = None
    tier: Tier = Tier.FRESH

    def trace_of(self, node_id: str | None) -> Trace | None:
        """What led to the first failing phase of a test (of a file that cannot be collected: all there is)."""
        named = (trace for trace in self.traces if trace.node_id == node_id)
        return next(named, None) or next((trace for trace in self.traces if trace.node_id is None), None)

    @property
    def passed(self) -> frozenset[str]:
        """The node ids of the tests that passed in every phase."""
        return frozenset(node for node, outcome in self.outcomes if outcome is Outcome.PASSED)

    @property
    def failed(self) -> tuple[str, ...]:
        """The node ids of the tests that failed or could not be set up, torn down or collected."""
        return tuple(node for node, outcome in self.outcomes if outcome in (Outcome.FAILED, Outcome.ERROR))


# ---------------------------------------------------------------- locate, observe, origin, diagnose


class FaultKind(StrEnum):
    """What kind of wrong value the failure is about."""

    NONE_ATTRIBUTE = "none-attribute"
    NONE_SUBSCRIPT = "none-subscript"
    NONE_CALL = "none-call"
    NONE_ITERATION = "none-iteration"
    NONE_UNPACK = "none-unpack"
    NONE_OPERATOR = "none-operator"
    NONE_ARGUMENT = "none-argument"
    NONE_CONTEXT = "none-context"
    NONE_AWAIT = "none-await"
    MISSING_KEY = "missing-key"
    INDEX_RANGE = "index-out-of-range"
    UNBOUND_LOCAL = "unbound-local"
    UNDEFINED_NAME = "undefined-name"
    MISSING_ATTRIBUTE = "missing-attribute"
    WRONG_TYPE = "wrong-type"
    ZERO_DIVISION = "zero-division"
    UNPACK_COUNT = "unpack-count"
    EMPTY = "empty"
    DELIBERATE_RAISE = "deliberate-raise"
    ASSERTION = "assertion"
    OTHER = "other"

    @property
    def is_none(self) -> bool:
        """Whether the wrong value is None itself."""
        return self.value.startswith("none-")


@dataclass(frozen=True, slots=True)
class Receiver:
    """An expression that may have raised: the dereference and the expression that is dereferenced.

    `evidence` says how it was found: `columns`, `message`, `value`, `only-candidate`. `operation` and `name` say how
    the receiver is used (`attribute` `lower`, `operand` `+`, `iterate` `for`: `codemods.selfdebug.dereferences`).
    """

    expression: Span
    receiver: Span
    code: str
    evidence: str
    operation: str
    name: str


@dataclass(frozen=True, slots=True)
class FaultLocation:
    """The statement that raised and the receivers that can have raised it, most likely first."""

    file: str
    line: int
    function: str | None
    kind: FaultKind
    statement: Span
    statement_code: str
    receivers: tuple[Receiver, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """One recorded value of one sub-expression of the failing statement.

    `in_failure` says that the statement raised on this very evaluation, otherwise the value is one that worked.
    """

    node_id: str | None
    file: str
    expression: str
    span: Span
    value: Value
    sequence: int
    in_failure: bool

    def is_of(self, location: FaultLocation, receiver: Receiver) -> bool:
        """Whether it is a value of the receiver at this very place."""
        return self.file == location.file and self.span == receiver.receiver

    def shows_none(self, location: FaultLocation, receiver: Receiver) -> bool:
        """Whether the receiver was None in it when the statement raised."""
        return self.in_failure and self.value.is_none and self.is_of(location, receiver)


@dataclass(frozen=True, slots=True)
class Caught:
    """The exception that left the failing statement, and the locals of its frame at that moment."""

    node_id: str | None
    place: Place
    exception: ExceptionRecord
    locals: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a value's way, from the receiver back to its birth."""

    file: str
    line: int
    column: int
    function: str
    code: str
    value: str
    kind: str
    evidence: str
    sentence: str


@dataclass(frozen=True, slots=True)
class OriginChain:
    """The way of one value in one failing test; `sentence` says why, where there are no links."""

    node_id: str | None
    expression: str
    links: tuple[Link, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong, where, with which value, and where that value came from."""

    failure: Failure
    location: FaultLocation
    observations: tuple[Observation, ...]
    caught: tuple[Caught, ...]
    origin: tuple[Link, ...]
    sentence: str


# ---------------------------------------------------------------- propose, validate


class Site(StrEnum):
    """Where a candidate edits, seen from the crash."""

    CRASH = "crash-statement"
    FUNCTION = "same-function"
    CALLER = "caller"
    ORIGIN = "origin"


@dataclass(frozen=True, slots=True)
class Spot:
    """A further place that a candidate changes in the same way: the dereference and the receiver in it."""

    expression: Span
    receiver: Span


@dataclass(frozen=True, slots=True)
class Candidate:
    """One guard with its parameters at one span: `default` and `test` are as the guard takes them.

    `is_hard_coded` says that the default is the very answer that the failing test expects; `donor` names a place of the
    project that does the same where such a thing is missing (`as in app/users.py:120`). The places `also` of the same
    file are changed with it.
    """

    id: str
    guard: str
    family: str
    file: str
    site: Site
    expression: Span
    receiver: Span
    receiver_code: str
    default: str | None
    default_source: str | None
    test: str
    reason: str
    classes: tuple[str, ...] = ()
    is_hard_coded: bool = False
    donor: str | None = None
    also: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """The byte edit of a candidate: `before` and `after` are the whole file's bytes."""

    candidate: Candidate
    file: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    lines_touched: int = 0


class Verdict(StrEnum):
    """What the tests said of a candidate."""

    PLAUSIBLE = "plausible"
    INEFFECTIVE = "ineffective"
    REGRESSED = "regressed"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate judged by running tests; `detail` says in one sentence why the verdict is what it is."""

    candidate: Candidate
    verdict: Verdict
    tier: Tier
    seconds: float
    detail: str
    patch: Patch | None = None
    run_id: str | None = None
    next_failure: Failure | None = None


class Declined(StrEnum):
    """What a person said who was shown plausible patches and took none."""

    SKIPPED = "skipped"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One turn of the loop: a diagnosis, its trials, and the patch that was kept for the next turn, if any.

    `is_complete` says that there is no further candidate.
    """

    number: int
    diagnosis: Diagnosis
    trials: tuple[Trial, ...]
    kept: Patch | None
    pins: tuple[Pin, ...] = ()
    firings: tuple[Firing, ...] | None = None
    alternatives: tuple[Alternative, ...] = ()
    declined: Declined | None = None
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """A part of a kept patch and whether any test notices when it changes.

    `suggestion` is an assertion that would hold the part, or what is to be asserted where no call of it is known.
    """

    part: str
    pinned: bool
    sentence: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """How often the guard of a kept patch was come to in one test, and how often it acted there.

    `is_cut` says that it was more often, and that only the first and the last times were looked at. The attempt has
    None in place of these where nobody counted.
    """

    node_id: str
    acted: int
    reached: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another patch that the same tests accept; `sentence` says in what it differs from the kept one.

    `is_same` says that no test showed a difference in what the edited functions do.
    """

    patch: Patch
    sentence: str
    is_same: bool


# ---------------------------------------------------------------- the result of a run


class FinalStatus(StrEnum):
    """How the failing tests stand at the end."""

    PASS = "pass"
    FAIL = "fail"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything a report needs to know of one run.

    `diffs` maps each patched (or, on a dry run or a roll back, proposed) file to its bytes before and after;
    `files_patched` are the files that the run really left changed. `backup` names what can bring the best attempt or
    the state before back: a stash entry or a file.
    """

    run_id: str
    exit_code: int
    exit_reason: str
    final_status: FinalStatus
    sentence: str
    failures: tuple[Failure, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    files_patched: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    diffs: tuple[tuple[str, bytes, bytes], ...] = ()
    rollback: bool = False
    dry_run: bool = False
    backup: tuple[str, ...] = ()
    pytest_exit_code: int | None = None
    runs: tuple[PytestRun, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What `selfdebug probe` saw at the failing statement; nothing was changed."""

    run_id: str
    exit_code: int
    exit_reason: str
    sentence: str
    failures: tuple[Failure, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """A sign of life from a long run: `done` of `total` where both are known."""

    stage: str
    message: str
    done: int | None = None
    total: int | None = None
