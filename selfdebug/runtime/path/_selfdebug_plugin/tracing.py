"""Traces the project's own code in one run of a failing test, so that the way of a value can be read backwards."""

from __future__ import annotations

import os
import sys
from typing import Any, Generator

import pytest

from .counting import Counting, CountingFunction
from .hooks import Monitoring, TraceFunction
from .journal import Journal
from .plans import Plan
from .tracebacks import Project
from .trail import Trail

CHUNK = 2_000
COUNT = "calls"


class Tracer:
    """A pytest plugin: traces from now on, and writes what was new at each failure.

    `plan` is `calls` for the first of two passes, the path of a file that says what the second is to look at, and any
    other text for one pass over everything.
    """

    def __init__(self, journal: Journal, root: str, plan: str) -> None:
        self._journal = journal
        self._pid = os.getpid()
        self._gap = ""
        project = Project(root)
        has_monitoring = hasattr(sys, "monitoring")
        self._trail = Trail(project, Plan.from_file(plan))
        self._counting: Counting | CountingFunction | None = None
        if plan == COUNT:
            self._counting = Counting(project) if has_monitoring else CountingFunction(project)
        self._hook = self._counting or (Monitoring(self._trail) if has_monitoring else TraceFunction(self._trail))

    def start(self) -> None:
        """Begin to trace."""
        self._gap = self._hook.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """What ran too often for one test has not for the next."""
        self._hook.look_anew()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """A failing phase ends the part of the trace that explains it: before its report calls any `__repr__`."""
        if call.excinfo is not None and not isinstance(
            call.excinfo.value, (pytest.skip.Exception, pytest.exit.Exception)
        ):
            self._write(str(item.nodeid))
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """A file that could not be collected fails without a test."""
        self._hook.stop()
        self._write(None)

    def _write(self, node_id: str | None) -> None:
        if os.getpid() != self._pid:
            return
        if self._counting is not None:
            self._journal.append("called", node=node_id, functions=self._counting.calls.all())
            return
        events = self._trail.drain()
        for start in range(0, len(events), CHUNK):
            self._journal.append("trace", events=events[start : start + CHUNK])
        self._journal.append("traced", node=node_id, gap=self._gap, oldest=self._trail.oldest())
