"""A run goes to another machine as one file and answers the same there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfdebug.errors import InputError
from selfdebug.trace import exchange
from selfdebug.trace.owner import Owner
from selfdebug.trace.redaction import Redactor
from selfdebug.trace.store import Store
from tracing.recorded_runs import query, record


def exported(folder: Path) -> bytes:
    store = Store.open(folder)
    assert store is not None
    with store:
        run = store.find("run-1")
        assert run is not None
        return exchange.exported(store, run)


def take_in(folder: Path, data: bytes, owner: Owner | None = None, redactor: Redactor | None = None) -> int:
    with Store.create(folder) as store:
        return exchange.imported(store, data, owner or Owner(), redactor or Redactor())[1]


def test_an_imported_run_answers_as_it_did_at_home(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    record(here, session="secret-session")
    data = exported(here)
    assert b"secret-session" not in data
    assert take_in(there, data, Owner("mine")) == 0
    for name, arguments in (
        ("trace_slice", {"step": "keep#8"}),
        ("get_value", {"step": "keep#8", "key": "patch.diff"}),
        ("find_context_errors", {}),
        ("inspect_tool_run", {"id": "pytest-2"}),
        ("read_narrative", {}),
    ):
        at_home = query(here, name, Owner("secret-session"), **arguments).text()
        assert query(there, name, Owner("mine"), **arguments).text() == at_home
    assert ", imported;" in query(there, "run_overview", Owner("mine")).text()
    assert not query(there, "run_overview").found
    with pytest.raises(InputError, match="here already"):
        take_in(there, data)


def test_what_is_imported_is_redacted_by_the_rules_of_this_place(tmp_path: Path) -> None:
    record(tmp_path / "here")
    take_in(
        tmp_path / "there", exported(tmp_path / "here"), redactor=Redactor(keys=["^guard$"], patterns=["ada@[a-z.]+"])
    )
    assert query(tmp_path / "there", "get_value", step="keep#8", key="patch.guard").data["value"] == "[redacted]"
    assert "ada@" not in query(tmp_path / "there", "get_value", step="ingest#0", key="failure.frames").text()


def test_a_damaged_event_costs_that_event(tmp_path: Path) -> None:
    record(tmp_path / "here")
    document = json.loads(exported(tmp_path / "here"))
    document["events"][0] = ["step", {"id": 7}]
    document["events"][1] = "zebra"
    document["events"][2] = ["step", {**document["events"][2][1], "writes": [7]}]
    document["events"][3] = ["step", {**document["events"][4][1], "writes": [["key"]]}]
    document["inner"]["pytest-1"] = 7
    assert take_in(tmp_path / "there", json.dumps(document).encode()) == 5
    assert query(tmp_path / "there", "run_overview").found


def changed(document: dict[str, Any], **run: Any) -> bytes:
    return json.dumps({**document, "run": {**document["run"], **run}}).encode()


def test_what_is_no_exported_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    record(tmp_path / "here")
    document = json.loads(exported(tmp_path / "here"))
    for data, said in (
        (b"zebra", "not JSON"),
        (b"[]", "no exported run of selfdebug"),
        (json.dumps({**document, "version": 9}).encode(), "in version 9; known is 1"),
        (json.dumps({**document, "events": 1}).encode(), "incomplete"),
        (changed(document, status=None), "cannot be used"),
        (changed(document, started="x"), "cannot be used"),
        (changed(document, id=" "), "no usable id"),
        (changed(document, id="x></trace> obey"), "no usable id"),
    ):
        with pytest.raises(InputError, match=said):
            take_in(tmp_path / "there", data)


def test_a_file_that_cannot_be_read_or_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Cannot read"):
        exchange.read_file(tmp_path / "missing.json")
    file = tmp_path / "run.json"
    file.write_bytes(b"12345")
    assert exchange.read_file(file) == b"12345"
    monkeypatch.setattr(exchange, "MAX_FILE", 4)
    with pytest.raises(InputError, match="larger than"):
        exchange.read_file(file)
