"""Answers without a model: the fact that each must hold, the steps that it must cite, the doubts that it repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tracing.recorded_runs import KEPT, NOTHING_FAILED, ROLLED_BACK, record, record_steps

from selfdebug.explain import questions
from selfdebug.explain.delegate import explain_run
from selfdebug.explain.settings import ExplainSettings
from selfdebug.explain.story import story
from selfdebug.model import Pin, Repair, Site
from selfdebug.trace import mapping
from selfdebug.trace.ask import load
from selfdebug.trace.exchange import exported
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import Answer
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import RunStatus, Trace
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import Store


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the fact that its answer must contain, the steps that it must cite."""

    run: str
    question: str
    intent: str
    fact: str
    steps: tuple[str, ...]


CASES = (
    Case(
        "kept", "Why this patch?", "why-patch", "the condition is false for the None that was seen", ("keep#8", "try#7")
    ),
    Case("kept", "what made you pick that fix", "why-patch", "the whole oracle passes", ("try#7",)),
    Case(
        "kept",
        "why did you change this",
        "why-patch",
        "customer is None where its attribute orders is read",
        ("diagnose#4",),
    ),
    Case("kept", "Why not or-default?", "why-not-guard", "was ineffective: the test still fails", ("try#6",)),
    Case("kept", "why didn't you use or default instead", "why-not-guard", "still fails in the same place", ("try#6",)),
    Case("kept", "why not c2", "why-not-guard", "or-default on customer with default 0", ("try#6",)),
    Case("kept", "why not get-default", "why-not-guard", "get-default did not fit: it is no subscript", ("propose#5",)),
    Case("kept", "why not early-return?", "why-not-guard", "I never considered early-return", ("propose#5",)),
    Case("kept", "why not condition-prefix", "why-not-guard", "I did keep condition-prefix", ("try#7",)),
    Case("kept", "why this file?", "why-file", "I worked on shop/discount.py:8 in discount", ("locate#1", "keep#8")),
    Case(
        "kept", "why did you look at discount.py", "why-file", "The expression that raised is customer", ("locate#1",)
    ),
    Case(
        "kept",
        "where did customer come from?",
        "where-from",
        "born at shop/discount.py:2 in find",
        ("origin#3", "probe#2"),
    ),
    Case("kept", "where does `email` come from", "where-from", "customer = find(customers, email)", ("origin#3",)),
    Case("kept", "why is it None", "where-from", "dict.get() found no 'ada@example.org'", ("origin#3",)),
    Case("kept", "what changed?", "what-changed", "+    if customer is not None and customer.orders", ("keep#8",)),
    Case("kept", "which files did you touch", "what-changed", "I changed shop/discount.py", ("keep#8",)),
    Case("kept", "how long did it take, and why so long?", "how-long", "5 starts of pytest took 1.25 s", ("try#7",)),
    Case("kept", "is it safe to merge?", "is-it-safe", "no test notices 0 becoming 1", ("pin#9", "verify#10")),
    Case(
        "kept",
        "what did you try",
        "what-tried",
        "I judged 2 candidates: 1 ineffective, 1 plausible",
        ("try#6", "try#7"),
    ),
    Case("kept", "what failed?", "what-happened", "'NoneType' object has no attribute 'orders'", ("ingest#0",)),
    Case("kept", "why did you roll back", "why-rolled-back", "I did not roll back: the run passed", ("report#11",)),
    Case(
        "rolled back",
        "why did you roll back?",
        "why-rolled-back",
        "No candidate makes the failing test pass",
        ("rollback#7",),
    ),
    Case(
        "rolled back",
        "why did you fail",
        "why-rolled-back",
        "I judged 1 candidate: 1 ineffective",
        ("rollback#7", "try#6"),
    ),
    Case("rolled back", "why this patch", "why-patch", "I kept no patch in this run", ("rollback#7",)),
    Case("rolled back", "what changed", "what-changed", "Nothing is left changed: I rolled back", ("rollback#7",)),
    Case("rolled back", "is it safe", "is-it-safe", "there is nothing to trust", ("rollback#7",)),
    Case(
        "rolled back",
        "why not condition-prefix",
        "why-not-guard",
        "I never considered condition-prefix",
        ("propose#5",),
    ),
    Case("nothing failed", "what did you change?", "what-changed", "I left no file changed", ("report#1",)),
    Case("nothing failed", "where did it come from", "where-from", "That is not in the trace", ()),
    Case("nothing failed", "what did you try", "what-tried", "I tried nothing; I had proposed 0 candidates", ()),
    Case("nothing failed", "why this file", "why-file", "I located no file in this run", ()),
    Case("nothing failed", "how long", "how-long", "1 start of pytest took 0.25 s", ("ingest#0",)),
    Case("crashed", "why did you crash?", "why-rolled-back", "ended before it was over", ("try#6",)),
    Case("crashed", "why did you stop", "why-rolled-back", "during or after try#6", ("try#6",)),
    Case(
        "interrupted", "why did you stop", "why-rolled-back", "I did not roll back: the run was interrupted", ("try#6",)
    ),
    Case("never tried", "why not or-default", "why-not-guard", "but never tried it", ("propose#5",)),
    Case("moved", "why this file", "why-file", "The patch went to shop/other.py, at the caller", ("keep#8",)),
    Case(
        "no origin",
        "where did customer come from",
        "where-from",
        "I could not follow where customer came from",
        ("origin#3",),
    ),
)


