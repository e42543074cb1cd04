"""A trial is over with its first failing test; the tests without an edit run to their end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from selfdebug.model import Outcome
from selfdebug.pytest_process import Interpreter, PytestRequest, WarmServer

TESTS = """\
import pytest
import subject

@pytest.fixture(scope="module")
def shared():
    yield

@pytest.mark.parametrize("user", [None, 1, 2])
def test_call(shared, user):
    assert subject.call(user) == "nobody"
"""


@pytest.mark.parametrize(("after", "outcomes"), [("user.title", [Outcome.FAILED]), ("'nobody'", [Outcome.PASSED] * 3)])
def test_a_trial_runs_tests_up_to_the_first_that_fails(tmp_path: Path, after: str, outcomes: list[Outcome]) -> None:
    before = "def call(user):\n    return user.name\n"
    (tmp_path / "subject.py").write_text(before)
    (tmp_path / "test_subject.py").write_text(TESTS)
    with WarmServer(PytestRequest(Interpreter.find(sys.executable), tmp_path, node_ids=("test_subject.py",))) as server:
        run = server.run({"subject.py": before.replace("user.name", after).encode()}, 60)
        control = server.control
    assert run is not None
    assert [outcome for _, outcome in run.outcomes] == outcomes
    assert control is not None
    assert len(control.outcomes) == 3
