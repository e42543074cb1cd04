"""A run is recorded as it happens, connected and redacted, and a recorder never costs more than a sentence."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfdebug.trace import mapping
from selfdebug.trace.owner import Owner
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import MAX_STORED, Step
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import FILE_NAME, Store
from tracing.recorded_runs import KEPT, pytest_run, query, record, record_steps


def steps_of(folder: Path, run_id: str = "run-1") -> dict[str, Step]:
    store = Store.open(folder)
    assert store is not None
    with store:
        return {event.id: event for _, event in store.events(run_id)[0] if isinstance(event, Step)}


def test_each_step_knows_who_gave_what_it_read_and_which_decision_led_to_it(tmp_path: Path) -> None:
    record(tmp_path)
    steps = steps_of(tmp_path)
    assert list(steps)[:5] == ["ingest#0", "locate#1", "probe#2", "origin#3", "diagnose#4"]
    keep = steps["keep#8"]
    assert [(read.key, read.writers) for read in keep.reads] == [("trial.7", ("try#7",))]
    assert (keep.because, keep.rule) == ("try#7", "plausible, so kept")
    assert steps["try#7"].because == "propose#5"


def test_a_nested_step_is_led_by_the_open_one_around_it(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("try"), recorder.step("verify") as inner:
        inner.describe("inside")
    recorder.end("passed")
    assert steps_of(tmp_path)["verify#1"].because == "try#0"


def test_an_append_is_read_from_all_who_added_and_a_set_starts_anew(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    for name in ("first", "second"):
        with recorder.step("propose") as step:
            step.append("candidates", name)
    with recorder.step("try", reads=("candidates",)) as step:
        step.set("candidates", [])
    with recorder.step("try", reads=("candidates", "candidates.0", "nothing")) as step:
        pass
    recorder.end("passed")
    steps = steps_of(tmp_path)
    assert steps["try#2"].reads[0].writers == ("propose#0", "propose#1")
    assert [read.writers for read in steps["try#3"].reads] == [("try#2",), ("try#2",), ()]


def test_an_exception_that_leaves_a_step_is_its_error_and_goes_on(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with pytest.raises(ValueError, match="no luck"), recorder.step("probe"):
        raise ValueError("no luck")
    recorder.end("crashed")
    assert steps_of(tmp_path)["probe#0"].errors == ("ValueError: no luck",)


def test_a_long_value_is_cut_and_its_true_size_kept(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("keep") as step:
        step.set("patch.diff", "x" * (MAX_STORED + 5))
    recorder.end("passed")
    answer = query(tmp_path, "get_value", step="keep#0", key="patch.diff", max_chars=9000)
    assert answer.data["size"] == MAX_STORED
    assert f"only a part was stored of {MAX_STORED + 5} characters" in answer.text()
    assert "max_chars was 9000; at most 8000 are given at once." in answer.text()


@pytest.mark.parametrize("value", [float("nan"), {1: {2}}, Path("a"), b"bytes", ("a", None, True), "lone \ud800 half"])
def test_whatever_is_written_can_be_read_back(tmp_path: Path, value: object) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("keep") as step:
        step.set("value", value)
    recorder.end("passed")
    assert recorder.warnings == []
    assert query(tmp_path, "get_value", step="keep#0", key="value").found


def test_threads_record_at_the_same_time(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())

    def judge() -> None:
        for _ in range(20):
            with recorder.step("try") as step:
                step.set(f"trial.{step.number}.verdict", "ineffective")

    threads = [threading.Thread(target=judge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.end("failed")
    steps = steps_of(tmp_path)
    assert len(steps) == 80
    assert all(step.because is None and step.ended is not None for step in steps.values())


# ---------------------------------------------------------------- a recorder that cannot write


def test_a_folder_that_cannot_be_made_costs_one_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    recorder = Recorder.open(blocked / "state", "run-1", Owner(), TraceSettings(), project=tmp_path)
    record_steps(recorder, KEPT)
    recorder.end("passed")
    assert len(recorder.warnings) == 1
    assert recorder.warnings[0].startswith("This run is not recorded any further: ")


def test_a_disk_that_is_full_in_the_middle_costs_one_sentence(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("ingest") as step:
        mapping.ingest(step, KEPT.failures)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("DROP TABLE events")  # the next write fails, whatever the disk says
    db.close()
    record_steps(recorder, KEPT)
    recorder.end("passed")
    assert len(recorder.warnings) == 1


def test_a_store_that_is_no_database_is_set_aside_and_the_run_recorded(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 100)
    recorder = record(tmp_path)
    assert len(recorder.warnings) == 1
    assert "It was set aside as trace.damaged-" in recorder.warnings[0]
    assert query(tmp_path, "run_overview").found
    assert next(tmp_path.glob("trace.damaged-*.sqlite3")).read_bytes().startswith(b"this is no database")


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    record(tmp_path)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    recorder = record(tmp_path, run_id="run-2")
    assert "was written by a newer selfdebug" in recorder.warnings[0]
    assert "was written by a newer selfdebug" in query(tmp_path, "run_overview").text()


# ---------------------------------------------------------------- ends


def test_a_run_is_no_evidence_before_it_ends(tmp_path: Path) -> None:
    record(tmp_path, run_id="run-1")
    going_on = Recorder.open(tmp_path, "run-2", Owner(), TraceSettings())
    record_steps(going_on, KEPT)
    assert query(tmp_path, "run_overview").run.id == "run-1"  # type: ignore[union-attr]  # found, so it has a run
    assert "still goes on" in query(tmp_path, "run_overview", run_id="run-2").text()
    going_on.end("failed")
    going_on.end("passed")  # the first end counts
    newest = query(tmp_path, "run_overview").run
    assert newest is not None
    assert (newest.id, newest.status) == ("run-2", "failed")


def test_a_killed_run_keeps_what_it_recorded_and_is_closed_as_crashed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tracing.recorded_runs import *\nfrom selfdebug.trace.owner import Owner\n"
        "from selfdebug.trace.recorder import Recorder\n"
        "from selfdebug.trace.settings import TraceSettings\n"
        "recorder = Recorder.open(Path(sys.argv[1]), 'killed', Owner(), TraceSettings())\n"
        "record_steps(recorder, KEPT)\n"
        "with recorder.step('try', 'the last one'):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=env, check=False)
    assert done.returncode == -9
    answer = query(tmp_path, "run_overview")
    assert answer.run is not None
    assert (answer.run.id, answer.run.status) == ("killed", "crashed")
    assert "never ended" in answer.text()
    assert query(tmp_path, "get_value", step="keep#8", key="patch.guard").data["value"] == "condition-prefix"


# ---------------------------------------------------------------- bounds and left-out parts


def test_only_the_last_events_of_a_run_are_kept_and_the_rest_counted(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings(events=50))
    for _ in range(300):
        with recorder.step("try") as step:
            step.set("candidates", 1)
    recorder.end("failed")
    answer = query(tmp_path, "run_overview")
    assert "the oldest 250 events were dropped" in answer.text()
    assert "250 older events of this run were dropped" in query(tmp_path, "trace_node", step="try#1").text()
    assert len(steps_of(tmp_path)) == 50


def test_inner_runs_of_trials_go_before_those_of_other_steps(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings(inner_runs=3))
    with recorder.step("probe") as step:
        step.tool_call(pytest_run(1))
    for number in range(2, 9):
        with recorder.step("try") as step:
            step.tool_call(pytest_run(number))
    recorder.end("failed")
    kept = [n for n in range(1, 9) if query(tmp_path, "inspect_tool_call", id=f"pytest-{n}").data["inner_kept"]]
    assert kept == [1, 7, 8]
    assert "not kept any more" in query(tmp_path, "inspect_tool_run", id="pytest-2").text()


def test_without_values_only_types_and_noneness_are_on_the_disk(tmp_path: Path) -> None:
    failure = replace(KEPT.failures[0], exception=replace(KEPT.failures[0].exception, message="the secret of ada"))
    record(tmp_path, replace(KEPT, failures=(failure,)), settings=TraceSettings(include_values=False))
    raw = (tmp_path / FILE_NAME).read_bytes() + b"".join(path.read_bytes() for path in tmp_path.glob("*-wal"))
    assert b"ada@example.org" not in raw
    assert b"secret of ada" not in raw
    observed = query(tmp_path, "get_value", step="probe#2", key="observation.customer").text()
    assert "None" in observed
    assert "include_values is false" in query(tmp_path, "get_value", step="ingest#0", key="failure.exception").text()


def test_without_events_the_queries_that_need_them_name_the_setting(tmp_path: Path) -> None:
    record(tmp_path, settings=TraceSettings(include_events=False))
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("get_value", {"step": "ingest#0", "key": "failure.exception"}),
        ("backtrack", {"variable": "customer"}),
        ("who_wrote", {"key": "patch.diff"}),
        ("inspect_tool_call", {"id": "pytest-1"}),
    )
    for name, arguments in asked:
        answer = query(tmp_path, name, **arguments)
        assert "setting include_events is false" in answer.text(), name
        assert not answer.found
    assert "ingest#0" in query(tmp_path, "read_narrative").text()


def test_without_the_narrative_its_query_names_the_setting(tmp_path: Path) -> None:
    record(tmp_path, settings=TraceSettings(include_narrative=False))
    assert "setting include_narrative is false" in query(tmp_path, "read_narrative").text()
    assert query(tmp_path, "who_wrote", key="patch.diff").found


def test_recording_a_trial_costs_well_under_three_percent_of_the_fastest_one(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    trial = KEPT.attempts[0].trials[0]
    begun = time.process_time()
    for _ in range(200):
        with recorder.step("try") as step:
            mapping.trial(step, trial)
    each = (time.process_time() - begun) / 200
    recorder.end("failed")
    assert each < 0.03 * 0.2  # a trial in a fresh process takes 0.2 s and more
