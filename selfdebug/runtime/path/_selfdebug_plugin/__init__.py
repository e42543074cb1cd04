"""A pytest plugin that reports what a run did to the process that started it, and serves source files from memory.

It is loaded with `-p _selfdebug_plugin` into an environment in which nothing of ours is installed, so it uses the
standard library and pytest only, and runs on Python 3.8. It says nothing and does nothing unless the environment
variables below are set. PYTEST_DONT_REWRITE

SELFDEBUG_RECORDS  the path to which `.<pid>` is added to name the file of JSON lines that each process writes
SELFDEBUG_ROOT     the folder of the project, whose frames are reported with their local variables
SELFDEBUG_SOURCES  a JSON file that maps paths of source files to files whose bytes are to be used in their place
SELFDEBUG_PROBES   any text: provide the recorder functions that probes call
SELFDEBUG_WARM     the descriptor of a socket: collect once, then run the tests for each job that comes there
SELFDEBUG_PRELOADED  the same, but stop before the project's own code and run all of it for each job
SELFDEBUG_TRACE    trace the project's own code up to failures: `returns`, a file of functions, or any other text
SELFDEBUG_CALLS    any text: tell which functions of the project each test runs
SELFDEBUG_PASSING  a JSON file with the tests that passed before: end with the first of them that fails
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .journal import Journal
from .probes import Recorder
from .reporter import Reporter
from .sources import MemoryFinder

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption"]

RECORDS = "SELFDEBUG_RECORDS"
ROOT = "SELFDEBUG_ROOT"
SOURCES = "SELFDEBUG_SOURCES"
PROBES = "SELFDEBUG_PROBES"
TRACE = "SELFDEBUG_TRACE"
CALLS = "SELFDEBUG_CALLS"
PASSING = "SELFDEBUG_PASSING"
WARM = "SELFDEBUG_WARM"
PRELOADED = "SELFDEBUG_PRELOADED"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:  # noqa: ARG001 - a hook
    """Called as soon as pytest has imported this plugin, which is before it imports any file of the project."""
    records = os.environ.get(RECORDS)
    if not records:
        return
    journal, root = Journal(records), os.environ.get(ROOT, os.getcwd())
    finder = recorder = None
    if os.environ.get(SOURCES):
        finder = MemoryFinder.from_index(os.environ[SOURCES], journal)
        finder.stay_first()
    if os.environ.get(PROBES):
        recorder = Recorder(journal)
        recorder.install()
    reporter = Reporter(journal, root, recorder, finder)
    pluginmanager.register(reporter, "selfdebug-reporter")
    _serve_forks(pluginmanager, journal, reporter, finder)
    _watch(pluginmanager, journal, root)


def _serve_forks(
    pluginmanager: pytest.PytestPluginManager, journal: Journal, reporter: Reporter, finder: MemoryFinder | None
) -> None:
    """Make a server of the process, where that is asked for."""
    if os.environ.get(WARM):
        from .warm import WarmSession

        warm = WarmSession(int(os.environ[WARM]), journal, reporter, finder)
        pluginmanager.register(warm, "selfdebug-warm-session")
    if os.environ.get(PRELOADED):
        from .preloading import PreloadedSession

        preloaded = PreloadedSession(int(os.environ[PRELOADED]), journal, reporter, finder)
        pluginmanager.register(preloaded, "selfdebug-preloaded-session")


def _watch(pluginmanager: pytest.PytestPluginManager, journal: Journal, root: str) -> None:
    """Watch what the project's code does, or which tests fail, as far as that is asked for."""
    if os.environ.get(TRACE):
        from .tracing import Tracer

        tracer = Tracer(journal, root, os.environ[TRACE])
        pluginmanager.register(tracer, "selfdebug-tracer")
        tracer.start()
    if os.environ.get(CALLS):
        from .covering import CallsByTest

        calls = CallsByTest(journal, root)
        pluginmanager.register(calls, "selfdebug-calls")
        calls.start()
    if os.environ.get(PASSING):
        from .halting import Halt

        pluginmanager.register(Halt.from_file(journal, root, os.environ[PASSING]), "selfdebug-halt")