def _crashed(recorder: Recorder, repair: Repair) -> None:
    kept_open = replace(repair, attempts=(replace(repair.attempts[0], trials=(), kept=None),))
    record_steps_until_report(recorder, kept_open)
    try:
        with recorder.step("try", "judging"):
            raise RuntimeError("pytest ended before it was over")
    except RuntimeError:
        return


def record_steps_until_report(recorder: Recorder, repair: Repair) -> None:
    turn = repair.attempts[0]
    diagnosis = turn.diagnosis
    with recorder.step("ingest") as step:
        mapping.ingest(step, repair.failures)
    with recorder.step("locate") as step:
        mapping.located(step, diagnosis.location)
    for stage in ("probe", "origin", "diagnose"):
        with recorder.step(stage):
            pass
    with recorder.step("propose") as step:
        mapping.proposed(step, [trial.candidate for trial in KEPT.attempts[0].trials])


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folder = tmp_path_factory.mktemp("state")
    turn = KEPT.attempts[0]
    record(folder, run_id="kept")
    record(folder, ROLLED_BACK, run_id="rolled back")
    record(folder, NOTHING_FAILED, run_id="nothing failed")
    for run_id, status in (("crashed", RunStatus.CRASHED), ("interrupted", RunStatus.INTERRUPTED)):
        recorder = Recorder.open(folder, run_id, Owner(), TraceSettings())
        if status is RunStatus.CRASHED:
            _crashed(recorder, KEPT)
        else:
            record_steps_until_report(recorder, KEPT)
            with recorder.step("try") as step:
                mapping.trial(step, turn.trials[0])
        recorder.end(status)
    recorder = Recorder.open(folder, "never tried", Owner(), TraceSettings())
    record_steps_until_report(recorder, KEPT)
    recorder.end("failed")
    caller = replace(turn.trials[1].candidate, site=Site.CALLER)
    assert turn.kept is not None
    moved = replace(turn, kept=replace(turn.kept, file="shop/other.py", candidate=caller))
    record(folder, replace(KEPT, attempts=(moved,)), run_id="moved")
    lost = replace(turn, diagnosis=replace(turn.diagnosis, origin=()))
    record(folder, replace(KEPT, attempts=(lost,)), run_id="no origin")
    loaded = {}
    for run_id in (
        "kept",
        "rolled back",
        "nothing failed",
        "crashed",
        "interrupted",
        "never tried",
        "moved",
        "no origin",
    ):
        trace = load(folder, Owner(), run_id)
        assert isinstance(trace, Trace)
        loaded[run_id] = trace
    return loaded


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.run}: {case.question}")
def test_the_answer_holds_the_fact_and_cites_its_steps(traces: dict[str, Trace], case: Case) -> None:
    trace = traces[case.run]
    answer = questions.answer(trace, case.question)
    assert answer.data["intent"] == case.intent
    assert case.fact in answer.text()
    assert set(case.steps) <= set(answer.data["cited"])
    known = {step.id for step in trace.steps}
    assert set(answer.data["cited"]) <= known, "no step is cited that the run does not have"


