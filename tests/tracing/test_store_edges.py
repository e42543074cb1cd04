"""The store where its surroundings are unusual: read-only, without its locks, damaged rows, many inner facts."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from codemods.selfdebug.spans import Span
from selfdebug.model import (
    ExceptionRecord,
    Failure,
    Frame,
    Outcome,
    ProbeCatch,
    ProbeHit,
    Trace,
    TracedFrame,
    TracedStep,
    TracedValue,
    Value,
    When,
)
from selfdebug.trace.database import connect_read_only, set_aside
from selfdebug.trace.mapping import history
from selfdebug.trace.owner import Owner
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import DamagedRecordError, Finding, Run, from_data
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import FILE_NAME, Store, TraceStoreError
from tracing.recorded_runs import KEPT, pytest_run, query, record


def test_a_store_that_may_not_be_written_is_read_and_not_touched(tmp_path: Path) -> None:
    record(tmp_path / "real")
    Recorder.open(tmp_path / "real", "going-on", Owner(), TraceSettings()).close()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")  # a link is not written through, so this is as good as a read-only folder
    before = (tmp_path / "real" / FILE_NAME).read_bytes()
    answer = query(link, "run_overview")
    assert answer.found
    assert (tmp_path / "real" / FILE_NAME).read_bytes() == before
    store = Store.open(link)
    assert store is not None
    with store:
        assert not store.writable
        assert store.close_abandoned() == []
    with sqlite3.connect(tmp_path / "real" / FILE_NAME) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(TraceStoreError):
        Store.open(link)


def test_a_run_whose_lock_is_gone_is_closed_as_crashed(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("ingest"):
        pass
    for file in (tmp_path / "running").iterdir():
        file.unlink()
    answer = query(tmp_path, "run_overview")
    assert answer.run is not None
    assert answer.run.status == "crashed"
    recorder.end("passed")


def test_a_lock_that_cannot_be_made_costs_the_record(tmp_path: Path) -> None:
    (tmp_path / "running").write_text("not a folder")
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    assert "This run is not recorded any further" in recorder.warnings[0]
    assert not recorder.is_open


def test_the_same_id_twice_costs_the_second_record(tmp_path: Path) -> None:
    record(tmp_path)
    recorder = record(tmp_path)
    assert "UNIQUE constraint failed" in recorder.warnings[0]
    assert query(tmp_path, "run_overview").found


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt), store.transaction():
            store.import_run(Run("r", None, "session", "", "passed", 1.0, 2.0), [], {})
            raise KeyboardInterrupt
        assert store.runs() == []


def test_a_damaged_row_of_a_run_hides_that_run(tmp_path: Path) -> None:
    record(tmp_path, run_id="run-1")
    record(tmp_path, run_id="run-2")
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE runs SET started = 'zebra' WHERE id = 'run-2'")
        db.execute("UPDATE inner_runs SET data = x'789c5373d2020001cc00f1' WHERE run = 'run-1' AND call = 'pytest-1'")
    db.close()
    with Store.create(tmp_path) as store:
        assert [run.id for run in store.runs()] == ["run-1"]
    assert query(tmp_path, "inspect_tool_call", run_id="run-1", id="pytest-2").found


def test_a_store_that_cannot_be_set_aside_stays(tmp_path: Path) -> None:
    assert set_aside(tmp_path) is None


def test_a_file_that_cannot_be_opened_at_all_is_one_sentence(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / FILE_NAME
    with pytest.raises(sqlite3.OperationalError):
        connect_read_only(missing)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("step", {"id": "a#0"}),
        ("step", {"id": "a#0", "number": 0, "stage": "a", "started": 0, "errors": [7]}),
        ("call", {"id": "pytest-1", "seconds": 1, "proposed": "pytest"}),
        ("finding", {"kind": "k", "sentence": "s", "step": 7}),
        ("check", {"kind": "k", "times": "x", "looked_at": 1}),
        ("zebra", {}),
    ],
)
def test_a_row_of_another_shape_is_damage(kind: str, data: dict[str, Any]) -> None:
    with pytest.raises(DamagedRecordError):
        from_data(kind, data)


def test_a_finding_is_read_back_as_it_was() -> None:
    assert from_data("finding", {"kind": "k", "sentence": "s", "step": "a#0"}) == Finding("k", "s", "a#0")


# ---------------------------------------------------------------- inside a start of pytest


def test_all_that_the_plugin_saw_can_be_asked_for(tmp_path: Path) -> None:
    seen = Value("str", "'x…", truncated=True, redacted=True)
    missing = ExceptionRecord("KeyError", "'b'", key="'b'")
    frame = Frame("/usr/lib/x.py", 3, locals=(("user", seen),), span=Span(3, 0, 3, 1))
    failure = Failure("test_a", When.SETUP, missing, (frame,), causes=(KEPT.failures[0],))
    run = pytest_run(
        1,
        outcomes=tuple((f"test_{number}", Outcome.FAILED) for number in range(30)),
        failures=(failure,),
        hits=tuple(ProbeHit(1, "test_a", "f", seen, number) for number in range(2100)),
        catches=(ProbeCatch(2, "test_a", "f", missing, (("user", seen),), 5000),),
        served=("a.py",),
    )
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("probe") as step:
        step.add_history([{"variable": "lost", "value": 1}])  # no start of pytest is there to add it to
        step.tool_call(run)
        step.add_history(history(KEPT.attempts[0].diagnosis.observations * 25))
        step.add_history(
            [{"variable": "total", "value": 7, "place": "a.py:1", "function": "f", "code": "total = 7", "call": 2}]
        )
    recorder.end("failed")
    overview = query(tmp_path, "inspect_tool_run", id="pytest-1").text()
    assert "of 2100 probed values only 2000 were stored" in overview
    assert "more; ask with variable= or find=" in overview
    assert "served from memory: a.py" in overview
    many = query(tmp_path, "inspect_tool_run", id="pytest-1", variable="customer")
    assert many.lines[1].startswith("… 5 earlier values")
    caught = query(tmp_path, "inspect_tool_run", id="pytest-1", variable="user")
    assert "KeyError: 'b' left the statement in f during test_a" in caught.text()
    assert (
        "total = 7 at a.py:1 in f, call 2"
        in query(tmp_path, "inspect_tool_run", id="pytest-1", variable="total").text()
    )
    inner_failure = query(tmp_path, "inspect_tool_run", id="pytest-1", key="exception")
    assert "key: 'b'" in inner_failure.text()
    assert not query(tmp_path, "inspect_tool_run", id="pytest-1", variable="lost").found


def test_an_inner_run_of_another_shape_is_taken_as_far_as_it_goes(tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        call = from_data("call", {"id": "pytest-1", "step": "a#0", "seconds": 1.0, "has_inner": True})
        odd = {
            "tests": [["a"], 7, ["b", "passed"]],
            "failures": [{"exception": 7}],
            "catches": [{"locals": 7}],
            "hits": 7,
        }
        store.import_run(Run("r", None, "session", "", "passed", 1.0, 2.0), [call], {"pytest-1": odd})
    answer = query(tmp_path, "inspect_tool_run", Owner(), id="pytest-1")
    assert answer.data["outcomes"] == {"passed": 1}
    assert "None raised an exception in its None" in answer.text()


def test_more_of_the_same_is_counted_and_not_shown(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    for number in range(30):
        with recorder.step("propose") as step:
            step.append("candidates", {"id": f"c{number}"})
            step.set("origin.chain", [{"code": "user = 1", "sentence": "it is"}, 7])
    with recorder.step("try", reads=("candidates", "origin")) as step:
        step.set("location.receiver", "user")
    recorder.end("failed")
    assert "and 27 more" in query(tmp_path, "trace_node", step="try#30").text()
    assert (
        "earlier writers: propose#24, propose#25, propose#26, propose#27, propose#28 (and 24 more)"
        in query(tmp_path, "who_wrote", key="candidates").text()
    )
    followed = query(tmp_path, "backtrack", variable="user", before="try#30")
    assert followed.found
    assert query(tmp_path, "backtrack", variable="user").text().count("its way, from the crash back") == 1


def test_a_traced_run_keeps_who_assigned_what_where_in_which_call(tmp_path: Path) -> None:
    secret = TracedValue(3, "str", "'hunter2'")
    none = TracedValue(0, "NoneType", "None")
    steps = (
        TracedStep(4, "line", 2, stores=(("user", none), ("password", secret))),
        TracedStep(6, "return", 3, value=none),
    )
    frame = TracedFrame(
        1, "shop.py", "find", "Shop.find", 1, 2, 0, 9, 0, (("name", TracedValue(1, "str", "'ada'")),), 7, steps
    )
    run = pytest_run(1, traces=(Trace("test_a", (frame,), gap="the second thread"),))
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("origin") as step:
        step.tool_call(run)
    recorder.end("failed")
    assert "not traced: the second thread" in query(tmp_path, "inspect_tool_run", id="pytest-1").text()
    user = query(tmp_path, "inspect_tool_run", id="pytest-1", variable="user").text()
    assert "user was None; stored at shop.py:2 in Shop.find, call 1" in user
    name = query(tmp_path, "inspect_tool_run", id="pytest-1", variable="name").text()
    assert "name was str 'ada'; argument, called from line 9 at shop.py:1 in Shop.find, call 1" in name
    assert query(tmp_path, "inspect_tool_run", id="pytest-1", variable="find()").found
    hidden = query(tmp_path, "inspect_tool_run", id="pytest-1", variable="password").text()
    assert "hunter2" not in hidden
    assert "[redacted]" in hidden
    outer = query(tmp_path, "backtrack", variable="user")
    assert "pytest-1 saw 1 value of it; inspect_tool_run(id=pytest-1, variable=user)" in outer.text()
