"""Traces the project's own code in one run of a failing test, so that the way of a value can be read backwards.

From Python 3.12 on `sys.monitoring` with a tool id that nobody uses and events for project code only; before,
`sys.settrace`, unless a debugger or a coverage tool holds it. Events are kept in memory, the newest of each kind, and
written when the test has failed; the program's objects are neither kept alive nor asked anything.
"""

from __future__ import annotations

import itertools
import opcode
import os
import sys
import threading
import time
from collections import deque
from types import CodeType, FrameType
from typing import Any, Generator, Iterator, List

import pytest

from .journal import Journal
from .peeking import Token, look_up, token
from .tracebacks import Project
from .watching import NOTHING, Lines, Watched, watched_lines

Event = List[Any]

MAX_EVENTS = 120_000  # of functions; the newest stay
MAX_IMPORTED = 20_000  # of modules and class bodies, which run once
MAX_WAY = 60  # frames outside the project between a function and its caller in it
MAX_STACK = 200  # frames that an exception has just ended
PATIENCE = 4.0  # seconds until the lines of the code that runs most are left alone
HOT = 20_000  # lines
CHUNK = 2_000
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_OPERATIONS = opcode.opname
# Awaiting and iterating end with exceptions of these classes, which the program does not see.
_UNSEEN = (StopIteration, GeneratorExit, StopAsyncIteration)
_TOOL_IDS = (3, 4, 2, 5, 1, 0)


class _Running:
    """A frame that is being executed: its number and the line event whose stores are still to be seen."""

    __slots__ = ("began", "code", "latest", "line", "number")

    def __init__(self, number: int, code: _Code) -> None:
        self.number = number
        self.code = code
        self.began: Event = []
        self.latest: dict[int, Event] = {}  # the last event of each line, for when the ring is full
        self.line: Event | None = None


class _Code:
    """A code object of the project, by number, with what its file's lines are to be watched for."""

    __slots__ = ("count", "is_hot", "is_imported", "lines", "number")

    def __init__(self, number: int, lines: Lines, is_imported: bool) -> None:
        self.count = 0
        self.is_hot = False  # ran so often that its lines are not looked at any more
        self.number = number
        self.lines = lines
        self.is_imported = is_imported


