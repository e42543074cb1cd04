"""Exceptions that a JSON document holds as data, written out as the interpreter would print them.

Three shapes are known: events of Sentry's SDK (`exception.values`, the oldest cause first, groups by the ids of their
parents), structlog's dictionaries (a list, the exception that was raised first), and answers of AWS Lambda.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from traceback import FrameSummary, StackSummary, TracebackException
from typing import Any

MAX_DOCUMENT = 4_000_000
MAX_DEPTH, MAX_MEMBERS = 20, 1000
SIGNS = ('"frames"', '"stackTrace"')
_ENTRY = re.compile(r'  File "([^"\n]*)", line (\d{1,9}), in (.*)(?:\n    (.*))?')


@dataclass(slots=True)
class _Told:
    """One exception of a document; `before` is the one that it was raised from (`is_cause`) or after."""

    type: str
    message: str
    frames: list[FrameSummary]
    is_cause: bool = False
    before: _Told | None = None
    members: list[_Told] = field(default_factory=list)


def with_exceptions(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with each JSON document that holds an exception replaced by what would have been printed of it.

    A document stands in one line, perhaps behind a prefix, or in indented lines from `{` to the `}` below it.
    """
    held: list[str] = []
    closing = ""
    size = 0
    for line in lines:
        if held:
            held.append(line)
            size += len(line)
            if line.rstrip(", ") == closing or size > MAX_DOCUMENT:
                yield from _printed("\n".join(held)) or held
                held = []
        elif line.strip() in ("{", "["):
            held, size = [line], 0
            closing = line.rstrip().replace("{", "}").replace("[", "]")
        elif any(sign in line for sign in SIGNS):
            yield from _printed(line) or (line,)
        else:
            yield line
    yield from held


def _printed(text: str) -> list[str]:
    """What would be printed of the exceptions in a document; nothing where there is none."""
    if not any(sign in text for sign in SIGNS) or len(text) > MAX_DOCUMENT:
        return []
    start = min((at for at in (text.find("{"), text.find("[{")) if at >= 0), default=-1)
    try:
        document, _ = json.JSONDecoder(strict=False).raw_decode(text, start) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return []
    shown = [
        line for one in _exceptions(document, 0) for text in _traceback(one, 0).format() for line in text.split("\n")
    ]
    return ["", *shown] if shown else []


def _exceptions(value: Any, depth: int) -> Iterator[_Told]:
    """The exceptions anywhere in a document, in its order."""
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return
    if isinstance(value, dict):
        if isinstance(value.get("errorType"), str) and isinstance(value.get("stackTrace"), list):
            yield _lambda(value)
            return
        values = _records(value.get("values"), "stacktrace", "type")
        told = _sentry(values) if values else None
    else:
        records = _records(value, "exc_type", "frames")
        told = _structlog(records, depth) if records else None
    if told is not None:
        yield told
        return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _exceptions(inner, depth + 1)


def _records(values: Any, *keys: str) -> list[dict[str, Any]]:
    """The value where it is a list of dictionaries that each have one of the keys, else an empty list."""
    if not isinstance(values, list):
        return []
    return values if all(isinstance(one, dict) and one.keys() & set(keys) for one in values) else []


def _sentry(values: list[dict[str, Any]]) -> _Told:
    """Sentry's list, oldest first; where exceptions have ids, each names its parent, whose id is smaller."""
    told = [_Told(_sentry_type(one), _text(one.get("value")), _frames(_stack(one))) for one in values]
    mechanisms = [_dictionary(one.get("mechanism")) for one in values]
    by_id = {_number(way, "exception_id"): one for way, one in zip(mechanisms, told, strict=True)}
    if len(by_id) < len(told) or -1 in by_id:
        for before, one in pairwise(told):
            one.before = before
        return told[-1]
    for way, one in reversed(list(zip(mechanisms, told, strict=True))):
        parent = by_id.get(_number(way, "parent_id"))
        if parent is None or _number(way, "parent_id") >= _number(way, "exception_id"):
            continue
        if _text(way.get("source")).startswith("exceptions["):
            parent.members.append(one)
        else:
            parent.before, parent.is_cause = one, way.get("source") == "__cause__"
    return by_id[min(by_id)]


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(values: dict[str, Any], key: str) -> int:
    """The number under a key, -1 where there is none."""
    value = values.get(key)
    return value if isinstance(value, int) else -1


def _sentry_type(one: dict[str, Any]) -> str:
    module, name = one.get("module"), _text(one.get("type"))
    return f"{module}.{name}" if isinstance(module, str) and module and module != "builtins" else name


def _stack(one: dict[str, Any]) -> Any:
    return _dictionary(one.get("stacktrace")).get("frames")


def _structlog(values: list[dict[str, Any]], depth: int) -> _Told:
    """structlog's list: the exception that was raised, then what it was raised from, each with members of its own."""
    told = [_structlog_one(one, depth) for one in values]
    for number, one in enumerate(values[1:], 1):
        told[number - 1].before, told[number - 1].is_cause = told[number], bool(one.get("is_cause"))
    return told[0]


def _structlog_one(one: dict[str, Any], depth: int) -> _Told:
    told = _Told(_text(one.get("exc_type")), _text(one.get("exc_value")), _frames(one.get("frames")))
    members = one.get("exceptions")
    if isinstance(members, list) and depth < MAX_DEPTH:
        groups = [_records(inner, "exc_type") for inner in members]
        told.members = [_structlog(inner, depth + 1) for inner in groups if inner]
    return told


def _lambda(value: dict[str, Any]) -> _Told:
    entries = (_ENTRY.match(text) for text in value["stackTrace"] if isinstance(text, str))
    frames = [_frame(entry[1], int(entry[2]), entry[3], entry[4] or "") for entry in entries if entry]
    return _Told(value["errorType"], _text(value.get("errorMessage")), frames)


def _frames(frames: Any) -> list[FrameSummary]:
    return [
        _frame(
            _text(frame.get("abs_path") or frame.get("filename")),
            frame["lineno"],
            _text(frame.get("function") or frame.get("name")),
            _text(frame.get("context_line")),
        )
        for frame in (frames if isinstance(frames, list) else ())
        if isinstance(frame, dict) and isinstance(frame.get("lineno"), int)
    ]


def _frame(path: str, line: int, function: str, code: str) -> FrameSummary:
    # With a text given, even an empty one, the standard library does not look for the file.
    return FrameSummary(path.replace('"', "'"), line, function, lookup_line=False, line=code)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _traceback(told: _Told, depth: int) -> TracebackException:
    """The exception as the standard library formats it, with what it was raised from and its members."""
    module, _, name = told.type.replace("\0", "").rpartition(".")
    kind = type(name or "Exception", (Exception,), {"__module__": module or "builtins"})
    shown = TracebackException(kind, kind(told.message), None, max_group_width=MAX_MEMBERS, max_group_depth=MAX_DEPTH)
    shown.stack = StackSummary.from_list(told.frames)
    if depth >= MAX_DEPTH:
        return shown
    if told.before is not None and told.is_cause:
        shown.__cause__ = _traceback(told.before, depth + 1)
    elif told.before is not None:
        shown.__context__ = _traceback(told.before, depth + 1)
    if told.members:
        shown.exceptions = [_traceback(member, depth + 1) for member in told.members]
    return shown
