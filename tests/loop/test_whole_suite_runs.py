"""What a run of the whole suite can tell beside outcomes: what each test ran, how long, and that going on is no use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

CODE = """
import functools


def logged(function):
    @functools.wraps(function)
    def inside(*words):
        return function(*words)

    return inside


@logged
def one():
    return [n for n in range(3)]


def two():
    for _ in range(50):
        one()
"""
TESTS = """
import pytest
from subject import one, two


@pytest.fixture(scope="module")
def ready():
    two()


def test_none():
    pass


def test_one():
    assert one()


def test_two(ready):
    pass


def test_one_again():
    one()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "subject.py").write_text(CODE.lstrip("\n"))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/pytest.ini").write_text("[pytest]\npythonpath = ..\n")
    (tmp_path / "suite/test_subject.py").write_text(TESTS)
    return tmp_path


def interpreter() -> Interpreter:
    return Interpreter.find(Path(sys.executable))


def test_the_functions_of_each_test_are_told_and_its_seconds(root: Path) -> None:
    run = run_pytest(PytestRequest(interpreter(), root, node_ids=("suite",), calls=True))
    assert run.calls is not None
    assert run.calls.gap == ""
    names = {place: [node.rpartition("::")[2] for node in nodes] for place, nodes in run.calls.tests.items()}
    assert names["subject.py", 12] == ["test_one", "test_two", "test_one_again"]  # by its decorator
    assert names["subject.py", 5] == ["test_one", "test_two", "test_one_again"]
    assert names["subject.py", 17] == ["test_two"]
    assert ("subject.py", 4) not in names  # which ran while the module was imported
    assert {node for nodes in run.calls.tests.values() for node in nodes} == {node for node, _ in run.outcomes}
    assert [node for node, _ in run.durations] == [node for node, _ in run.outcomes]
    assert all(0 <= seconds < 60 for _, seconds in run.durations)


def test_where_somebody_else_holds_the_trace_function_a_gap_is_told(root: Path) -> None:
    env = {"PYTHONPATH": str(root)}
    (root / "sitecustomize.py").write_text(
        "import sys\nsys.settrace(lambda *event: None)\n"
        "if hasattr(sys, 'monitoring'):\n    [sys.monitoring.use_tool_id(n, 'busy') for n in range(6)]\n"
    )
    run = run_pytest(PytestRequest(interpreter(), root, node_ids=("suite",), calls=True, env=env))
    assert run.ended
    assert run.calls is not None
    assert run.calls.gap
    assert run.calls.tests == {}


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "distributed"])
def test_a_test_that_passed_before_ends_the_session_and_one_that_failed_does_not(
    root: Path, arguments: tuple[str, ...]
) -> None:
    broken = "".join(f"\n\ndef test_late_{number}():\n    assert not one()\n" for number in range(60))
    (root / "suite/test_subject.py").write_text(TESTS + broken)
    node = "suite/test_subject.py::test_late_"
    run = run_pytest(
        PytestRequest(
            interpreter(), root, node_ids=("suite",), pytest_args=arguments, passing=(f"{node}2", "suite/gone.py::test")
        )
    )
    assert run.halted_by == f"{node}2"
    assert not run.ended
    assert {f"{node}0", f"{node}1", f"{node}2"} <= set(run.failed)
    assert arguments or len(run.outcomes) == 7  # workers finish what they were given
    whole = run_pytest(
        PytestRequest(interpreter(), root, node_ids=("suite",), pytest_args=arguments, passing=(f"{node}x",))
    )
    assert (whole.halted_by, whole.ended, len(whole.failed)) == (None, True, 60)