@pytest.mark.parametrize(
    "run", ["kept", "rolled back", "nothing failed", "crashed", "interrupted", "never tried", "moved"]
)
def test_the_story_cites_only_steps_of_the_run(traces: dict[str, Trace], run: str) -> None:
    trace = traces[run]
    text = story(trace).text()
    cited = set(re.findall(r"[a-z_]+#\d+", text))
    assert cited
    assert cited <= {step.id for step in trace.steps}
    how = {"interrupted": "was interrupted"}.get(str(trace.run.status), trace.run.status)
    assert f"Run {run} {how}." in text


def test_the_story_tells_all_that_a_person_asks(traces: dict[str, Trace]) -> None:
    lines = story(traces["kept"]).lines
    heads = [line for line in lines if not line.startswith((" ", "Doubt", "Run"))]
    assert heads == [
        "What failed",
        "Where",
        "Where the value came from",
        "What I tried",
        "What I kept",
        "What the tests hold of it",
        "What it took",
    ]
    assert "Why nothing was kept" in story(traces["rolled back"]).lines
    assert lines[-1].startswith("Doubt (default-not-pinned): ")


def test_a_question_of_an_unknown_kind_gets_what_the_trace_holds_of_its_words(traces: dict[str, Trace]) -> None:
    answer = questions.answer(traces["kept"], "tell me something on orders please")
    assert not answer.found
    assert answer.data["intent"] is None
    assert "Without a model I know these questions" in answer.text()
    assert "-> get_value(step=" in answer.text()
    assert not questions.answer(traces["kept"], "hm").found


def test_doubts_that_touch_the_record_are_repeated(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings(events=30, include_narrative=False))
    record_steps(recorder, KEPT)
    for _ in range(20):
        with recorder.step("keep") as step:
            step.set("patch.reason", "password='hunter2'")
            step.set("patch.diff", "")
            step.set("patch.candidate", {})
    recorder.end("passed")
    trace = load(tmp_path, Owner())
    assert isinstance(trace, Trace)
    text = questions.answer(trace, "why this patch").text()
    assert "events of this run were dropped" in text
    assert "include_narrative is false" in text
    assert "was redacted before it was recorded" in text


def test_many_trials_and_links_are_listed_up_to_a_bound(tmp_path: Path) -> None:
    turn = KEPT.attempts[0]
    long = replace(
        turn,
        trials=(*[turn.trials[0]] * 12, turn.trials[1]),
        diagnosis=replace(turn.diagnosis, origin=(*turn.diagnosis.origin * 6,)),
    )
    inferred = replace(long.diagnosis.origin[0], evidence="inferred")
    long = replace(long, diagnosis=replace(long.diagnosis, origin=(inferred, *long.diagnosis.origin)))
    record(tmp_path, replace(KEPT, attempts=(long,)))
    trace = load(tmp_path, Owner())
    assert isinstance(trace, Trace)
    assert "I made 4 more trials of or-default" in questions.answer(trace, "why not or-default").text()
    assert "5 more: read_narrative tells each" in questions.answer(trace, "what did you try").text()
    text = questions.answer(trace, "where did customer come from").text()
    assert "5 more links: get_value(step=origin#3, key=origin.chain)" in text
    assert "Links marked otherwise than observed were read from the code, not seen." in text
    assert "no origin of 'zebra' was recorded" in questions.answer(trace, "where did `zebra` come from").text()


