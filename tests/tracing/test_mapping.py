"""From the records of the stages to keys and sentences, also where a stage found nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from selfdebug.model import FinalStatus, Firing, Outcome, Pin
from selfdebug.trace import mapping
from selfdebug.trace.owner import Owner
from selfdebug.trace.recorder import Recorder, StepWriter
from selfdebug.trace.settings import TraceSettings
from tracing.recorded_runs import KEPT, ROLLED_BACK, TEST, pytest_run, query

TURN = KEPT.attempts[0]
FAILURE = KEPT.failures[0]

CASES: dict[str, tuple[Callable[[StepWriter], None], str]] = {
    "nothing failed": (lambda step: mapping.ingest(step, ()), "Nothing failed, says pytest."),
    "several failures of a log": (
        lambda step: mapping.ingest(step, (FAILURE, replace(FAILURE, causes=(FAILURE,))), "ci.log"),
        "Read from ci.log: 2 failures; the first is ",
    ),
    "a log that is not true": (
        lambda step: mapping.reproduced(step, (), (TEST,)),
        f"The tests were run again: none failed again; 1 did not fail: {TEST}.",
    ),
    "a log that is true": (
        lambda step: mapping.reproduced(step, (FAILURE,)),
        "The tests were run again: 1 failed again.",
    ),
    "no frame inside": (
        lambda step: mapping.selected(step, FAILURE, None),
        "No frame of the traceback lies inside the project.",
    ),
    "no receiver": (
        lambda step: mapping.located(step, replace(TURN.diagnosis.location, receivers=(), function=None)),
        "shop/discount.py:8: none-attribute, no receiver could be named.",
    ),
    "nothing seen": (
        lambda step: mapping.observed(step, (), (), ("a.py:1 is not probed: no",)),
        "Seen: 0 values of 0 expressions, none when it raised.",
    ),
    "no origin": (
        lambda step: mapping.origin(step, (), ("environment",)),
        "Where the value came from could not be followed.",
    ),
    "no candidate": (
        lambda step: mapping.proposed(step, (), [("a", "no"), ("a", "no")]),
        "No candidate was found; not fitting: 1 guard.",
    ),
    "a trial that failed elsewhere": (
        lambda step: mapping.trial(step, replace(TURN.trials[0], next_failure=FAILURE)),
        "or-default on customer (c2) with default 0 was ineffective: the test still fails in the same place.",
    ),
    "all is pinned": (
        lambda step: mapping.pinned(step, [Pin("default", True, "")], [Firing(TEST, 2, 2), Firing("b", 0, 1)], [TEST]),
        "Every part of the patch that was looked at (1) is pinned by a test. The guard acted 2 times in 1 of 2 tests",
    ),
    "a regression": (
        lambda step: mapping.verified(step, pytest_run(1), ["test_b"]),
        "The suite over the files on disk: 1 failed, 1 passed (exit code 1). No longer passing: 1 test, test_b.",
    ),
    "a time-out": (
        lambda step: mapping.verified(step, pytest_run(1, timed_out=True, ended=False)),
        "The suite over the files on disk: It was killed at its time-out after 0.2 s, which proves nothing.",
    ),
    "a run that did not end": (
        lambda step: mapping.verified(step, pytest_run(1, ended=False)),
        "The suite over the files on disk: It ended (exit code 1) before its session did, which proves nothing.",
    ),
    "no tests": (
        lambda step: mapping.verified(step, pytest_run(1, outcomes=(), exit_code=5)),
        "The suite over the files on disk: No test ran (exit code 5).",
    ),
    "kept without a trial": (
        lambda step: mapping.kept(step, TURN.trials[1].patch or pytest.fail("it has one")),
        "condition-prefix on customer (c1) is kept in shop/discount.py (1 line): the condition is false",
    ),
    "a report with warnings": (
        lambda step: mapping.reported(step, replace(ROLLED_BACK, warnings=("w",), final_status=FinalStatus.PARTIAL)),
        ROLLED_BACK.sentence,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_step_tells_its_sentence(tmp_path: Path, name: str) -> None:
    fill, sentence = CASES[name]
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("step") as step:
        fill(step)
    recorder.end("passed")
    assert recorder.warnings == []
    assert query(tmp_path, "trace_node", step="step#0").data["description"].startswith(sentence)


def test_a_trial_in_a_fork_is_a_call_without_a_command(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("try") as step:
        step.tool_call(replace(pytest_run(1, Outcome.PASSED), command=()))
    recorder.end("passed")
    answer = query(tmp_path, "inspect_tool_call", id="pytest-1")
    assert "ran: (in a fork, without a command of its own)" in answer.text()


def test_a_diff_is_what_diff_tools_read() -> None:
    missing = "\\ No newline at end of file\n"
    changed = mapping.diff_of("a.py", b"x\x0c1\ny", b"x\x0c1\nz")
    assert changed == f"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x\x0c1\n-y\n{missing}+z\n{missing}"
