"""What watches a session under `pytest --selfdebug`: keeps each failure, and tells of them after the summary."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from selfdebug.config import find_root
from selfdebug.model import Failure, When
from selfdebug.pytest_process.child import run_attached
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import failure_of
from selfdebug.repair.grouping import Group, groups, node_ids
from selfdebug.repair.hints import hint
from selfdebug.runtime import PLUGIN_FOLDER, PLUGIN_NAME
from selfdebug.terminal import plain

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_MAX_GROUPS = 20
"""So many causes are told; a session that fails at more places has another problem."""


class Watcher:
    """Attaches what it sees of a failing phase to its report, so that it crosses from a worker of xdist as well."""

    def __init__(self, config: pytest.Config, repairs: bool) -> None:
        self._config = config
        self._repairs = repairs
        self._start = config.invocation_params.dir
        self._project = ProjectFiles(find_root(self._start))
        self._failures: list[Failure] = []
        if str(PLUGIN_FOLDER) not in sys.path:
            sys.path.append(str(PLUGIN_FOLDER))
        self._tracebacks = importlib.import_module(f"{PLUGIN_NAME}.tracebacks")
        self._seen = self._tracebacks.Project(str(self._project.root))

    # ------------------------------------------------------------ where the tests run

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, None]:
        """A failing phase, while its exception is alive."""
        del item
        outcome = yield
        if outcome.excinfo is None:
            self._attach(outcome.get_result(), call)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        """A file that cannot be collected."""
        del collector
        outcome = yield
        if outcome.excinfo is None:
            report = outcome.get_result()
            self._attach(report, getattr(report, "call", None))

    def _attach(self, report: Any, call: Any) -> None:
        if report.outcome == "failed" and call is not None and call.excinfo is not None:
            told = self._tracebacks.describe_failure(self._tracebacks.unwrapped(call.excinfo.value), self._seen)
            report.selfdebug_failure = json.dumps(told)

    # ------------------------------------------------------------ where the session is told of

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase that ended, here or in a worker."""
        self._keep(report, report.when or "call")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A collection that ended."""
        self._keep(report, "collect")

    def _keep(self, report: Any, when: str) -> None:
        told = getattr(report, "selfdebug_failure", None)
        if told is not None:
            node_id = self._project.node_id(str(report.nodeid), str(self._config.rootpath))
            self._failures.append(failure_of(json.loads(told), node_id, When(when), self._project))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """One line and one command for each cause."""
        causes = groups(self._failures)
        if not causes:
            return
        terminalreporter.section("selfdebug", "-")
        for cause in causes[:_MAX_GROUPS]:
            for line in self._told(cause):
                terminalreporter.write_line(plain(line))
        if len(causes) > _MAX_GROUPS:
            rest = len(causes) - _MAX_GROUPS
            terminalreporter.write_line(f"{rest} more causes are not shown; all of them: {self._command(())}")
        if self._repairs:
            self._config.add_cleanup(self._repair)

    def _told(self, cause: Group) -> tuple[str, ...]:
        others = f" and {len(cause) - 1} more" if len(cause) > 1 else ""
        found = hint(cause[0], self._project.root)
        named = f"{cause[0].node_id}{others}"
        if not found.is_repairable:
            return (named, f"  {found.sentence}")
        return (named, f"  {found.sentence}", f"  {self._command(node_ids(cause))}")

    def _command(self, named: tuple[str, ...]) -> str:
        return shlex.join(["selfdebug", *self._arguments(named)])

    def _arguments(self, named: tuple[str, ...]) -> list[str]:
        root = [] if self._project.root == find_root(Path.cwd()) else ["--root", str(self._project.root)]
        return ["run", *root, *(word for node_id in named for word in ("--module", node_id))]

    def _repair(self) -> None:
        """Repair what failed, in a process of its own: the tests have left their marks on this one."""
        named = tuple(node_id for cause in groups(self._failures) for node_id in node_ids(cause))
        command = [sys.executable, "-P", "-m", "selfdebug", *self._arguments(named), "--python", sys.executable]
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            sys.stdout.flush()
            run_attached(command, self._start, _environment())


def _environment() -> dict[str, str]:
    """The environment without what pytest says of the session that is just over."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
