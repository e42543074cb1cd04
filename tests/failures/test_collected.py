"""Logs as people paste them, collected from many tools and systems: right types, right places, nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfdebug.stages.failures import read_log
from selfdebug.stages.failures.document import document

LOGS = sorted((Path(__file__).parent / "collected").glob("*.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_failure_is_found_and_no_other(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_name(path.stem + ".expected.json").read_text(encoding="utf-8"))
    told = document(read_log(path.read_bytes(), tmp_path, expected["project_root"]))["failures"]
    left = list(told)
    for wanted in sorted(expected["failures"], key=lambda one: bool(one.get("optional"))):
        hit = next((failure for failure in left if _matches(failure, wanted)), None)
        assert hit is not None or wanted.get("optional"), (wanted, told)
        if hit is not None:
            left.remove(hit)
    assert len(told) in expected.get("failure_count", [len(expected["failures"])])
    for place in expected.get("must_name", []):
        file, _, line = place.rpartition(":")
        assert f'"file": "{file}", "line": {line}' in json.dumps(told)


def _matches(failure: dict[str, Any], wanted: dict[str, Any]) -> bool:
    places = [wanted["deepest"], *wanted.get("also_accepted", [])]
    types = [wanted["exc_type"], *(leaf["exc_type"] for leaf in wanted.get("group_leaves", []))]
    return any(_last(failure["exc_type"]) == _last(kind) for kind in types) and any(
        _same_place(failure["deepest"], place) for place in places
    )


def _last(name: str | None) -> str:
    return (name or "").rpartition(".")[2]


def _same_place(place: dict[str, Any] | None, wanted: dict[str, Any] | None) -> bool:
    if place is None or wanted is None:
        return place is wanted
    same = (place["file"], place["line"]) == (wanted["file"], wanted["line"])
    function = wanted.get("function")
    return same and (not function or not place["function"] or _last(place["function"]) == _last(function))
