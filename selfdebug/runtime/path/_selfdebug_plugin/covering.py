"""Which functions of the project each test runs.

With `sys.monitoring` (Python 3.12) a function costs next to nothing once it is known. Before, every call costs a
little, and a tool such as coverage may have taken the one trace function that there is.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Generator

import pytest

from .journal import Journal
from .tracebacks import Project

_TOOLS = (4, 3, 5, 0)  # numbers of `sys.monitoring`, those that are reserved for nobody first
_OFTEN = 20  # calls in one test after which a function is not watched until the next

Note = Callable[[CodeType], int]
"""Takes a function that begins to run; tells how often it did in this test, 0 where it is not the project's."""


class CallsByTest:
    """A pytest plugin that writes, for each test, the functions of the project that ran during it."""

    def __init__(self, journal: Journal, root: str) -> None:
        self._journal = journal
        self._project = Project(root)
        self._counts: dict[int, int] = {}  # by identity, since hashing code by value is slow
        self._numbers: dict[int, int] = {}  # of a code that has been described; 0 for those of other people
        self._kept: list[CodeType] = []  # so that no identity comes twice
        self._pid = os.getpid()
        self._watch: Any = _Monitored(self.note) if sys.version_info >= (3, 12) else _Traced(self.note)

    def start(self) -> None:
        """Begin to watch; that it cannot be done is written."""
        gap = self._watch.start()
        if gap:
            self._journal.append("calls-gap", reason=gap)

    def note(self, code: CodeType) -> int:
        """Count a call."""
        key = id(code)
        number = self._numbers.get(key)
        if number is None:
            number = self._describe(code)
        if not number:
            return 0
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count

    def _describe(self, code: CodeType) -> int:
        if code.co_filename.startswith("<"):  # made at run time, perhaps again and again
            return 0
        self._kept.append(code)
        number = len(self._kept) if code.co_filename in self._project else 0
        self._numbers[id(code)] = number
        if number:
            path = os.path.realpath(code.co_filename)
            self._journal.hold("code", id=number, path=path, line=code.co_firstlineno)
        return number

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """What is called from here to the end belongs to the test."""
        self._counts = {}
        self._watch.begin()
        yield
        if os.getpid() == self._pid:
            codes = sorted({self._numbers[key] for key in list(self._counts)})
            self._journal.hold("calls", node=str(item.nodeid), codes=codes)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Nobody asks any more."""
        self._watch.stop()


class _Traced:
    """Sees calls by `sys.settrace`."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._is_on = False

    def start(self) -> str:
        """Begin; the answer says why that cannot be done, if so."""
        if sys.gettrace() is not None:
            return "a trace function is set already (a debugger or a coverage tool)"
        self._is_on = True
        threading.settrace(self._on_event)
        sys.settrace(self._on_event)
        return ""

    def begin(self) -> None:
        """A test begins."""

    def stop(self) -> None:
        """Take the trace function back, where it is still ours."""
        self._is_on = False
        if sys.gettrace() == self._on_event:
            sys.settrace(None)
        if getattr(threading, "_trace_hook", None) == self._on_event:
            threading.settrace(None)

    def _on_event(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and self._is_on:
            self._note(frame.f_code)


class _Monitored:
    """Sees calls by `sys.monitoring`: one tool meets each function once, the other watches those of the project."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._api: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore] # from 3.12 on
        self._tools: list[int] = []
        self._resting: list[CodeType] = []
        self._disable = self._api.DISABLE

    def start(self) -> str:
        """Begin; the answer says why that cannot be done, if so."""
        free = [number for number in _TOOLS if self._api.get_tool(number) is None]
        if len(free) < 2:
            return "all tool ids of sys.monitoring are in use"
        self._tools = free[:2]
        self._start = self._api.events.PY_START
        for number, callback in zip(self._tools, (self._meet, self._watch)):
            self._api.use_tool_id(number, "selfdebug-calls")
            self._api.register_callback(number, self._start, callback)
        self._api.set_events(self._tools[0], self._start)
        return ""

    def begin(self) -> None:
        """A test begins: what ran too often in the one before is watched again."""
        while self._resting:
            self._api.set_local_events(self._tools[1], self._resting.pop(), self._start)

    def stop(self) -> None:
        """Give the tools back."""
        while self._tools:
            number = self._tools.pop()
            self._api.set_events(number, 0)
            self._api.register_callback(number, self._start, None)
            self._api.free_tool_id(number)

    def _meet(self, code: CodeType, _offset: int) -> Any:
        if self._note(code) and len(self._tools) == 2:
            self._api.set_local_events(self._tools[1], code, self._start)
        return self._disable

    def _watch(self, code: CodeType, _offset: int) -> None:
        if self._note(code) >= _OFTEN and len(self._tools) == 2:
            self._api.set_local_events(self._tools[1], code, 0)
            self._resting.append(code)