class Trail:
    """The events of one process, and how they are recorded."""

    def __init__(self, project: Project) -> None:
        self._project = project
        # By identity: code objects of two files with the same text are equal.
        self._codes: dict[int, tuple[CodeType, _Code | None]] = {}
        self._files: dict[str, Lines] = {}
        self._running: dict[int, _Running] = {}
        self._numbers = itertools.count(1)
        self._sequence = itertools.count(1)
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._imported: deque[Event] = deque(maxlen=MAX_IMPORTED)
        self._described: list[Event] = []
        self._unwound: deque[_Running] = deque(maxlen=MAX_STACK)
        self._written = 0
        self._oldest = 0
        self._clock = time.perf_counter
        self._patience = self._clock() + PATIENCE
        self._hot = HOT
        self._lock = threading.Lock()
        self._getframe = sys._getframe
        self._ident = threading.get_ident

    def code(self, code: CodeType, module_globals: dict[str, Any]) -> _Code | None:
        """What is known of a code object; None for one that does not belong to the project."""
        known = self._codes.get(id(code))
        if known is None:
            with self._lock:
                known = self._codes[id(code)] = code, self._new_code(code, module_globals)
        return known[1]

    def _new_code(self, code: CodeType, module_globals: dict[str, Any]) -> _Code | None:
        path = code.co_filename
        if path not in self._project:
            return None
        if path not in self._files:
            self._files[path] = watched_lines(path, module_globals)
        number = len(self._codes)
        is_imported = not code.co_flags & 0x2  # CO_NEWLOCALS is not set for modules and class bodies
        qualified = getattr(code, "co_qualname", code.co_name)
        self._described.append(
            ["d", number, os.path.abspath(path), code.co_name, qualified, code.co_firstlineno, code.co_flags]
        )
        return _Code(number, self._files[path], is_imported)

    # ------------------------------------------------------------ what happens

    def called(self, frame: FrameType, code: _Code) -> None:
        """A frame of the project begins."""
        running = _Running(next(self._numbers), code)
        self._running[id(frame)] = running
        way, caller = 0, frame.f_back
        while caller is not None and way < MAX_WAY and id(caller) not in self._running:
            caller, way = caller.f_back, way + 1
        above = self._running.get(id(caller)) if caller is not None else None
        names = frame.f_code.co_varnames
        count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
        count += bool(frame.f_code.co_flags & 0x4) + bool(frame.f_code.co_flags & 0x8)
        values = frame.f_locals
        given = {name: token(values[name], name) for name in names[:count] if name in values}
        running.began = [
            *("c", next(self._sequence), running.number, code.number),
            above.number if above is not None else None,
            caller.f_lineno if above is not None and caller is not None else None,
            way,
            given,
            self._ident(),
        ]
        self._keep(code, running.began)
        if code.is_hot:
            self._keep(code, ["h", next(self._sequence), running.number])

    def reached(self, frame: FrameType, running: _Running, line: int) -> None:
        """A line of the frame is about to be executed."""
        if running.line is not None:
            self._finish(frame, running)
        watched = running.code.lines.get(line, NOTHING)
        reads = look_up(watched.reads, frame.f_locals, frame.f_globals) if watched.reads else {}
        event: Event = ["l", next(self._sequence), running.number, line, reads, None]
        running.line = event
        running.latest[line] = event
        running.code.count += 1
        self._keep(running.code, event)
        if not running.code.count & 0x3FF and self._clock() > self._patience:
            self._lose_patience()

    def _lose_patience(self) -> None:
        """Stop looking at the lines of the code that runs most; the calls and returns of all stay."""
        for _, code in list(self._codes.values()):
            if code is not None and not code.is_imported and code.count > self._hot:
                code.is_hot = True
        for running in list(self._running.values()):
            if running.code.is_hot:
                self._keep(running.code, ["h", next(self._sequence), running.number])
        self._hot //= 4
        self._patience = self._clock() + PATIENCE

    def left(self, frame: FrameType, running: _Running, kind: str, value: object = None) -> None:
        """The frame returns (`r`), yields (`y`) or is unwound by an exception (`u`)."""
        if running.line is not None and kind != "y":  # what a yield gives is stored after it
            self._finish(frame, running)
        event: Event = [
            kind,
            next(self._sequence),
            running.number,
            frame.f_lineno,
            None if kind == "u" else token(value),
        ]
        if kind == "y":
            above = self._running.get(id(frame.f_back))
            event.append(above.number if above is not None else None)
        self._keep(running.code, event)
        if kind != "y":
            self._running.pop(id(frame), None)
        if kind == "u":
            self._unwound.append(running)

    def raised(self, frame: FrameType, running: _Running, exception: type) -> None:
        """An exception is raised in the frame, or arrives in it."""
        line = frame.f_lineno
        watched = running.code.lines.get(line, NOTHING)
        held = self._values(frame, watched)
        self._keep(
            running.code, ["x", next(self._sequence), running.number, line, getattr(exception, "__name__", "?"), held]
        )

    def _values(self, frame: FrameType, watched: Watched) -> dict[str, Token]:
        return look_up(watched.reads + watched.stores, frame.f_locals, frame.f_globals)

    def _finish(self, frame: FrameType, running: _Running) -> None:
        """Add to the last line event what its line has stored."""
        event = running.line
        if event is None:
            return
        watched = running.code.lines.get(event[3], NOTHING)
        if watched.stores:
            # A chain's beginning may only be read: `self` of `self.name = x`.
            event[5] = self._values(frame, watched)
        running.line = None

    def _keep(self, code: _Code, event: Event) -> None:
        (self._imported if code.is_imported else self._events).append(event)

    def _of_stack(self, oldest: int) -> Iterator[Event]:
        """What had to make room of the frames that still run, or that an exception has just ended."""
        stack = {running.number: running for running in (*self._unwound, *self._running.values())}
        for running in stack.values():
            if not running.code.is_imported:
                for event in (running.began, *running.latest.values()):
                    if self._written < _sequence_of(event) < oldest:
                        yield event

    def running(self, frame: FrameType) -> _Running | None:
        """The record of a frame that is being traced."""
        return self._running.get(id(frame))

    def oldest(self) -> int:
        """The number of the oldest event of a function that has not had to make room; 0 when all are there."""
        if len(self._events) == MAX_EVENTS:
            self._oldest = _sequence_of(self._events[0])
        return self._oldest

    def drain(self) -> list[Event]:
        """All events in their order, after the descriptions of the code objects; they are given away."""
        kept = itertools.chain(self._imported, self._events, self._of_stack(self.oldest()))
        events = sorted(kept, key=_sequence_of)
        self._written = next(self._sequence)
        described, self._described = self._described, []
        self._events.clear()
        self._imported.clear()
        return described + events


