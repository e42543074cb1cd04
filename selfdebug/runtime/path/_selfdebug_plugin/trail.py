"""The events of a traced run: kept in memory, the newest of each kind, and described when a test has failed.

The program's objects are neither kept alive nor asked anything.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections import deque
from types import CodeType, FrameType
from typing import Any, Iterator, List, Tuple

from .peeking import Token, look_up, token
from .tracebacks import Project
from .watching import NOTHING, Lines, Watched, watched_lines

Event = List[Any]
Function = Tuple[str, str, int]
"""The real path, the name and the first line of a function."""

MAX_EVENTS = 120_000  # of functions; the newest stay
MAX_IMPORTED = 20_000  # of modules and class bodies, which run once
MAX_WAY = 60  # frames outside the project between a function and its caller in it
MAX_STACK = 200  # frames that an exception has just ended
PATIENCE = 4.0  # seconds of the CPU until the lines of the code that runs most are left alone
HOT = 20_000  # lines
SHORT_PATIENCE = 0.5  # in the second of two passes, which is for tests that take long
WARM = 2_000


def described(code: CodeType) -> Function:
    """A code object, by what another process can know it by."""
    return os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno


class Running:
    """A frame that is being executed: its number and the line event whose stores are still to be seen."""

    __slots__ = ("began", "code", "latest", "line", "number")

    def __init__(self, number: int, code: Code) -> None:
        self.number = number
        self.code = code
        self.began: Event = []
        self.latest: dict[int, Event] = {}  # the last event of each line, for when the ring is full
        self.line: Event | None = None


class Code:
    """A code object of the project, by number, with what its file's lines are to be watched for."""

    __slots__ = ("count", "is_armed", "is_hot", "is_imported", "lines", "number")

    def __init__(self, number: int, lines: Lines, is_imported: bool) -> None:
        self.count = 0
        self.is_armed = False  # its own events are switched on
        self.is_hot = False  # ran so often that its lines are not looked at any more
        self.number = number
        self.lines = lines
        self.is_imported = is_imported


class Trail:
    """The events of one process, and how they are recorded.

    Of functions, only those of `suspects` (path, name, first line) are looked at, where some are given.
    """

    def __init__(self, project: Project, suspects: frozenset[Function] | None = None) -> None:
        self._project = project
        self._suspects = suspects
        # By identity: code objects of two files with the same text are equal.
        self._codes: dict[int, tuple[CodeType, Code | None]] = {}
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
        self.is_narrow = suspects is not None
        self._clock = time.process_time
        self._span = SHORT_PATIENCE if self.is_narrow else PATIENCE
        self._patience = self._clock() + self._span
        self._hot = WARM if self.is_narrow else HOT
        self._lock = threading.Lock()
        self._getframe = sys._getframe
        self._ident = threading.get_ident

    def code(self, code: CodeType, module_globals: dict[str, Any]) -> Code | None:
        """What is known of a code object; None for one that does not belong to the project."""
        known = self._codes.get(id(code))
        if known is None:
            with self._lock:
                known = self._codes[id(code)] = code, self._new_code(code, module_globals)
        return known[1]

    def _new_code(self, code: CodeType, module_globals: dict[str, Any]) -> Code | None:
        path = code.co_filename
        if path not in self._project:
            return None
        is_imported = not code.co_flags & 0x2  # CO_NEWLOCALS is not set for modules and class bodies
        if self._suspects is not None and not is_imported and described(code) not in self._suspects:
            return None
        if path not in self._files:
            self._files[path] = watched_lines(path, module_globals)
        number = len(self._codes)
        qualified = getattr(code, "co_qualname", code.co_name)
        self._described.append(
            ["d", number, os.path.abspath(path), code.co_name, qualified, code.co_firstlineno, code.co_flags]
        )
        return Code(number, self._files[path], is_imported)

    # ------------------------------------------------------------ what happens

    def called(self, frame: FrameType, code: Code) -> None:
        """A frame of the project begins."""
        running = Running(next(self._numbers), code)
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

    def reached(self, frame: FrameType, running: Running, line: int) -> None:
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
        self._patience = self._clock() + self._span

    def left(self, frame: FrameType, running: Running, kind: str, value: object = None) -> None:
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

    def raised(self, frame: FrameType, running: Running, exception: type) -> None:
        """An exception is raised in the frame, or arrives in it."""
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
