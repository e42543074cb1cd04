"""What a traced run is told to look at, and the clock that says how far it has come."""

from __future__ import annotations

import functools
import itertools
import json
import os
from types import CodeType
from typing import Callable, Iterator, NamedTuple, Tuple

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


def clock(ticks: int) -> Callable[[], bool]:
    """What is called with each call of a function of the clock, and tells whether few are left before the failure.

    It is asked so often that no code of Python runs for it.
    """
    marks = sorted({ticks - left for left in MARKS if ticks > left})
    answers = itertools.chain.from_iterable(
        itertools.chain(itertools.repeat(False, mark - before - 1), (True,)) for before, mark in zip([0, *marks], marks)
    )
    return functools.partial(next, answers, False)
