"""Runs recorded from real records, in the order and with the calls of the repair loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from selfdebug.model import Firing, Outcome, ProbeHit, PytestRun, Repair, Value
from selfdebug.reports.samples import KEPT, NOTHING_FAILED, ROLLED_BACK
from selfdebug.trace import mapping
from selfdebug.trace.ask import ask
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import Answer
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import RunStatus
from selfdebug.trace.settings import TraceSettings

TEST = KEPT.failures[0].node_id or ""
STATUS = {0: RunStatus.PASSED, 128: RunStatus.ROLLED_BACK, 130: RunStatus.INTERRUPTED}


def pytest_run(number: int, outcome: Outcome = Outcome.FAILED, **more: Any) -> PytestRun:
    """One start of pytest with two tests, as the plugin reports it."""
    fields: dict[str, Any] = {
        "id": f"pytest-{number}",
        "proposed": (TEST,),
        "command": ("python", "-m", "pytest", "-p", "_selfdebug_plugin", TEST),
        "exit_code": 0 if outcome is Outcome.PASSED else 1,
        "seconds": 0.25,
        "outcomes": ((TEST, outcome), ("tests/test_discount.py::test_a_regular", Outcome.PASSED)),
        "failures": KEPT.failures if outcome is Outcome.FAILED else (),
        "ended": True,
        "collected": 2,
        "python": "3.11.7",
        "pytest": "9.2.0",
        "output": "collected 2 items\n",
    }
    return PytestRun(**{**fields, **more})


def probed_run(number: int) -> PytestRun:
    """A start of pytest with a probe in it."""
    hit = ProbeHit(1, TEST, "discount", Value("NoneType", "None", is_none=True), 1)
    return pytest_run(number, hits=(hit,))


def record(
    folder: Path,
    repair: Repair = KEPT,
    *,
    run_id: str = "run-1",
    session: str | None = None,
    one_shot: bool = False,
    settings: TraceSettings | None = None,
    status: RunStatus | None = None,
) -> Recorder:
    """Record a finished repair as the loop does, and end it."""
    recorder = Recorder.open(
        folder, run_id, Owner(session, one_shot), settings or TraceSettings(), project=folder.parent
    )
    record_steps(recorder, replace(repair, run_id=run_id))
    recorder.end(status or STATUS.get(repair.exit_code, RunStatus.FAILED))
    return recorder


def record_steps(recorder: Recorder, repair: Repair) -> None:
    """The steps of a repair, without the end."""
    calls = 1
    with recorder.step("ingest", "reading what fails") as step:
        step.tool_call(pytest_run(calls), "the plugin reports")
        mapping.ingest(step, repair.failures)
    for turn in repair.attempts:
        diagnosis = turn.diagnosis
        with recorder.step("locate") as step:
            mapping.selected(step, diagnosis.failure, diagnosis.failure.deepest_source)
            mapping.located(step, diagnosis.location)
        with recorder.step("probe") as step:
            calls += 1
            step.tool_call(probed_run(calls))
            mapping.observed(step, diagnosis.observations, diagnosis.caught)
        with recorder.step("origin") as step:
            mapping.origin(step, diagnosis.origin)
        with recorder.step("diagnose") as step:
            mapping.diagnosed(step, diagnosis)
        with recorder.step("propose") as step:
            mapping.proposed(step, [one.candidate for one in turn.trials], [("get-default", "it is no subscript")])
        for one in turn.trials:
            with recorder.step("try") as step:
                calls += 1
                outcome = Outcome.PASSED if one.patch else Outcome.FAILED
                step.tool_call(pytest_run(calls, outcome))
                mapping.trial(step, one)
        if turn.kept is not None:
            with recorder.step("keep") as step:
                mapping.kept(step, turn.kept, recorder.last("try"))
            with recorder.step("pin") as step:
                mapping.pinned(step, turn.pins, [Firing(TEST, 1, 1)], [TEST])
            with recorder.step("verify") as step:
                calls += 1
                fresh = pytest_run(calls, Outcome.PASSED)
                step.tool_call(fresh)
                mapping.verified(step, fresh)
    if repair.rollback:
        with recorder.step("rollback") as step:
            mapping.rolled_back(step, repair.sentence, ("shop/discount.py",), repair.backup)
    with recorder.step("report") as step:
        mapping.reported(step, repair)


def query(folder: Path, name: str, owner: Owner | None = None, **arguments: Any) -> Answer:
    """The answer of one query."""
    return ask(folder, name, arguments, owner or Owner())


__all__ = [
    "KEPT",
    "NOTHING_FAILED",
    "ROLLED_BACK",
    "TEST",
    "probed_run",
    "pytest_run",
    "query",
    "record",
    "record_steps",
]