# ---------------------------------------------------------------- the delegate


def asked(folder: Path, question: str, owner: Owner | None = None) -> Answer:
    return explain_run(folder, owner or Owner(), question, ExplainSettings())


def test_the_delegate_answers_its_callers_run_only(tmp_path: Path) -> None:
    record(tmp_path, run_id="mine", session="a")
    assert "[keep#8]" in asked(tmp_path, "why this patch", Owner("a")).text()
    assert not asked(tmp_path, "why this patch").found
    assert asked(tmp_path, "  ", Owner("a")).text().count("What I kept") == 1
    assert "at most 2000 characters" in asked(tmp_path, "x" * 2001, Owner("a")).text()


def test_reading_a_few_answers_takes_a_small_part_of_the_trace(tmp_path: Path) -> None:
    turn = KEPT.attempts[0]
    many = replace(turn, trials=(*[turn.trials[0]] * 60, turn.trials[1]))
    recorder = record(tmp_path, replace(KEPT, attempts=(many,)))
    assert recorder.warnings == []
    trace = load(tmp_path, Owner())
    assert isinstance(trace, Trace)
    with Store.create(tmp_path) as store:
        whole = len(exported(store, trace.run))
    assert len(questions.answer(trace, "why not or-default").text()) < 0.05 * whole


def test_what_was_not_examined_is_said_not_to_have_been(tmp_path: Path) -> None:
    turn = KEPT.attempts[0]
    assert turn.kept is not None

    def recorded(run_id: str, pins: tuple[Pin, ...] | None, trial: bool, checks: int | None = None) -> str:
        recorder = Recorder.open(tmp_path, run_id, Owner(), TraceSettings())
        if trial:
            with recorder.step("try") as step:
                mapping.trial(step, turn.trials[1])
        with recorder.step("keep") as step:
            assert turn.kept is not None
            mapping.kept(step, turn.kept, recorder.last("try"))
        if pins is not None:
            with recorder.step("pin") as step:
                mapping.pinned(step, pins)
        if checks is not None:
            recorder.checked("file-changed-meanwhile", checks)
        recorder.end("passed")
        trace = load(tmp_path, Owner(), run_id)
        assert isinstance(trace, Trace)
        return questions.answer(trace, "is it safe?").text() + questions.answer(trace, "why this patch?").text()

    bare = recorded("bare", None, trial=False)
    assert "No test run is recorded for it." in bare
    assert "What the tests pin of it was not examined in this run." in bare
    assert "No integrity check had anything to look at" in bare
    judged = recorded("judged", (Pin("default", True, ""),), trial=True, checks=1)
    assert "The tests said: the whole oracle passes [try#0]." in judged
    assert "Every part of it that was varied is pinned by a test [pin#2]." in judged
    assert (
        "2 integrity checks looked at something and found nothing: default-not-pinned, file-changed-meanwhile."
        in judged
    )


def test_a_run_that_could_try_nothing_says_why(tmp_path: Path) -> None:
    turn = replace(KEPT.attempts[0], trials=(), kept=None)
    record(tmp_path, replace(ROLLED_BACK, attempts=(turn,)))
    trace = load(tmp_path, Owner())
    assert isinstance(trace, Trace)
    assert (
        "No candidate was judged; 1 guard did not fit [propose#5]." in questions.answer(trace, "why rolled back").text()
    )
    assert (
        "get-default did not fit: it is no subscript [propose#5]." in questions.answer(trace, "what did you try").text()
    )
    recorder = Recorder.open(tmp_path, "run-2", Owner(), TraceSettings())
    with recorder.step("ingest") as step:
        step.set("failure.exception", "a text")
    recorder.end("failed")
    short = load(tmp_path, Owner(), "run-2")
    assert isinstance(short, Trace)
    assert "failed with a text [ingest#0]" in questions.answer(short, "what failed").text()
    assert "I kept no patch in this run, so nothing changed." in questions.answer(short, "what changed").text()