def _sequence_of(event: Event) -> int:
    return int(event[1])


class _Monitoring:
    """The events of `sys.monitoring` (Python 3.12 and newer)."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._api: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore] # from 3.12 on
        self._tool: int | None = None
        self._getframe = sys._getframe
        self._disable = self._api.DISABLE

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        self._tool = next((number for number in _TOOL_IDS if self._api.get_tool(number) is None), None)
        if self._tool is None:
            return "all tool ids of sys.monitoring are in use"
        self._api.use_tool_id(self._tool, "selfdebug")
        event = self._api.events
        self._local = event.LINE | event.PY_RETURN | event.PY_YIELD
        for kind, callback in (
            (event.PY_START, self._on_start),
            (event.LINE, self._on_line),
            (event.PY_RETURN, self._on_return),
            (event.PY_YIELD, self._on_yield),
            (event.RAISE, self._on_raise),
            (event.PY_UNWIND, self._on_unwind),
        ):
            self._api.register_callback(self._tool, kind, callback)
        self._api.set_events(self._tool, event.PY_START | event.RAISE | event.PY_UNWIND)
        return ""

    def stop(self) -> None:
        """Give the tool id back."""
        if self._tool is not None:
            self._api.set_events(self._tool, 0)
            self._api.free_tool_id(self._tool)
            self._tool = None

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        frame = self._getframe(1)
        known = self._trail.code(code, frame.f_globals)
        if known is None:
            return self._disable
        if self._tool is not None and not self._api.get_local_events(self._tool, code):
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


class _TraceFunction:
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
        if self._trail.running(frame) is None:  # else a generator that goes on
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


class Tracer:
    """A pytest plugin: traces from now on, and writes what was new at each failure."""

    def __init__(self, journal: Journal, root: str) -> None:
        self._journal = journal
        self._trail = Trail(Project(root))
        self._hook = _Monitoring(self._trail) if hasattr(sys, "monitoring") else _TraceFunction(self._trail)
        self._pid = os.getpid()
        self._gap = ""

    def start(self) -> None:
        """Begin to trace."""
        self._gap = self._hook.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """A failing phase ends the part of the trace that explains it."""
        yield
        if call.excinfo is not None and not isinstance(
            call.excinfo.value, (pytest.skip.Exception, pytest.exit.Exception)
        ):
            self._write(str(item.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """A file that could not be collected fails without a test."""
        self._hook.stop()
        self._write(None)

    def _write(self, node_id: str | None) -> None:
        if os.getpid() != self._pid:
            return
        events = self._trail.drain()
        for start in range(0, len(events), CHUNK):
            self._journal.append("trace", events=events[start : start + CHUNK])
        self._journal.append("traced", node=node_id, gap=self._gap, oldest=self._trail.oldest())
