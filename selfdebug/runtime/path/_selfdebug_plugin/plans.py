"""What a traced run is told to look at, and the clock that says how far it has come."""

from __future__ import annotations

import json
import os
from types import CodeType
from typing import Iterator, NamedTuple, Tuple

Function = Tuple[str, str, int]
"""The real path, the name and the first line of a function."""

_NEW_LOCALS = 0x2  # CO_NEWLOCALS
MARKS = (1_000, 100, 10, 1, 0)  # calls before the end at which all code is looked at anew


class Plan(NamedTuple):
    """The second of two passes: the functions to look at, and those whose calls tell how far the run has come.

    The first pass ended in the failure after `ticks` calls of the functions of the `clock`.
    """

    functions: frozenset[Function]
    clock: frozenset[Function]
    ticks: int

    @classmethod
    def from_file(cls, path: str) -> Plan | None:
        """The plan in a file; None where there is no file of that name."""
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as stream:
            plan = json.load(stream)
        functions, clock = (frozenset(_functions(plan[part])) for part in ("functions", "clock"))
        return cls(functions, clock, int(plan["ticks"]))


def _functions(rows: list[list[object]]) -> Iterator[Function]:
    for path, name, line in rows:
        yield str(path), str(name), int(str(line))


def is_function(code: CodeType) -> bool:
    """Whether code is that of a function: modules and class bodies have no new locals."""
    return bool(code.co_flags & _NEW_LOCALS)


def described(code: CodeType) -> Function:
    """A code object, by what another process can know it by."""
    return os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno


class Clock:
    """Counts the calls of some functions and tells when few of them are left before the failure."""

    def __init__(self, ticks: int) -> None:
        self._count = 0
        marks = sorted({ticks - left for left in MARKS if ticks > left})
        self._marks = iter(marks)
        self._next = next(self._marks, 0)

    def tick(self) -> bool:
        """Count a call; return whether a mark is reached."""
        self._count += 1
        if self._count != self._next:
            return False
        self._next = next(self._marks, 0)
        return True
