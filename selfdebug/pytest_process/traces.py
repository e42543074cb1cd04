"""From the events of the plugin's tracer to the frames of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from selfdebug.model import Trace, TracedFrame, TracedStep, TracedValue
from selfdebug.pytest_process.project import ProjectFiles

_NONE = TracedValue(0, "NoneType", "None")
_NEW_LOCALS = 0x2  # a flag of the code of functions; modules and class bodies do not have it
_KINDS = {"r": "return", "y": "yield", "u": "unwind"}
_SPACE = 4  # numbers between two events, for what is put in between


@dataclass(frozen=True, slots=True)
class _Code:
    file: str
    function: str
    qualified: str
    first_line: int
    is_imported: bool


@dataclass(slots=True)
class _Call:
    code: _Code
    event: list[Any]
    steps: list[TracedStep] = field(default_factory=list)
    frame: TracedFrame | None = None
    is_partial: bool = False
    is_unseen: bool = False

    def take(self, event: list[Any]) -> None:
        """Take an event of this execution; what comes while its lines are not seen stands between gaps."""
        if event[0] == "g":
            self.is_partial = self.is_unseen = True
            self._take_gap(event[1])
            return
        if self.is_unseen:
            self._take_gap(event[1])
            self.is_unseen = event[0] != "l"
        self.steps.append(_step(event))

    def calls(self, event: list[Any]) -> None:
        """It is the caller of what began with an event: that tells its line where that is not seen."""
        if self.is_unseen:
            self._take_gap(event[1])
            self.steps.append(TracedStep(event[1] * _SPACE - 1, "line", event[5]))

    def _take_gap(self, number: int) -> None:
        if not self.steps or self.steps[-1].kind != "gap":
            self.steps.append(TracedStep(number * _SPACE - 2, "gap", 0))


class TraceReader:
    """Takes the events of one process in their order; events of frames whose beginning was cut away are left out."""

    def __init__(self, project: ProjectFiles) -> None:
        self._project = project
        self._codes: dict[int, _Code] = {}
        self._calls: dict[int, _Call] = {}

    def take(self, events: Iterable[list[Any]]) -> None:
        """Take some events."""
        for event in events:
            match event[0]:
                case "d":
                    file = self._project.file(str(event[2]))
                    if file is not None:
                        self._codes[event[1]] = _Code(file, event[3], event[4], event[5], not event[6] & _NEW_LOCALS)
                case "c":
                    code = self._codes.get(event[3])
                    if code is not None:
                        self._calls[event[2]] = _Call(code, event)
                    if event[4] in self._calls:
                        self._calls[event[4]].calls(event)
                case _:
                    call = self._calls.get(event[2])
                    if call is not None:
                        call.take(event)

    def finished(self, node_id: str | None, gap: str, oldest: int) -> Trace:
        """The trace of all that was taken so far; functions before the event `oldest` are there in part only."""
        frames = tuple(_frame(call, oldest) for call in self._calls.values())
        return Trace(node_id, frames, gap, oldest > 0 or any(frame.is_partial for frame in frames))


def _frame(call: _Call, oldest: int) -> TracedFrame:
    is_old = call.event[1] < oldest and not call.code.is_imported
    known = call.frame
    if known is not None and (len(known.steps), known.is_partial, known.is_old) == (
        len(call.steps),
        call.is_partial,
        is_old,
    ):
        return known  # of an earlier trace
    _, started, number, _, caller, caller_line, way, arguments, thread = call.event
    code = call.code
    call.frame = TracedFrame(
        number=number,
        file=code.file,
        function=code.function,
        qualified=code.qualified,
        first_line=code.first_line,
        started=started * _SPACE,
        caller=caller,
        caller_line=caller_line,
        way=way,
        arguments=_values(arguments),
        thread=thread,
        steps=tuple(call.steps),
        is_partial=call.is_partial,
        is_old=is_old,
    )
    return call.frame


def _step(event: list[Any]) -> TracedStep:
    kind, number, _, line, *rest = event
    sequence = number * _SPACE
    if kind == "l":
        return TracedStep(sequence, "line", line, reads=_values(rest[0]), stores=_values(rest[1] or {}))
    if kind == "x":
        return TracedStep(sequence, "raise", line, exception=str(rest[0]), reads=_values(rest[1]))
    consumer = rest[1] if kind == "y" else None
    # What an asynchronous generator yields is packed into an object that does not tell.
    is_packed = rest[0] is not None and rest[0][1] == "async_generator_wrapped_value"
    return TracedStep(sequence, _KINDS[kind], line, value=None if is_packed else _value(rest[0]), consumer=consumer)


def _values(tokens: dict[str, Any]) -> tuple[tuple[str, TracedValue], ...]:
    return tuple((name, _value(token)) for name, token in tokens.items())


def _value(token: list[Any] | None) -> TracedValue:
    return _NONE if token is None else TracedValue(token[0], str(token[1]), str(token[2]), *token[3:])
