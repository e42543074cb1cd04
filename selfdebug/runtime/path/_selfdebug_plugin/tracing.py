"""Traces the project's own code in one run of a failing test, so that the way of a value can be read backwards."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Generator

import pytest

from .hooks import Monitoring, Returns, TraceFunction
from .journal import Journal
from .tracebacks import Project
from .trail import Function, Trail

CHUNK = 2_000


class Tracer:
    """A pytest plugin: traces from now on, and writes what was new at each failure.

    `plan` is `returns` for the first of two passes, the path of a file that lists the functions to be looked at for
    the second, and any other text for one pass over everything.
    """

    def __init__(self, journal: Journal, root: str, plan: str) -> None:
        self._journal = journal
        self._pid = os.getpid()
        self._gap = ""
        project = Project(root)
        has_monitoring = hasattr(sys, "monitoring")
        self._trail = Trail(project, _suspects(plan))
        self._returns = Returns(project) if has_monitoring and plan == "returns" else None
        hook = Monitoring(self._trail) if has_monitoring else TraceFunction(self._trail)
        self._hook = self._returns or hook

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
        if self._returns is not None:
            self._journal.append("returned-none", functions=self._returns.functions())
            return
        events = self._trail.drain()
        for start in range(0, len(events), CHUNK):
            self._journal.append("trace", events=events[start : start + CHUNK])
        self._journal.append("traced", node=node_id, gap=self._gap, oldest=self._trail.oldest())


def _suspects(plan: str) -> frozenset[Function] | None:
    """The functions in the file that a plan names."""
    if not os.path.isfile(plan):
        return None
    with open(plan, encoding="utf-8") as stream:
        return frozenset((str(path), str(name), int(line)) for path, name, line in json.load(stream))
