"""The pytest hooks: what was collected, how every test ended, and each failure with everything that is known of it."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any, Generator

import pytest

from .journal import Journal
from .probes import Recorder
from .sources import MemoryFinder
from .tracebacks import Project, describe_failure, unwrapped

MAX_TEXT = 2_000
_PHASES = ("setup", "call", "teardown")
# Reports that projects ask for in their configuration: these runs are not theirs, and must not replace their files
# (or, for coverage limits and the debugger, must not change how the run ends).
_SIDE_EFFECTS = {
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "pastebin": None,
    "json_report": False,
    "usepdb": False,
    "trace": False,
    "stepwise": False,
    "no_cov": True,
    "cov_fail_under": None,
}


class Reporter:
    """Writes to the journal what pytest tells; with xdist, workers tell of failures and the controller of outcomes."""

    def __init__(self, journal: Journal, root: str, recorder: Recorder | None, finder: MemoryFinder | None) -> None:
        self._journal = journal
        self._project = Project(root)
        self._recorder = recorder
        self._finder = finder
        self._pid = os.getpid()
        self._is_worker = False
        self._is_controller = False
        self._phases: dict[str, list[Any]] = {}
        self._seconds: dict[str, float] = {}
        self._leaving: int | None = None
        self._is_stopped = False

    # ------------------------------------------------------------ the session

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Generator[None, Any, None]:
        """Leave out the reports of coverage; tell of a conftest that cannot be imported."""
        if hasattr(early_config.known_args_namespace, "cov_source"):
            early_config.known_args_namespace.cov_source = []
        outcome = yield
        if outcome.excinfo is not None:
            self._failed_to_import(early_config, outcome.excinfo[1])

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        """The handshake."""
        self._is_worker = hasattr(config, "workerinput")
        self._is_controller = not self._is_worker and getattr(config.option, "dist", "no") != "no"
        for option, value in _SIDE_EFFECTS.items():
            if hasattr(config.option, option):
                setattr(config.option, option, value)
        self._greet(config)
        if not self._is_controller:
            _forget_settings()

    def move(self, finder: MemoryFinder | None) -> None:
        """Report for this process, a fork of the one that was reported for before."""
        self._pid = os.getpid()
        self._finder = finder

    def begin_again(self, config: Any, finder: MemoryFinder | None, count: int, probes: bool = False) -> None:
        """Report for a forked child of the session, which is to run `count` tests, with recorders for its `probes`."""
        if probes:
            self._recorder = Recorder(self._journal)
            self._recorder.install()
        self._pid = os.getpid()
        self._finder = finder
        self._phases.clear()
        self._greet(config)
        self._journal.append("collected", count=count)

    def _greet(self, config: Any) -> None:
        self._journal.append(
            "hello",
            pid=self._pid,
            python=platform.python_version(),
            pytest=pytest.__version__,
            rootdir=str(config.rootdir if not hasattr(config, "rootpath") else config.rootpath),
            worker=self._is_worker,
        )

    def pytest_collection_finish(self, session: Any) -> None:
        """How many tests there are to be run."""
        if not self._is_controller:
            self._journal.append("collected", count=len(session.items))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> Generator[None, Any, None]:
        """The last record, without which a run proves nothing."""
        _spare_an_import(session.config.pluginmanager)
        yield
        self.end(session, exitstatus)

    def end(self, session: Any, exitstatus: Any) -> None:
        """Write it, in the process that is reported for."""
        if os.getpid() != self._pid:
            return
        if self._recorder is not None:
            self._recorder.flush()
        for node_id, phases in list(self._phases.items()):
            if any(outcome == "failed" for _, outcome in phases):  # its worker crashed, which no logfinish follows
                self._write_test(node_id)
        status = int(getattr(session, "exitstatus", exitstatus))
        self._journal.append("end", status=status, stopped=self._is_stopped or bool(session.shouldstop))

    def pytest_keyboard_interrupt(self) -> None:
        """A test raised KeyboardInterrupt or called `pytest.exit`, so that the tests after it were not run."""
        self._is_stopped = True

    def pytest_internalerror(self, excinfo: Any) -> None:
        """An error of pytest itself or of a plugin, such as a hook in a conftest."""
        if id(excinfo.value) != self._leaving:
            self._write_failure("", "collect", excinfo.value)

    # ------------------------------------------------------------ collecting

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:
        """A file or folder that could not be collected."""
        self._begin(str(collector.nodeid))
        outcome = yield
        self._begin(None)
        if outcome.excinfo is not None:  # SystemExit, which ends the session
            self._leaving = id(outcome.excinfo[1])
            self._write_failure(str(collector.nodeid), "collect", outcome.excinfo[1])
            return
        report = outcome.get_result()
        if report.outcome == "failed":
            call = getattr(report, "call", None)
            exception = call.excinfo.value if call is not None and call.excinfo is not None else None
            self._write_failure(str(collector.nodeid), "collect", exception, report)

    # ------------------------------------------------------------ running

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Recorded values belong to the running test."""
        self._begin(str(item.nodeid))
        yield
        self._begin(None)

    def pytest_runtest_logstart(self, nodeid: Any) -> None:
        """So that it is known which test was running when the process ended."""
        if not self._is_worker:
            self._journal.append("start", node=str(nodeid))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """A failing phase, with its exception while that is still alive."""
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        if report.outcome == "failed":
            exception = call.excinfo.value if call.excinfo is not None else None
            self._write_failure(str(item.nodeid), report.when, exception, report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """The outcome of a phase, as pytest counts it."""
        node_id = str(report.nodeid)
        outcome = report.outcome
        if outcome == "rerun":
            self._journal.append("rerun", node=node_id)
        if self._is_worker or os.getpid() != self._pid:
            return
        if hasattr(report, "wasxfail"):
            outcome = {"skipped": "xfailed", "passed": "xpassed"}.get(outcome, outcome)
        if report.when not in _PHASES and outcome == "failed":  # a worker crashed: nobody else tells
            self._write_failure(node_id, "call", None, report)
        self._phases.setdefault(node_id, []).append([report.when, outcome])
        self._seconds[node_id] = self._seconds.get(node_id, 0.0) + float(getattr(report, "duration", 0.0))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: Any) -> None:
        """One record a test: half of its phases must never look like a pass."""
        if not self._is_worker and os.getpid() == self._pid:
            self._write_test(str(nodeid))

    # ------------------------------------------------------------ records

    def _begin(self, node_id: str | None) -> None:
        if self._finder is not None:
            self._finder.stay_first()
        if self._recorder is not None:
            self._recorder.begin(node_id)

    def _write_test(self, node_id: str) -> None:
        phases = self._phases.pop(node_id, None)
        seconds = round(self._seconds.pop(node_id, 0.0), 4)
        if phases:
            # Opening the file is what costs most, and the next test's start or the session's end follows at once.
            self._journal.hold("test", node=node_id, phases=phases, seconds=seconds)

    def _write_failure(
        self, node_id: str, when: str | None, exception: BaseException | None, report: Any = None
    ) -> None:
        exception = unwrapped(exception)
        fields: dict[str, Any] = {"node": node_id, "when": when}
        if exception is not None:
            fields.update(describe_failure(exception, self._project))
        else:
            fields["text"] = str(getattr(report, "longreprtext", ""))[-MAX_TEXT:]
        self._journal.append("failure", **fields)

    def _failed_to_import(self, config: Any, exception: BaseException) -> None:
        path = getattr(exception, "path", None)
        if path is None:
            return
        try:
            node_id = os.path.relpath(str(path), str(config.rootpath)).replace(os.sep, "/")
        except ValueError:  # another drive
            node_id = str(path)
        self._write_failure(node_id, "collect", exception)


def _forget_settings() -> None:
    """Give the tests, and the processes that they start, the environment of the user."""
    for name in [name for name in os.environ if name.startswith("SELFDEBUG_") and name != "SELFDEBUG_RUN"]:
        if name != "SELFDEBUG_PYTHONPATH":
            del os.environ[name]
    path = os.environ.pop("SELFDEBUG_PYTHONPATH", None)
    if path:
        os.environ["PYTHONPATH"] = path
    else:
        os.environ.pop("PYTHONPATH", None)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [entry for entry in sys.path if entry != folder]


def _spare_an_import(manager: Any) -> None:
    """Where no test has used hypothesis, its summary would import all of it, which takes longer than many suites."""
    plugin = manager.get_plugin("hypothesispytest")
    if plugin is not None and "hypothesis" not in sys.modules:
        manager.unregister(plugin)
