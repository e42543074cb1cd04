"""What a trace consists of, as frozen records, and how each is written as JSON and read back.

Reading back raises `DamagedRecordError` for data that is not of that shape: the reader drops that one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_STORED = 100_000
"""Characters of one value that are stored; a longer one is cut and marked, with its true size beside it."""


class DamagedRecordError(Exception):
    """A row of the store cannot be read as what it should be."""


class RunStatus(StrEnum):
    """How a run ended, which is when it became evidence."""

    PASSED = "passed"
    FAILED = "failed"
    ROLLED_BACK = "rolled back"
    INTERRUPTED = "interrupted"
    CRASHED = "crashed"
    LOOKED = "only looked"
    """In order, of a command that repairs nothing: `why`, `probe`."""


@dataclass(frozen=True, slots=True)
class Read:
    """A key that a step read, and the steps that had written it last (none: nothing in this run gave it)."""

    key: str
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A value that a step wrote: JSON data, its true size in characters, and whether a part was hidden or cut."""

    key: str
    verb: str
    value: Any
    size: int
    redacted: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run. `started` and `ended` are seconds since the run began; `ended` is None when it never did.

    `because` is the step whose decision led here, `rule` that decision's rule; `calls` are starts of pytest.
    """

    id: str
    number: int
    stage: str
    description: str
    started: float
    ended: float | None = None
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    errors: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    rule: str | None = None
    because: str | None = None
    calls: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """How long the step took, None when it never ended."""
        return None if self.ended is None else self.ended - self.started


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One start of pytest or one forked trial, as asked and as it ran; `outcome` is one sentence.

    `kind` is `pytest`, or `model` for a nested run of the delegate, which came after the run and belongs to no step.
    """

    id: str
    step: str
    proposed: tuple[str, ...]
    command: tuple[str, ...]
    added: tuple[str, ...]
    added_because: str
    outcome: str
    exit_code: int | None
    seconds: float
    tests: int = 0
    has_inner: bool = False
    kind: str = "pytest"


@dataclass(frozen=True, slots=True)
class InnerRun:
    """What one start of pytest saw inside, as JSON data; `is_trial`: it judged a candidate, so it goes first."""

    call: str
    seq: int
    data: dict[str, Any]
    is_trial: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction that the run caught in itself; witnesses are step ids, node ids or recorded facts."""

    kind: str
    sentence: str
    step: str
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """How often an integrity check ran, how many things it looked at, and what it could not see."""

    kind: str
    times: int
    looked_at: int
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the store files it. `status` is None while it goes on; times are seconds since the epoch.

    `shelf` is `session` or `one-shot`; `dropped` counts events that fell to the bound; `left_out` names settings.
    """

    id: str
    session: str | None
    shelf: str
    project: str
    status: str | None
    started: float
    ended: float | None
    dropped: int = 0
    left_out: tuple[str, ...] = ()
    version: str = ""
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run in memory, as the queries read it; `notes` say what could not be read."""

    run: Run
    steps: tuple[Step, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    inner: dict[str, dict[str, Any]] | None = None
    notes: tuple[str, ...] = ()

    def step(self, step_id: str) -> Step | None:
        """The step of this id, if the trace has it."""
        return next((step for step in self.steps if step.id == step_id), None)


Event = Step | ToolCall | Finding | Check
"""What the store keeps one row of."""


def event_kind(event: Event) -> str:
    """The name under which the store files an event."""
    return {Step: "step", ToolCall: "call", Finding: "finding", Check: "check"}[type(event)]


def to_data(event: Event) -> dict[str, Any]:
    """The event as JSON data; empty fields are left out."""
    data: dict[str, Any] = {}
    for name in event.__slots__:
        value = getattr(event, name)
        if value in (None, (), ""):
            continue
        if name == "reads":
            value = [[read.key, list(read.writers)] for read in value]
        elif name == "writes":
            value = [[w.key, w.verb, w.value, w.size, w.redacted, w.cut] for w in value]
        data[name] = list(value) if isinstance(value, tuple) else value
    return data


def from_data(kind: str, data: Any) -> Event:
    """The event that `to_data` wrote. Raises DamagedRecordError."""
    try:
        if kind == "step":
            return _step(data)
        if kind == "call":
            lists = {name: _texts(data.get(name, [])) for name in ("proposed", "command", "added")}
            given = {"added_because": "", "exit_code": None, "outcome": "", **data, **lists}
            return ToolCall(
                **{
                    **given,
                    "id": _text(data["id"]),
                    "step": _text(data.get("step", "")),
                    "seconds": float(data["seconds"]),
                }
            )
        if kind == "finding":
            return Finding(
                _text(data["kind"]), _text(data["sentence"]), _text(data["step"]), _texts(data.get("witnesses", []))
            )
        if kind == "check":
            return Check(_text(data["kind"]), int(data["times"]), int(data["looked_at"]), _text(data.get("unseen", "")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedRecordError(f"a {kind} is not of its shape ({error})") from error
    raise DamagedRecordError(f"a row is of the unknown kind {kind!r}")


def _step(data: dict[str, Any]) -> Step:
    return Step(
        id=_text(data["id"]),
        number=int(data["number"]),
        stage=_text(data["stage"]),
        description=_text(data.get("description", "")),
        started=float(data["started"]),
        ended=None if data.get("ended") is None else float(data["ended"]),
        reads=tuple(Read(_text(key), _texts(writers)) for key, writers in data.get("reads", [])),
        writes=tuple(
            Write(_text(key), _text(verb), value, int(size), bool(redacted), bool(cut))
            for key, verb, value, size, redacted, cut in data.get("writes", [])
        ),
        errors=_texts(data.get("errors", [])),
        untracked=_texts(data.get("untracked", [])),
        rule=data.get("rule"),
        because=data.get("because"),
        calls=_texts(data.get("calls", [])),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"{values!r} is no list")
    return tuple(_text(value) for value in values)
