"""The events of a traced run: kept in memory, the newest of each kind, and described when a test has failed.

The program's objects are neither kept alive nor asked anything.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from types import CodeType, FrameType
from typing import Any, Callable, Iterator, List

from .peeking import Token, look_up, token
from .plans import Plan, clock, described, is_function
from .tracebacks import Project
from .watching import NOTHING, Lines, Watched, watched_lines

Event = List[Any]

MAX_EVENTS = 120_000  # of functions; the newest stay
MAX_IMPORTED = 20_000  # of modules and class bodies, which run once
MAX_WAY = 60  # frames outside the project between a function and its caller in it
MAX_STACK = 200  # frames that an exception has just ended
MAX_LINES = 10_000  # of one code object, until it is looked at anew
MAX_LINES_OF_PLAN = 1_000  # where the clock tells when that is
MANY = 200  # calls: what was called more often is then not asked for its calls either


class Running:
    """A frame that is being executed: its number and the line event whose stores are still to be seen.

    Of the turns of a comprehension only the first and the last are of account; the last so far are `held`, by line.
    """

    __slots__ = ("began", "code", "held", "latest", "line", "number")

    def __init__(self, number: int, code: Code) -> None:
        self.number = number
        self.code = code
        self.began: Event = []
        self.latest: dict[int, Event] = {}  # the last event of each line, for when the ring is full
        self.held: dict[int, Event | None] = {}
        self.line: Event | None = None


class Code:
    """A code object of the project, by number, with what its file's lines are to be watched for.

    While it `is_hot` its lines are not looked at, and while it `is_silent` its calls are not either. It `ticks` when
    its calls are counted by the clock.
    """

    __slots__ = ("calls", "code", "count", "is_armed", "is_hot", "is_imported", "is_silent", "lines", "number", "ticks")

    def __init__(self, number: int, code: CodeType, lines: Lines) -> None:
        self.number = number
        self.code = code
        self.lines = lines
        self.is_imported = not is_function(code)
        self.calls = 0
        self.count = 0  # of lines since it was last looked at anew
        self.is_armed = False  # its own events are switched on
        self.is_hot = False
        self.is_silent = False
        self.ticks = False


class Trail:
    """The events of one process, and how they are recorded; with a `plan`, of what that names.

    `cool` is called with code whose lines are not wanted any more for a while. `ticks` is to be called with each call
    of a function of the clock; it returns whether all code is to be looked at anew.
    """

    def __init__(self, project: Project, plan: Plan | None = None) -> None:
        self.cool: Callable[[Code], None] = _keep_on
        self._project = project
        self._plan = plan
        self.ticks = clock(plan.ticks if plan is not None else 0)
        # By identity: code objects of two files with the same text are equal.
        self.codes: dict[int, tuple[CodeType, Code | None]] = {}
        self._files: dict[str, Lines] = {}
        self._running: dict[int, Running] = {}
        self._numbers = itertools.count(1)
        self._sequence = itertools.count(1)
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._imported: deque[Event] = deque(maxlen=MAX_IMPORTED)
        self._described: list[Event] = []
        self._unwound: deque[Running] = deque(maxlen=MAX_STACK)
        self._written = 0
        self._oldest = 0
        self._limit = MAX_LINES if plan is None else MAX_LINES_OF_PLAN
        self._lock = threading.Lock()
        self._ident = threading.get_ident

    def code(self, code: CodeType, module_globals: dict[str, Any]) -> Code | None:
        """What is known of a code object; None for one that is of no account."""
        known = self.codes.get(id(code))
        if known is None:
            with self._lock:
                known = self.codes[id(code)] = code, self._new_code(code, module_globals)
        return known[1]

    def _new_code(self, code: CodeType, module_globals: dict[str, Any]) -> Code | None:
        path = code.co_filename
        if path not in self._project:
            return None
        found = Code(len(self.codes), code, {})
        if self._plan is not None and not found.is_imported:
            function = described(code)
            found.ticks = function in self._plan.clock
            if function not in self._plan.functions:
                found.is_silent = True
                return found if found.ticks else None
        if path not in self._files:
            self._files[path] = watched_lines(path, module_globals)
        found.lines = self._files[path]
        qualified = getattr(code, "co_qualname", code.co_name)
        self._described.append(
            ["d", found.number, os.path.abspath(path), code.co_name, qualified, code.co_firstlineno, code.co_flags]
        )
        return found

    # ------------------------------------------------------------ what happens

    def called(self, frame: FrameType, code: Code) -> None:
        """A frame of the project begins."""
        names = frame.f_code.co_varnames
        count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
        count += bool(frame.f_code.co_flags & 0x4) + bool(frame.f_code.co_flags & 0x8)
        values = frame.f_locals
        self._begin(frame, code, {name: token(values[name], name) for name in names[:count] if name in values})
        code.calls += 1
        if code.is_hot and code.calls > MANY:
            self._leave_alone(code)
        elif code.is_hot:
            self._lose(self._running[id(frame)])

    def _begin(self, frame: FrameType, code: Code, given: dict[str, Token]) -> None:
        running = Running(next(self._numbers), code)
        self._running[id(frame)] = running
        way, caller = self._caller(frame)
        above = self._running[id(caller)] if caller is not None else None
        if above is not None:
            self._release(above)
        running.began = [
            *("c", next(self._sequence), running.number, code.number),
            above.number if above is not None else None,
            caller.f_lineno if caller is not None else None,
            way,
            given,
            self._ident(),
        ]
        self._keep(code, running.began)

    def _caller(self, frame: FrameType) -> tuple[int, FrameType | None]:
        """The nearest frame above that is looked at, and how many are between: none behind one that is left alone."""
        way, caller = 0, frame.f_back
        while caller is not None and way < MAX_WAY:
            if self.running(caller) is not None:
                return way, caller
            if caller.f_code.co_filename in self._project:
                return way, None
            caller, way = caller.f_back, way + 1
        return way, None

    def reached(self, frame: FrameType, running: Running, line: int) -> None:
        """A line of the frame is about to be executed."""
        if running.line is not None:
            self._finish(frame, running)
        code = running.code
        watched = code.lines.get(line, NOTHING)
        reads = look_up(watched.reads, frame.f_locals, frame.f_globals) if watched.reads else {}
        event: Event = ["l", next(self._sequence), running.number, line, reads, None]
        running.line = event
        running.latest[line] = event
        if watched.repeats and line in running.held:
            running.held[line] = event
        else:
            if not watched.repeats:
                self._release(running)
            else:
                running.held[line] = None
            self._keep(code, event)
        code.count += 1
        if code.count > self._limit and not code.is_hot:
            self._leave_alone(code)

    def _release(self, running: Running) -> None:
        """Keep the turns that were held: something else comes after them."""
        for event in running.held.values():
            if event is not None:
                self._keep(running.code, event)
        running.held.clear()

    def _leave_alone(self, code: Code) -> None:
        code.is_hot = True
        code.is_silent = code.calls > MANY
        for place, running in list(self._running.items()):
            if running.code is code:
                self._lose(running)
                if code.is_silent:
                    del self._running[place]
        self.cool(code)

    def _lose(self, running: Running) -> None:
        """Note that the next lines of a frame are not seen."""
        self._release(running)
        running.line = None
        running.latest[0] = ["g", next(self._sequence), running.number]
        self._keep(running.code, running.latest[0])

    def revive(self, frame: FrameType | None) -> list[Code]:
        """Look at all code anew, also in the frames from `frame` on upwards; return what was left alone."""
        revived = []
        for _, code in list(self.codes.values()):
            if code is None or not code.lines:
                continue
            code.count = code.calls = 0
            if code.is_hot:
                code.is_hot = code.is_silent = False
                revived.append(code)
        self._adopt(frame)
        return revived

    def _adopt(self, frame: FrameType | None) -> None:
        """Take up the frames that began while their code was left alone, the outermost first."""
        unseen: list[tuple[FrameType, Code]] = []
        while frame is not None:
            _, code = self.codes.get(id(frame.f_code), (None, None))
            if code is not None and not code.is_silent and self.running(frame) is None:
                unseen.append((frame, code))
            frame = frame.f_back
        for each, code in reversed(unseen):
            self._begin(each, code, {})
            self._lose(self._running[id(each)])

    def left(self, frame: FrameType, running: Running, kind: str, value: object = None) -> None:
        """The frame returns (`r`), yields (`y`) or is unwound by an exception (`u`)."""
        if running.line is not None and kind != "y":  # what a yield gives is stored after it
            self._finish(frame, running)
        self._release(running)
        event: Event = [
            kind,
            next(self._sequence),
            running.number,
            frame.f_lineno,
            None if kind == "u" else token(value),
        ]
        if kind == "y":
            above = self.running(frame.f_back) if frame.f_back is not None else None
            event.append(above.number if above is not None else None)
        self._keep(running.code, event)
        if kind != "y":
            self._running.pop(id(frame), None)
        if kind == "u":
            self._unwound.append(running)

    def raised(self, frame: FrameType, running: Running, exception: type) -> None:
        """An exception is raised in the frame, or arrives in it."""
        self._release(running)
        line = frame.f_lineno
        watched = running.code.lines.get(line, NOTHING)
        held = self._values(frame, watched)
        self._keep(
            running.code, ["x", next(self._sequence), running.number, line, getattr(exception, "__name__", "?"), held]
        )

    def _values(self, frame: FrameType, watched: Watched) -> dict[str, Token]:
        return look_up(watched.reads + watched.stores, frame.f_locals, frame.f_globals)

    def _finish(self, frame: FrameType, running: Running) -> None:
        """Add to the last line event what its line has stored."""
        event = running.line
        if event is None:
            return
        watched = running.code.lines.get(event[3], NOTHING)
        if watched.stores:
            # A chain's beginning may only be read: `self` of `self.name = x`.
            event[5] = self._values(frame, watched)
        running.line = None

    def _keep(self, code: Code, event: Event) -> None:
        (self._imported if code.is_imported else self._events).append(event)

    def _of_stack(self, oldest: int) -> Iterator[Event]:
        """What had to make room of the frames that still run, or that an exception has just ended."""
        stack = {running.number: running for running in (*self._unwound, *self._running.values())}
        for running in stack.values():
            if not running.code.is_imported:
                for event in (running.began, *running.latest.values()):
                    if self._written < _sequence_of(event) < oldest:
                        yield event

    def running(self, frame: FrameType) -> Running | None:
        """The record of a frame that is being traced."""
        found = self._running.get(id(frame))
        # Of a generator that was dropped, another frame may have the place in memory by now.
        return found if found is not None and found.code.code is frame.f_code else None

    def oldest(self) -> int:
        """The number of the oldest event of a function that has not had to make room; 0 when all are there."""
        if len(self._events) == MAX_EVENTS:
            self._oldest = _sequence_of(self._events[0])
        return self._oldest

    def drain(self) -> list[Event]:
        """All events in their order, after the descriptions of the code objects; they are given away."""
        for running in list(self._running.values()):
            self._release(running)
        kept = itertools.chain(self._imported, self._events, self._of_stack(self.oldest()))
        events = sorted({_sequence_of(event): event for event in kept}.values(), key=_sequence_of)
        self._written = next(self._sequence)
        described, self._described = self._described, []
        self._events.clear()
        self._imported.clear()
        return described + events


def _sequence_of(event: Event) -> int:
    return int(event[1])


def _keep_on(_code: Code) -> None:
    """What a way to trace does that cannot switch events off."""
