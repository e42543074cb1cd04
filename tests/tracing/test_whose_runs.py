"""A caller sees its own completed runs and nobody else's; what goes first is what was used least recently."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfdebug.errors import UsageError
from selfdebug.trace import retention
from selfdebug.trace.owner import Owner, owner_of
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import Run
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import FILE_NAME, Store
from tracing.recorded_runs import NOTHING_FAILED, query, record


def short_run(folder: Path, run_id: str, session: str | None = None, sessions: int = 64, runs: int = 32) -> None:
    recorder = Recorder.open(folder, run_id, Owner(session), TraceSettings(sessions=sessions, runs=runs))
    with recorder.step("ingest", f"run {run_id}"):
        pass
    recorder.end("passed")
    assert recorder.warnings == []


def newest(folder: Path, owner: Owner, run_id: str | None = None) -> str | None:
    run = query(folder, "run_overview", owner, run_id=run_id).run
    return run.id if run else None


def kept(folder: Path) -> list[str]:
    store = Store.open(folder)
    assert store is not None
    with store:
        return sorted(run.id for run in store.runs())


def test_a_session_sees_its_own_runs_only(tmp_path: Path) -> None:
    for run_id, session in (("a-1", "a"), ("b-1", "b"), ("none-1", None), ("a-2", "a")):
        short_run(tmp_path, run_id, session)
    assert newest(tmp_path, Owner("a")) == "a-2"
    assert newest(tmp_path, Owner("a"), "a-1") == "a-1"
    assert newest(tmp_path, Owner("b")) == "b-1"
    assert newest(tmp_path, Owner()) == "none-1"
    assert newest(tmp_path, Owner("c")) is None
    for owner, run_id in ((Owner("a"), "b-1"), (Owner("a"), "none-1"), (Owner(), "a-1"), (Owner("c"), "a-1")):
        others = query(tmp_path, "run_overview", owner, run_id=run_id).text()
        assert others.startswith(f"There is no run '{run_id}' of yours.")
        copy = tmp_path / f"without-{run_id}-{owner.session}"
        copy.mkdir()
        (copy / FILE_NAME).write_bytes((tmp_path / FILE_NAME).read_bytes())
        store = Store.create(copy)
        with store:
            store.delete(run_id)
        assert query(copy, "run_overview", owner, run_id=run_id).text() == others, "as if it had never been"


def test_a_one_shot_run_is_seen_by_its_id_and_never_by_default(tmp_path: Path) -> None:
    short_run(tmp_path, "none-1")
    record(tmp_path, NOTHING_FAILED, run_id="shot-1", one_shot=True)
    assert newest(tmp_path, Owner()) == "none-1"
    assert newest(tmp_path, Owner(one_shot=True), "shot-1") == "shot-1"
    assert newest(tmp_path, Owner("a"), "shot-1") is None


def test_a_flood_of_one_shots_evicts_no_session(tmp_path: Path) -> None:
    short_run(tmp_path, "mine", "a")
    for number in range(12):
        record(tmp_path, NOTHING_FAILED, run_id=f"shot-{number:02}", one_shot=True)
    assert kept(tmp_path) == ["mine", *(f"shot-{number:02}" for number in range(4, 12))]


def test_of_a_session_the_run_used_least_recently_goes_and_reading_counts(tmp_path: Path) -> None:
    for number in range(3):
        short_run(tmp_path, f"run-{number}", "a", runs=3)
    assert newest(tmp_path, Owner("a"), "run-0") == "run-0"
    short_run(tmp_path, "run-3", "a", runs=3)
    assert kept(tmp_path) == ["run-0", "run-2", "run-3"]
    gone = query(tmp_path, "run_overview", Owner("a"), run_id="run-1")
    assert gone.text() == "There is no run 'run-1' of yours. Yours are run-3, run-2, run-0.\n"


def test_of_the_sessions_the_one_used_least_recently_goes(tmp_path: Path) -> None:
    for session in ("a", "b", "c"):
        short_run(tmp_path, f"{session}-1", session, sessions=3)
    assert newest(tmp_path, Owner("a")) == "a-1"
    short_run(tmp_path, "d-1", "d", sessions=3)
    assert kept(tmp_path) == ["a-1", "c-1", "d-1"]
    short_run(tmp_path, "d-2", "d", sessions=3)
    assert kept(tmp_path) == ["a-1", "c-1", "d-1", "d-2"]


def test_a_run_that_goes_on_is_never_evicted(tmp_path: Path) -> None:
    settings = TraceSettings(sessions=1, runs=1)
    going_on = Recorder.open(tmp_path, "going-on", Owner("a"), settings)
    short_run(tmp_path, "b-1", "b", sessions=1, runs=1)
    short_run(tmp_path, "a-2", "a", sessions=1, runs=1)
    going_on.end("passed")
    assert newest(tmp_path, Owner("a"), "going-on") == "going-on"


def test_what_is_too_old_or_too_much_goes(tmp_path: Path) -> None:
    for number in range(4):
        record(tmp_path, run_id=f"run-{number}")
    store = Store.open(tmp_path)
    assert store is not None
    with store:
        assert retention.prune(store, TraceSettings()) == 0
        assert retention.prune(store, TraceSettings(max_age=1), days=0) == 4
        assert store.runs() == []
    day = 24 * 3600.0
    runs = [Run(f"r{n}", None, "session", "", "passed", 0.0, n * day) for n in range(5)]
    assert [run.id for run in retention.evicted(runs, TraceSettings(max_age=2), now=4.5 * day)] == ["r0", "r1", "r2"]


def test_a_store_above_its_size_loses_what_was_used_least_recently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        record(tmp_path, run_id=f"run-{number}")
    monkeypatch.setattr(retention, "MEGABYTE", 150_000)
    going_on = Recorder.open(tmp_path, "going-on", Owner(), TraceSettings(max_size=1))
    left = kept(tmp_path)
    going_on.end("passed")
    assert "run-3" in left
    assert "run-0" not in left
    monkeypatch.setattr(retention, "MEGABYTE", 1)
    store = Store.open(tmp_path)
    assert store is not None
    with store:
        assert retention.prune(store, TraceSettings(max_size=1)) == len(left)
        assert store.runs() == []


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from selfdebug.trace.owner import Owner\nfrom selfdebug.trace.recorder import Recorder\n"
        "from selfdebug.trace.settings import TraceSettings\n"
        "recorder = Recorder.open(Path(sys.argv[1]), sys.argv[2], Owner(), TraceSettings())\n"
        "for number in range(30):\n    with recorder.step('try') as step:\n        step.set('a', number)\n"
        "recorder.end('passed')\nsys.exit(len(recorder.warnings))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), f"run-{n}"]) for n in range(4)]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    assert kept(tmp_path) == ["run-0", "run-1", "run-2", "run-3"]
    assert query(tmp_path, "get_value", step="try#29", key="a", run_id="run-2").data["value"] == "29"


def test_an_owner_is_named_by_the_option_then_by_the_environment() -> None:
    assert owner_of("a", {"SELFDEBUG_SESSION": "b"}) == Owner("a")
    assert owner_of(None, {"SELFDEBUG_SESSION": "b", "SELFDEBUG_ONE_SHOT": "1"}) == Owner("b")
    assert owner_of(None, {"SELFDEBUG_SESSION": "", "SELFDEBUG_ONE_SHOT": "1"}) == Owner(None, one_shot=True)
    assert owner_of(None, {"SELFDEBUG_ONE_SHOT": "0"}) == Owner()
    for wrong in ("x" * 201, "a\nb", "  "):
        with pytest.raises(UsageError, match="printable"):
            owner_of(wrong, {})


def test_a_query_on_a_store_of_many_runs_is_quick(tmp_path: Path) -> None:
    record(tmp_path, run_id="mine", session="a")
    store = Store.create(tmp_path)
    with store, store.transaction():
        for number in range(2000):
            store.import_run(Run(f"r{number}", f"s{number % 60}", "session", "", "passed", 1.0, 2.0), [], {})
    begun = time.process_time()
    for _ in range(10):
        assert query(tmp_path, "run_overview", Owner("a")).found
    assert (time.process_time() - begun) / 10 < 0.1
