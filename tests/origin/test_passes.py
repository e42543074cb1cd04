"""The two passes of a traced run, and its manners towards coverage and debuggers in the same process."""

from __future__ import annotations

from pathlib import Path

import pytest

from origin.traced_programs import chains, has_monitoring, interpreter, short, source, traced, write
from selfdebug.model import Called, Function, Pass, Suspects
from selfdebug.pytest_process import PytestRequest, run_pytest
from selfdebug.stages.origin import suspects

APP = """
import functools

class Register:
    def __init__(self):
        self.rows = {}
        self.owner = None

    def find(self, key):
        for number in range(100):
            step(number)
        return self.rows.get(key)

def step(number):
    return number + 1

def nothing():
    pass

@functools.lru_cache
def name_of(key):
    nothing()
    return REGISTER.find(key)

REGISTER = Register()

def main():
    found = name_of("x")
    return found.upper()
"""
TEST = """
import app

def test_it():
    app.main()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project."""
    folder = tmp_path_factory.mktemp("project")
    write(folder, "app.py", APP)
    write(folder, "test_app.py", TEST)
    return folder


def test_the_first_pass_counts_what_is_called_and_says_what_returned_none(root: Path) -> None:
    run = run_pytest(PytestRequest(interpreter(), root, trace=Pass.CALLS))
    calls = {each.function.name: each.calls for each in run.called if each.calls}
    assert calls == {"__init__": 1, "find": 1, "step": 100, "nothing": 1, "name_of": 1, "main": 1, "test_it": 1}
    if has_monitoring(run):
        names = {each.function.name for each in run.called if each.returned_none and each.function.file == "app.py"}
        assert names == {"__init__", "find", "nothing", "name_of", "<module>", "Register"}
    assert run.traces == ()
    assert run.failed == ("test_app.py::test_it",)


def test_suspects_are_what_can_have_to_do_with_the_failure(root: Path) -> None:
    (failure,) = traced(root).failures
    ran = [Function("app.py", name, line) for name, line in (("find", 8), ("nothing", 16), ("name_of", 19))]
    called = [Called(function, 1) for function in ran] + [Called(Function("app.py", "other", 90), 500_000)]
    found = suspects(failure, called, lambda file: source(root, file))
    assert {each.name for each in found.functions} == {"test_it", "main", "name_of", "nothing", "find"}
    assert {each.name for each in found.clock} == {"find", "nothing", "name_of"}
    assert found.ticks == 3


def test_the_second_pass_looks_at_the_suspects_only(root: Path) -> None:
    (failure,) = traced(root).failures
    called = [Called(Function("app.py", name, line), 1) for name, line in (("find", 8), ("name_of", 19))]
    run = run_pytest(
        PytestRequest(interpreter(), root, trace=suspects(failure, called, lambda file: source(root, file)))
    )
    trace = run.trace_of("test_app.py::test_it")
    assert trace is not None
    assert trace.is_narrow
    assert "step" not in {frame.function for frame in trace.frames}
    (links,) = chains(root, run).values()
    assert short(links) == ["app:27 assignment", "app:22 return", "app:11 return", "app:11 missing-key"]


