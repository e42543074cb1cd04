"""Ends a session with the first test that fails though it passed before: what follows cannot change what that says.

`--maxfail` would also end it on the tests that are known to fail.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .journal import Journal
from .naming import TestNames


class Halt:
    """A pytest plugin that knows which tests passed before."""

    def __init__(self, journal: Journal, root: str, passing: frozenset[str]) -> None:
        self._journal = journal
        self._names = TestNames(root)
        self._passing = passing
        self._failed: set[str] = set()
        self._pid = os.getpid()
        self._session: Any = None

    @classmethod
    def from_file(cls, journal: Journal, root: str, path: str) -> Halt:
        """For the tests that a JSON file names, relative to `root`."""
        with open(path, encoding="utf-8") as stream:
            return cls(journal, root, frozenset(json.load(stream)))

    def pytest_sessionstart(self, session: Any) -> None:
        """The session that may have to end; a worker's is ended by the controller."""
        if not hasattr(session.config, "workerinput"):
            self._session = session
            self._names.of_session(session.config)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A failed phase; one that is run again tells another outcome."""
        if report.outcome == "failed":
            self._failed.add(str(report.nodeid))

    def pytest_runtest_logfinish(self, nodeid: Any) -> None:
        """The test is over, and so is the session, if it should have passed."""
        node_id = str(nodeid)
        if self._session is None or os.getpid() != self._pid or node_id not in self._failed:
            return
        name = self._names.of(node_id)
        if name in self._passing:
            self._journal.append("halted", node=node_id)
            self._end(name + " passed before")

    def _end(self, reason: str) -> None:
        self._session.shouldstop = reason
        controller = self._session.config.pluginmanager.getplugin("dsession")  # xdist looks at its own
        if controller is not None:
            controller.shouldstop = reason
