"""What is wrong, and where: the fault location, what was observed there, where the value came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from codemods.selfdebug.spans import Span
from selfdebug.model.failures import ExceptionRecord, Failure, Place, Value


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

    @property
    def where(self) -> str:
        """The place as sentences name it: `shop/discount.py:8 in discount`."""
        return f"{self.file}:{self.line}" + (f" in {self.function}" if self.function else "")


@dataclass(frozen=True, slots=True)
class Observation:
    """One recorded value of one sub-expression of the failing statement.

    `in_failure` says that the statement raised on this very evaluation (or, if it raises nowhere itself, led to what
    did), otherwise the value is one that worked.
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
