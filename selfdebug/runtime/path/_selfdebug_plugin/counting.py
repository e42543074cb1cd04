"""The first of two passes: how often which functions of the project are called, and which of them return None."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, List

from .hooks import Callbacks, Tool, TraceHook
from .plans import Function, described, is_function
from .tracebacks import Project

Counted = List[Any]
"""A function, how often it was called, and whether it returned None: `[path, name, line, calls, returned_none]`."""

MAX_CALLS = 500_000  # of one function; more are not counted: it is too dear for the clock anyway
_ENOUGH = 3


class Calls:
    """The functions that have been called so far, by the identity of their code."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._codes: dict[int, CodeType] = {}
        self._counts: dict[int, int] = {}
        self._returned_none: set[int] = set()

    def count(self, code: CodeType) -> int:
        """Count a call; return how many there have been, 0 for code that is not a function of the project."""
        place = id(code)
        count = self._counts.get(place)
        if count is None:
            self._codes[place] = code  # so that no other code gets its place
            count = 0 if is_function(code) and code.co_filename in self._project else -1
        if count < 0:
            self._counts[place] = count
            return 0
        self._counts[place] = count + 1
        return count + 1

    def returned_none(self, code: CodeType) -> None:
        """Note that code of the project returned None."""
        self._codes[id(code)] = code
        self._returned_none.add(id(code))

    def all(self) -> list[Counted]:
        """The functions that were called or returned None."""
        found: list[Counted] = []
        for place, code in list(self._codes.items()):
            calls = max(self._counts.get(place, 0), 0)
            if calls or place in self._returned_none:
                function: Function = described(code)
                found.append([*function, calls, place in self._returned_none])
        return found


class Counting:
    """Counts with `sys.monitoring`.

    A return is not looked at any more once it gave something else, or None a few times.
    """

    def __init__(self, project: Project) -> None:
        self.calls = Calls(project)
        self._project = project
        self._tool = Tool()
        self._disable = self._tool.api.DISABLE
        self._nones: dict[tuple[int, int], int] = {}

    def start(self) -> str:
        """Begin; the answer names who is in the way, if anybody."""
        event = self._tool.events
        callbacks: Callbacks = {event.PY_START: self._on_start, event.PY_RETURN: self._on_return}
        return self._tool.take(callbacks, event.PY_START | event.PY_RETURN)

    def stop(self) -> None:
        """Give the tool id back."""
        self._tool.give_back()

    def look_anew(self) -> None:
        """Nothing is left alone."""

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        return None if 0 < self.calls.count(code) < MAX_CALLS else self._disable

    def _on_return(self, code: CodeType, offset: int, value: object) -> Any:
        if value is not None:
            return self._disable
        place = id(code), offset
        count = self._nones.get(place, 0)
        if not count and code.co_filename not in self._project:
            return self._disable
        self.calls.returned_none(code)
        self._nones[place] = count + 1
        return self._disable if count + 1 == _ENOUGH else None


class CountingFunction(TraceHook):
    """Counts with `sys.settrace`, which makes returns too dear to look at."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.calls = Calls(project)

    def look_anew(self) -> None:
        """Nothing is left alone."""

    def on_call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """A frame begins, or a generator goes on."""
        if event == "call" and self.is_on:
            self.calls.count(frame.f_code)
        return None
