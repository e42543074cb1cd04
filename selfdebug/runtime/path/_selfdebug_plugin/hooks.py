"""How a traced run gets its events: `sys.monitoring` from Python 3.12 on, `sys.settrace` before.

Each takes only what nobody uses, and gives it back.
"""

from __future__ import annotations

import opcode
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict

from .trail import Code, Trail

Callbacks = Dict[int, Callable[..., Any]]
"""What is called for each kind of event."""

_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_OPERATIONS = opcode.opname
# Awaiting and iterating end with exceptions of these classes, which the program does not see.
_UNSEEN = (StopIteration, GeneratorExit, StopAsyncIteration)
_TOOL_IDS = (4, 3, 5, 2, 1, 0)  # those first that no kind of tool claims
_TRACED = "a trace function is set already (a debugger or a coverage tool)"


class Tool:
    """A tool id of `sys.monitoring` (Python 3.12 and newer), while it is held."""

    def __init__(self) -> None:
        self.api: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore] # from 3.12 on
        self.events: Any = self.api.events
        self._id: int | None = None
        self._kinds: tuple[int, ...] = ()

    def take(self, callbacks: Callbacks, everywhere: int) -> str:
        """Register callbacks, and switch those of `everywhere` on; the answer names who is in the way, if anybody."""
        self._id = next((number for number in _TOOL_IDS if self.api.get_tool(number) is None), None)
        if self._id is None:
            return "all tool ids of sys.monitoring are in use"
        self.api.use_tool_id(self._id, "selfdebug")
        self._kinds = tuple(callbacks)
        for kind, callback in callbacks.items():
            self.api.register_callback(self._id, kind, callback)
        self.api.set_events(self._id, everywhere)
        return ""

    def watch(self, code: CodeType, events: int) -> None:
        """Switch events of one code object on, and all others of it off."""
        if self._id is not None:
            self.api.set_local_events(self._id, code, events)

    def give_back(self) -> None:
        """Free the tool id."""
        if self._id is not None:
            self.api.set_events(self._id, 0)
            for kind in self._kinds:
                self.api.register_callback(self._id, kind, None)
            self.api.free_tool_id(self._id)
            self._id = None


