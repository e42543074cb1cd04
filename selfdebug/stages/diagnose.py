"""Put what was read, located, observed and traced together: the diagnosis, with one sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from selfdebug.model import (
    Caught,
    Diagnosis,
    ExceptionRecord,
    Failure,
    FaultKind,
    FaultLocation,
    Link,
    Observation,
    Receiver,
)

_WHAT = {
    FaultKind.NONE_ATTRIBUTE: "has no attribute {name}",
    FaultKind.NONE_SUBSCRIPT: "cannot be subscripted",
    FaultKind.NONE_CALL: "cannot be called",
    FaultKind.NONE_ITERATION: "cannot be iterated over",
    FaultKind.NONE_UNPACK: "cannot be unpacked",
    FaultKind.NONE_OPERATOR: "does not support {name}",
    FaultKind.NONE_ARGUMENT: "is not accepted by {name}",
    FaultKind.NONE_CONTEXT: "is no context manager",
    FaultKind.NONE_AWAIT: "cannot be awaited",
}

_PASSED_BY = frozenset({"branch-not-taken", "branch-taken", "loop-not-entered"})


def diagnose(
    failure: Failure,
    location: FaultLocation,
    observations: Sequence[Observation],
    caught: Sequence[Caught],
    origin: Sequence[Link],
) -> Diagnosis:
    """The diagnosis; its sentence claims no more than was seen."""
    sentence = _sentence(failure, location, observations)
    return Diagnosis(failure, location, tuple(observations), tuple(caught), tuple(origin), sentence)


def _sentence(failure: Failure, location: FaultLocation, observations: Sequence[Observation]) -> str:
    exception = failure.crash.exception
    raised = f"{exception.short_type} at {location.where}"
    if location.kind is FaultKind.DELIBERATE_RAISE:
        return f"{raised}: the statement raises it on purpose."
    if not location.receivers:
        return f"{raised}: {exception.message or 'no message'}"
    receiver = location.receivers[0]
    if not location.kind.is_none:
        return f"{raised}: {_other(exception, location, receiver)}"
    if receiver.operation == "elements":
        return f"{raised}: an element of {receiver.code} was None, and None is not accepted by {receiver.name}."
    was = "was None" if _was_seen(receiver, location, observations) else "was probably None (not observed)"
    what = _WHAT[location.kind].format(name=receiver.name)
    return f"{raised}: {receiver.code} {was}, and None {what}."


def _was_seen(receiver: Receiver, location: FaultLocation, observations: Sequence[Observation]) -> bool:
    return receiver.evidence == "value" or any(seen.shows_none(location, receiver) for seen in observations)


def _other(exception: ExceptionRecord, location: FaultLocation, receiver: Receiver) -> str:
    message = exception.message or "no message"
    match location.kind:
        case FaultKind.MISSING_KEY:
            said = f"{receiver.code} has no key {exception.key or exception.message}."
        case FaultKind.INDEX_RANGE:
            said = f"{receiver.code} is shorter than its index {receiver.name} needs."
        case FaultKind.UNBOUND_LOCAL:
            said = f"{receiver.code} had no value on this path."
        case FaultKind.UNDEFINED_NAME:
            said = f"no {receiver.code} is defined or imported here."
        case FaultKind.EMPTY:
            said = f"there was nothing that {receiver.code} could give."
        case FaultKind.ZERO_DIVISION:
            said = f"{receiver.code} was zero."
        case FaultKind.OTHER:
            said = f"the call of {receiver.code} raised it: {message}"
        case _:
            said = f"{receiver.code}: {message}"
    return said


def untaken(diagnosis: Diagnosis) -> str:
    """What there is to say, after a colon, of a None that a test complains of and that a branch not taken left; or "".

    A branch of its own, a default or a return there would have to give the value that the test expects: no other code
    of the project tells which one that is for other inputs.
    """
    link = next((link for link in diagnosis.origin if link.kind in _PASSED_BY), None)
    if diagnosis.location.kind is not FaultKind.ASSERTION or link is None:
        return ""
    return (
        f": the None is what is left where {link.file}:{link.line} goes on, and no code tells which value belongs there"
    )
