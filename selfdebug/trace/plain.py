"""Records as plain data, as the trace keeps them: with their places written out, and what may hold a secret marked."""

from __future__ import annotations

from typing import Any

from selfdebug.model import (
    Candidate,
    ExceptionRecord,
    Failure,
    Frame,
    Link,
    Observation,
    Pin,
    ProbeHit,
    Receiver,
    Value,
)
from selfdebug.trace.redaction import Seen


def value(item: Value) -> dict[str, Any]:
    """A recorded object: its type and None-ness are kept even where values are left out."""
    data: dict[str, Any] = {
        "type": item.type,
        "is_none": item.is_none,
        "repr": item.repr if item.is_none else Seen(item.repr),
    }
    if item.truncated:
        data["truncated"] = True
    if item.redacted:
        data["redacted"] = True
    return data


def exception(item: ExceptionRecord) -> dict[str, Any]:
    """An exception: its class, what it says, and what it names."""
    data: dict[str, Any] = {"type": item.type, "message": Seen(item.message)}
    if item.name:
        data["name"] = item.name
    if item.key:
        data["key"] = Seen(item.key)
    return data


def frame(item: Frame) -> dict[str, Any]:
    """A frame: where it is, its code, its locals."""
    return {
        "place": f"{item.file or item.path}:{item.line}",
        "function": item.function,
        "code": item.code,
        "locals": {name: value(local) for name, local in item.locals},
    }


def failure(item: Failure) -> dict[str, Any]:
    """A failing test phase with its frames, and the exceptions that it was raised from."""
    data: dict[str, Any] = {
        "test": item.node_id,
        "when": item.when.value,
        "exception": exception(item.exception),
        "frames": [frame(entry) for entry in item.frames],
    }
    if item.causes:
        data["causes"] = [exception(cause.exception) for cause in item.causes]
    return data


def hit(item: ProbeHit) -> dict[str, Any]:
    """One recorded evaluation of a probed expression."""
    seen = value(item.value)
    return {"function": item.function, "test": item.node_id, "id": item.id, "value": seen, "seq": item.sequence}


def receiver(item: Receiver) -> dict[str, Any]:
    """An expression that may have raised, and how it was found."""
    return {
        "code": item.code,
        "operation": item.operation,
        "name": item.name,
        "evidence": item.evidence,
        "line": item.receiver.start_line,
        "column": item.receiver.start_column,
    }


def observation(item: Observation) -> dict[str, Any]:
    """A probed value, and whether the statement raised on it."""
    return {"test": item.node_id, "value": value(item.value), "raised": item.in_failure, "seq": item.sequence}


def link(item: Link) -> dict[str, Any]:
    """One step of a value's way."""
    return {
        "place": f"{item.file}:{item.line}",
        "function": item.function,
        "code": item.code,
        "value": Seen(item.value),
        "kind": item.kind,
        "evidence": item.evidence,
        "sentence": Seen(item.sentence),
    }


def pin(item: Pin) -> dict[str, Any]:
    """A part of a patch, and whether a test holds it."""
    data: dict[str, Any] = {"part": item.part, "pinned": item.pinned, "sentence": Seen(item.sentence)}
    return {**data, "suggestion": Seen(item.suggestion)} if item.suggestion else data


def candidate(item: Candidate) -> dict[str, Any]:
    """A guard with its parameters and its place."""
    data: dict[str, Any] = {
        "id": item.id,
        "guard": item.guard,
        "family": item.family,
        "place": f"{item.file}:{item.expression.start_line}",
        "site": item.site.value,
        "receiver": item.receiver_code,
        "test": item.test,
        "reason": item.reason,
    }
    if item.default is not None:
        data["default"] = item.default
        data["default_source"] = item.default_source
    if item.donor is not None:
        data["donor"] = item.donor
    if item.also:
        data["also"] = [f"{item.file}:{spot.expression.start_line}" for spot in item.also]
    return data
