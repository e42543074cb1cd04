"""How a traced run gets its events: `sys.monitoring` from Python 3.12 on, `sys.settrace` before.

Each takes only what nobody uses, and gives it back.
"""

from __future__ import annotations

import opcode
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from .tracebacks import Project
from .trail import Function, Trail, described

_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_OPERATIONS = opcode.opname
# Awaiting and iterating end with exceptions of these classes, which the program does not see.
_UNSEEN = (StopIteration, GeneratorExit, StopAsyncIteration)
_TOOL_IDS = (4, 3, 5, 2, 1, 0)  # those first that no kind of tool claims
_ALL_TAKEN = "all tool ids of sys.monitoring are in use"
_ENOUGH = 3


class Monitoring:
    """The events of `sys.monitoring` (Python 3.12 and newer)."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._api: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore] # from 3.12 on
        self._tool: int | None = None
        self._getframe = sys._getframe
        self._disable = self._api.DISABLE

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        self._tool = _free_tool(self._api)
        if self._tool is None:
            return _ALL_TAKEN
        self._api.use_tool_id(self._tool, "selfdebug")
        event = self._api.events
        self._local = event.LINE | event.PY_RETURN | event.PY_YIELD
        self._callbacks = {
            event.PY_START: self._on_start,
            event.LINE: self._on_line,
            event.PY_RETURN: self._on_return,
            event.PY_YIELD: self._on_yield,
            event.RAISE: self._on_raise,
            event.PY_UNWIND: self._on_unwind,
        }
        for kind, callback in self._callbacks.items():
            self._api.register_callback(self._tool, kind, callback)
        self._api.set_events(self._tool, event.PY_START | event.RAISE | event.PY_UNWIND)
        return ""

    def stop(self) -> None:
        """Give the tool id back."""
        if self._tool is not None:
            self._api.set_events(self._tool, 0)
            for kind in self._callbacks:
                self._api.register_callback(self._tool, kind, None)
            self._api.free_tool_id(self._tool)
            self._tool = None

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        frame = self._getframe(1)
        known = self._trail.code(code, frame.f_globals)
        if known is None or (known.is_hot and self._trail.is_narrow):
            return self._disable
        if self._tool is not None and not known.is_armed:
            known.is_armed = True
            self._api.set_local_events(self._tool, code, self._local)
        self._trail.called(frame, known)
        return None

    def _on_line(self, _code: CodeType, line: int) -> Any:
        frame = self._getframe(1)
        running = self._trail.running(frame)
        if running is None:
            return None
        if running.code.is_hot:
            return self._disable
        self._trail.reached(frame, running, line)
        return None

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


class Returns:
    """The first of two passes, with `sys.monitoring`: which functions of the project return None.

    A return is not looked at any more once it gave something else, or None a few times.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._api: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore] # from 3.12 on
        self._tool: int | None = None
        self._disable = self._api.DISABLE
        self._codes: dict[int, CodeType] = {}
        self._counts: dict[tuple[int, int], int] = {}

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        self._tool = _free_tool(self._api)
        if self._tool is None:
            return _ALL_TAKEN
        self._api.use_tool_id(self._tool, "selfdebug")
        self._api.register_callback(self._tool, self._api.events.PY_RETURN, self._on_return)
        self._api.set_events(self._tool, self._api.events.PY_RETURN)
        return ""

    def stop(self) -> None:
        """Give the tool id back."""
        if self._tool is not None:
            self._api.set_events(self._tool, 0)
            self._api.register_callback(self._tool, self._api.events.PY_RETURN, None)
            self._api.free_tool_id(self._tool)
            self._tool = None

    def functions(self) -> list[Function]:
        """The functions that have returned None so far."""
        return [described(code) for code in list(self._codes.values())]

    def _on_return(self, code: CodeType, offset: int, value: object) -> Any:
        if value is not None:
            return self._disable
        place = id(code), offset
        count = self._counts.get(place, 0)
        if not count and code.co_filename not in self._project:
            return self._disable
        self._codes[place[0]] = code
        self._counts[place] = count + 1
        return self._disable if count + 1 == _ENOUGH else None


def _free_tool(api: Any) -> int | None:
    return next((number for number in _TOOL_IDS if api.get_tool(number) is None), None)


class TraceFunction:
    """The events of `sys.settrace` (before Python 3.12)."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._is_on = False

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        other = sys.gettrace()
        if other is not None:
            return "a trace function is set already (a debugger or a coverage tool)"
        self._is_on = True
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)
        return ""

    def stop(self) -> None:
        """Take the trace functions back, where they are still ours."""
        self._is_on = False
        if sys.gettrace() == self._on_call:
            sys.settrace(None)
        if getattr(threading, "_trace_hook", None) == self._on_call:
            threading.settrace(None)

    def _on_call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event != "call" or not self._is_on:
            return None
        known = self._trail.code(frame.f_code, frame.f_globals)
        if known is None:
            return None
        running = self._trail.running(frame)
        # Else a generator goes on; of one that was dropped, another frame may have the place in memory by now.
        if running is None or running.code is not known:
            self._trail.called(frame, known)
        if known.is_hot:
            frame.f_trace_lines = False
        return self._on_event

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        running = self._trail.running(frame)
        if running is None or not self._is_on:
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
