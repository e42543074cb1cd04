"""The recorder functions that probes call: they keep what they saw and change nothing of what the program does."""

from __future__ import annotations

import builtins
import itertools
import sys
import threading
from collections import deque
from typing import Any, Dict, TypeVar

from .journal import Journal
from .tracebacks import describe_exception
from .values import local_variables, outline, snapshot

T = TypeVar("T")
Record = Dict[str, Any]

FIRST = 20  # so many of the first and of the last evaluations of an expression are kept for each test
LAST = 40
DETAILED = 500  # after so many in one test no repr is asked for any more
CATCHES = 40


class Recorder:
    """Keeps the evaluations of the running test and writes them when it ends or an exception leaves a probe."""

    def __init__(self, journal: Journal) -> None:
        self.node_id: str | None = None
        self._journal = journal
        self._lock = threading.RLock()
        self._sequence = itertools.count(1)
        self._counts: dict[int, int] = {}
        self._caught: dict[int, int] = {}
        self._last: dict[int, deque[Record]] = {}
        self._first: list[Record] = []
        self._frame = sys._getframe
        self._exception = sys.exc_info

    def install(self) -> None:
        """Put the recorder functions where every module finds them."""
        vars(builtins)["__selfdebug_probe__"] = self.probe
        vars(builtins)["__selfdebug_caught__"] = self.caught

    def begin(self, node_id: str | None) -> None:
        """What is recorded from now on belongs to this test or collector."""
        self.flush()
        with self._lock:
            self.node_id = node_id
            self._counts.clear()
            self._caught.clear()

    def probe(self, number: int, value: T) -> T:
        """Record one evaluation of the expression `number`; its value is given back."""
        with self._lock:
            count = self._counts[number] = self._counts.get(number, 0) + 1
            record: Record = {
                "id": number,
                "node": self.node_id,
                "function": self._frame(1).f_code.co_name,
                "value": snapshot(value) if count <= DETAILED else outline(value),
                "sequence": next(self._sequence),
            }
            if count <= FIRST:
                self._first.append(record)
            else:
                self._last.setdefault(number, deque(maxlen=LAST)).append(record)
        return value

    def caught(self, number: int) -> None:
        """Record the exception that is being handled, and the local variables of the caller."""
        exception = self._exception()[1]
        frame = self._frame(1)
        with self._lock:
            self._caught[number] = self._caught.get(number, 0) + 1
            if exception is None or self._caught[number] > CATCHES:
                return
            sequence = next(self._sequence)
            self.flush()
            self._journal.append(
                "catch",
                id=number,
                node=self.node_id,
                function=frame.f_code.co_name,
                exception=describe_exception(exception),
                locals=local_variables(frame),
                sequence=sequence,
            )

    def flush(self) -> None:
        """Write what was kept."""
        with self._lock:
            kept = self._first + [record for history in self._last.values() for record in history]
            self._first = []
            self._last.clear()
            if kept:
                self._journal.append("hits", hits=sorted(kept, key=_sequence_of))


def _sequence_of(record: Record) -> int:
    return int(record["sequence"])