class Monitoring:
    """The events of `sys.monitoring`."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        trail.cool = self._cool
        self._seen = trail.codes
        self._ticks = trail.ticks
        self._tool = Tool()
        self._getframe = sys._getframe
        self._disable = self._tool.api.DISABLE
        event = self._tool.events
        self._ends = event.PY_RETURN | event.PY_YIELD
        self._all = event.LINE | self._ends

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        event = self._tool.events
        callbacks: Callbacks = {
            event.PY_START: self._on_start,
            event.LINE: self._on_line,
            event.PY_RETURN: self._on_return,
            event.PY_YIELD: self._on_yield,
            event.RAISE: self._on_raise,
            event.PY_UNWIND: self._on_unwind,
        }
        return self._tool.take(callbacks, event.PY_START | event.RAISE | event.PY_UNWIND)

    def stop(self) -> None:
        """Give the tool id back."""
        self._tool.give_back()

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        seen = self._seen.get(id(code))
        known = seen[1] if seen is not None else self._trail.code(code, self._getframe(1).f_globals)
        if known is None:
            return self._disable
        if known.ticks and self._ticks():
            self._revive(self._getframe(1).f_back)
        if known.is_silent:
            return None if known.ticks else self._disable
        frame = self._getframe(1)
        if not known.is_armed:
            known.is_armed = True
            self._tool.watch(code, self._all)
        self._trail.called(frame, known)
        return None

    def look_anew(self) -> None:
        """Look again at what ran too often."""
        self._revive(None)

    def _cool(self, known: Code) -> None:
        self._tool.watch(known.code, 0 if known.is_silent else self._ends)

    def _revive(self, frame: FrameType | None) -> None:
        revived = self._trail.revive(frame)
        for known in revived:
            self._tool.watch(known.code, self._all)
        if revived:
            self._tool.api.restart_events()  # the beginning of what was called often had been disabled

    def _on_line(self, _code: CodeType, line: int) -> None:
        frame = self._getframe(1)
        running = self._trail.running(frame)
        if running is not None and not running.code.is_hot:
            self._trail.reached(frame, running, line)

    def _on_return(self, _code: CodeType, _offset: int, value: object) -> None:
        self._leave("r", value)

    def _on_yield(self, _code: CodeType, _offset: int, value: object) -> None:
        self._leave("y", value)

    def _on_unwind(self, _code: CodeType, _offset: int, _exception: BaseException) -> None:
        self._leave("u", None)

    def _leave(self, kind: str, value: object) -> None:
        frame = self._getframe(2)
        running = self._trail.running(frame)
        if running is not None:
            self._trail.left(frame, running, kind, value)

    def _on_raise(self, _code: CodeType, _offset: int, exception: BaseException) -> None:
        frame = self._getframe(1)
        running = self._trail.running(frame)
        if running is not None and type(exception) not in _UNSEEN:
            self._trail.raised(frame, running, type(exception))


class TraceHook:
    """A trace function (before Python 3.12) of all threads, where nobody else has set one."""

    def __init__(self) -> None:
        self.is_on = False

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        if sys.gettrace() is not None:
            return _TRACED
        self.is_on = True
        threading.settrace(self.on_call)
        sys.settrace(self.on_call)
        return ""

    def stop(self) -> None:
        """Take the trace functions back, where they are still ours."""
        self.is_on = False
        if sys.gettrace() == self.on_call:
            sys.settrace(None)
        if getattr(threading, "_trace_hook", None) == self.on_call:
            threading.settrace(None)

    def on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """What happens when a frame begins; the answer is what is to be told of its lines."""
        raise NotImplementedError


class TraceFunction(TraceHook):
    """The events of `sys.settrace`."""

    def __init__(self, trail: Trail) -> None:
        super().__init__()
        self._trail = trail

    def on_call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """A frame begins, or a generator goes on."""
        if event != "call" or not self.is_on:
            return None
        known = self._trail.code(frame.f_code, frame.f_globals)
        if known is None:
            return None
        if known.ticks and self._trail.ticks():
            self._trail.revive(frame.f_back)
            self._take_up(frame.f_back)
        if known.is_silent:
            return None
        if self._trail.running(frame) is None:
            self._trail.called(frame, known)
        frame.f_trace_lines = not known.is_hot
        return self._on_event

    def look_anew(self) -> None:
        """Look again at what ran too often."""
        self._trail.revive(None)

    def _take_up(self, frame: FrameType | None) -> None:
        while frame is not None:
            if self._trail.running(frame) is not None:
                frame.f_trace, frame.f_trace_lines = self._on_event, True
            frame = frame.f_back

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        running = self._trail.running(frame)
        if running is None or not self.is_on:
            return None
        if event == "line":
            if running.code.is_hot:
                frame.f_trace_lines = False
            else:
                self._trail.reached(frame, running, frame.f_lineno)
        elif event == "exception":
            if argument[0] not in _UNSEEN:
                self._trail.raised(frame, running, argument[0])
        elif event == "return":
            self._trail.left(frame, running, _way_out(frame), argument)
        return self._on_event


def _way_out(frame: FrameType) -> str:
    """How a frame is left: `r` by a return, `y` by a yield, `u` by an exception, as its last instruction says."""
    code, at = frame.f_code.co_code, frame.f_lasti
    names = [_OPERATIONS[code[place]] for place in (at, at + 2) if 0 <= place < len(code)]
    if names and names[0] in ("RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR"):
        return "r"
    if names and names[0] in ("YIELD_VALUE", "YIELD_FROM", "SEND"):
        return "y"
    # Before Python 3.11 a frame that waits stands just before its YIELD_FROM.
    return "y" if names[1:] == ["YIELD_FROM"] and frame.f_code.co_flags & _GENERATOR else "u"