LONG = """
class Store:
    def __init__(self):
        self.names = {}

    def find(self, key):
        if key == 5_999:
            return None
        return self.names.get(key, key)

def prepared(number):
    total = 0
    for part in range(2):
        total += part
    return number + total

def main():
    store = Store()
    limit = None
    for number in range(6_000):
        value = prepared(number)
        found = store.find(number)
        if found is None:
            limit = found
    return limit.upper()
"""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose test goes a long way before it fails."""
    folder = tmp_path_factory.mktemp("long")
    write(folder, "app.py", LONG)
    write(folder, "test_app.py", TEST)
    return folder


@pytest.fixture(scope="module")
def plan(long: Path) -> Suspects:
    """What the first pass makes suspicious there."""
    first = run_pytest(PytestRequest(interpreter(), long, trace=Pass.CALLS))
    return suspects(first.failures[0], first.called, lambda file: source(long, file))


def test_what_runs_often_is_looked_at_in_the_beginning_and_near_the_end(long: Path, plan: Suspects) -> None:
    run = run_pytest(PytestRequest(interpreter(), long, trace=plan))
    trace = run.trace_of("test_app.py::test_it")
    assert trace is not None
    assert trace.is_cut
    assert sum(len(frame.steps) for frame in trace.frames) < 12_000
    (links,) = chains(long, run).values()
    assert short(links) == ["app:23 assignment", "app:21 assignment", "app:7 explicit-none"]


def test_a_chain_says_where_it_was_not_looked_at(long: Path, plan: Suspects) -> None:
    run = run_pytest(PytestRequest(interpreter(), long, trace=Suspects(plan.functions)))
    (links,) = chains(long, run).values()
    assert short(links) == ["app:24 unknown?"]
    assert "main() ran too often for all its lines to be recorded" in links[0].sentence


@pytest.mark.parametrize("plan", [Pass.EVERYTHING, Pass.CALLS])
def test_the_ids_of_other_tools_are_left_alone(tmp_path: Path, plan: Pass) -> None:
    write(
        tmp_path,
        "test_app.py",
        """
        import sys

        SEEN = []

        def test_it():
            if hasattr(sys, "monitoring"):
                mine = [number for number in range(6) if sys.monitoring.get_tool(number) == "mine"]
                assert mine == [1, 2, 3], mine
                sys.monitoring.set_events(3, 0)
            assert None
        """,
    )
    write(
        tmp_path,
        "early.py",
        """
        import sys

        if hasattr(sys, "monitoring"):
            for number in (1, 2, 3):
                sys.monitoring.use_tool_id(number, "mine")
                sys.monitoring.register_callback(number, sys.monitoring.events.LINE, lambda code, line: None)
            sys.monitoring.set_events(3, sys.monitoring.events.LINE)
        """,
    )
    run = run_pytest(PytestRequest(interpreter(), tmp_path, trace=plan, pytest_args=("-p", "early")))
    assert run.failed == ("test_app.py::test_it",)
    (failure,) = run.failures
    assert "mine" not in failure.exception.message
    assert failure.exception.message.startswith("assert None")


@pytest.mark.usefixtures("with_each_plugin")
def test_coverage_in_the_same_process_does_not_keep_the_trace_from_the_chain(tmp_path: Path) -> None:
    write(tmp_path, "app.py", "def main():\n    name = {}.get('name')\n    return name.upper()\n")
    write(tmp_path, "test_app.py", TEST)
    write(tmp_path, "pytest.ini", "[pytest]\naddopts = --cov=app --cov-report=\n")
    run = run_pytest(PytestRequest(interpreter(), tmp_path, trace=Pass.EVERYTHING))
    (links,) = chains(tmp_path, run).values()
    assert short(links) == ["app:2 assignment", "app:2 missing-key"]
    assert not (tmp_path / ".coverage").exists()


def test_a_debugger_that_a_test_sets_stays_set(tmp_path: Path) -> None:
    write(tmp_path, "app.py", "def main():\n    name = {}.get('name')\n    return name.upper()\n")
    write(
        tmp_path,
        "test_app.py",
        """
        import bdb, sys
        import app

        class Debugger(bdb.Bdb):
            def user_line(self, frame):
                self.set_continue()

        def test_debugged():
            debugger = Debugger()
            debugger.reset()
            sys.settrace(debugger.trace_dispatch)
            try:
                assert 1 + 1 == 2
                assert sys.gettrace() == debugger.trace_dispatch
            finally:
                sys.settrace(None)

        def test_it():
            app.main()
        """,
    )
    run = run_pytest(PytestRequest(interpreter(), tmp_path, trace=Pass.EVERYTHING))
    assert "test_app.py::test_debugged" in run.passed
    trace = run.trace_of("test_app.py::test_it")
    assert trace is not None
    if has_monitoring(run):
        (links,) = chains(tmp_path, run).values()
        assert short(links) == ["app:2 assignment", "app:2 missing-key"]
