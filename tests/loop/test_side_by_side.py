"""Several candidates at a time: the same patch, the same trials in the same order, as with one after the other."""

from __future__ import annotations

from pathlib import Path

from small_projects import project, run

from selfdebug.model import Repair, Tier, Verdict

SUBJECT = """
def first(words):
    return words["a"].strip()
"""
TESTS = """
from subject import first


def test_first():
    assert first({"a": None}) == "none at all"[8:-3]
"""
FROM_DISK = """
import runpy


def test_first():
    assert runpy.run_path("subject.py")["first"]({"a": None}) == ""
"""


def repaired(root: Path, tests: str, jobs: int, max_candidates: int) -> Repair:
    project(root, {"subject.py": SUBJECT, "test_subject.py": tests})
    return run(root, jobs=jobs, max_attempts=1, max_candidates=max_candidates)


def told(done: Repair) -> list[tuple[str, str, str | None, str, str]]:
    return [
        (trial.candidate.id, trial.candidate.guard, trial.candidate.default, trial.verdict.value, trial.detail)
        for attempt in done.attempts
        for trial in attempt.trials
    ]


def test_three_at_a_time_tell_the_same_as_one_after_the_other(tmp_path: Path) -> None:
    one = repaired(tmp_path / "one", TESTS, 1, 16)
    three = repaired(tmp_path / "three", TESTS, 3, 16)
    assert len(told(one)) > 10
    assert told(three)[: len(told(one))] == told(one)[: len(told(three))]  # the time for further ones may differ
    assert (three.exit_code, three.sentence) == (one.exit_code, one.sentence)
    assert [patch.after for patch in three.patches] == [patch.after for patch in one.patches]
    ids = [run.id for run in three.runs]
    assert ids == [f"pytest-{number}" for number in range(1, len(ids) + 1)]


def test_what_has_to_be_edited_in_place_is_tried_alone(tmp_path: Path) -> None:
    done = repaired(tmp_path / "disk", FROM_DISK, 2, 3)
    trials = [trial for attempt in done.attempts for trial in attempt.trials if trial.verdict is not Verdict.REFUSED]
    assert {trial.tier for trial in trials} == {Tier.IN_PLACE}
    assert done.exit_code == 0, done.sentence
