"""The checks that a run makes of itself: each finds its contradiction, and says when it had nothing to look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from selfdebug.model import Firing, Outcome, Pin, Tier, Value
from selfdebug.trace import integrity, mapping
from selfdebug.trace.integrity import Checked
from selfdebug.trace.owner import Owner
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.settings import TraceSettings
from tracing.recorded_runs import KEPT, TEST, pytest_run, query

DIAGNOSIS = KEPT.attempts[0].diagnosis
PLAUSIBLE = KEPT.attempts[0].trials[1]
PASSED, FAILED = pytest_run(8, Outcome.PASSED), pytest_run(9)


def probe(**changed: object) -> Checked:
    diagnosis = replace(DIAGNOSIS, **changed)  # type: ignore[arg-type]  # the tests name the fields
    return integrity.probe_agrees(diagnosis.failure, diagnosis.location, diagnosis.observations, diagnosis.caught)


OTHER_VALUE = replace(DIAGNOSIS.observations[0], value=Value("Guest", "<Guest>"))
OTHER_ERROR = replace(DIAGNOSIS.caught[0], exception=replace(DIAGNOSIS.caught[0].exception, type="KeyError"))

CASES = {
    "a guard that acted": (integrity.guard_fired({TEST: 2}, [TEST]), 1, ""),
    "a guard that never acted": (integrity.guard_fired({TEST: 0}, [TEST]), 1, "its guard never acted in it"),
    "a guard that nobody counted": (integrity.guard_fired(None, [TEST]), 0, ""),
    "a confirmed verdict": (integrity.verdict_confirmed(PLAUSIBLE, PASSED, [TEST]), 1, ""),
    "a verdict that a fresh process denies": (
        integrity.verdict_confirmed(replace(PLAUSIBLE, tier=Tier.WARM), FAILED, [TEST]),
        1,
        "was plausible in the warm trial, but in a fresh process",
    ),
    "a fresh run that did not end": (
        integrity.verdict_confirmed(PLAUSIBLE, replace(PASSED, ended=False), [TEST]),
        1,
        "did not end",
    ),
    "a target that did not run": (integrity.verdict_confirmed(PLAUSIBLE, PASSED, ["other"]), 0, ""),
    "a trial that was not plausible": (
        integrity.verdict_confirmed(KEPT.attempts[0].trials[0], PASSED, [TEST]),
        0,
        "",
    ),
    "a test that needs the patch": (integrity.needs_patch([TEST], FAILED), 1, ""),
    "a test that passes without it": (integrity.needs_patch([TEST], PASSED), 1, "passes without the patch as well"),
    "no run without it": (integrity.needs_patch([TEST], None), 0, ""),
    "an unended run without it": (integrity.needs_patch([TEST], replace(FAILED, ended=False)), 0, ""),
    "a pinned default": (integrity.pins([Pin("default", True, "")]), 1, ""),
    "a default that no test pins": (integrity.pins([Pin("default", False, "0 and 1 pass")]), 1, "No test pins default"),
    "no pins": (integrity.pins([]), 0, ""),
    "untouched files": (integrity.files_unchanged(["a.py"], []), 1, ""),
    "a file that somebody changed": (integrity.files_unchanged(["a.py"], ["a.py"]), 1, "changed by someone else"),
    "a probe that agrees": (probe(), 2, ""),
    "a probe that saw another value": (probe(observations=(OTHER_VALUE,)), 2, "was None, the probe saw Guest"),
    "a probe that caught another error": (probe(caught=(OTHER_ERROR,)), 2, "the probe caught KeyError"),
    "a probe that saw nothing": (probe(observations=(), caught=()), 0, ""),
    "a log that is true": (integrity.reproduced([TEST], FAILED), 1, ""),
    "a log whose failure does not come": (integrity.reproduced([TEST], PASSED), 1, "here it is passed"),
    "a log whose tests are not here": (integrity.reproduced(["other"], PASSED), 0, ""),
    "a log that was not run": (integrity.reproduced([TEST], None), 0, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_a_check_finds_its_contradiction_or_says_what_it_looked_at(name: str) -> None:
    checked, looked_at, said = CASES[name]
    assert checked.looked_at == looked_at
    assert len(checked.found) == (1 if said else 0)
    if said:
        assert said in checked.found[0].sentence
        assert checked.found[0].witnesses
    if not looked_at and name not in ("a trial that was not plausible",):
        assert checked.unseen


def test_the_loop_hands_records_over_and_the_findings_are_of_that_step(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("ingest") as step:
        mapping.compared_with_log(step, [TEST], PASSED)
    with recorder.step("diagnose") as step:
        mapping.diagnosed(step, replace(DIAGNOSIS, observations=(OTHER_VALUE,)))
    with recorder.step("verify") as step:
        mapping.confirmed(step, PLAUSIBLE, FAILED, [TEST])
        mapping.unpatched(step, [TEST], PASSED)
    with recorder.step("pin") as step:
        mapping.pinned(step, KEPT.attempts[0].pins, [Firing(TEST, 0, 3)], [TEST])
    with recorder.step("rollback") as step:
        mapping.files_checked(step, ["a.py", "b.py"], ["b.py"])
    recorder.end("failed")
    answer = query(tmp_path, "find_context_errors")
    assert {finding["kind"]: finding["step"] for finding in answer.data["findings"]} == {
        "not-reproduced": "ingest#0",
        "probe-disagrees": "diagnose#1",
        "verdict-not-confirmed": "verify#2",
        "passes-without-patch": "verify#2",
        "default-not-pinned": "pin#3",
        "guard-never-fired": "pin#3",
        "file-changed-meanwhile": "rollback#4",
    }
    for finding in answer.data["findings"]:
        assert finding["next"].count(finding["step"]) == 1
    assert len(answer.data["checks"]) == 7
