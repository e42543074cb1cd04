"""Captured logs of real tools, each with what its project's source says went wrong, read back by `read_log`.

`samples/<form>/NAME.log` stands beside `NAME.json`. The expectations were written from the source of the projects and
the options of the run, not from what the reader makes of the log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfdebug.model import Failure, Frame
from selfdebug.stages.failures import read_log

SAMPLES = Path(__file__).parent / "samples"
LOGS = sorted(SAMPLES.glob("*/*.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_log_is_understood(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    log = read_log(path.read_bytes(), tmp_path, expected["log_root"])
    wanted, told = expected["failures"], list(log.failures)
    if expected.get("any_order"):
        told.sort(key=_order)
        wanted = sorted(wanted, key=lambda one: (one["node_id"] or "", one["when"], one["type"] or ""))
    assert [_differences(failure, one) for failure, one in zip(told, wanted, strict=False)] == [[]] * len(wanted)
    assert len(told) == len(wanted)


def _order(failure: Failure) -> tuple[str, str, str]:
    return failure.node_id or "", failure.when.value, failure.exception.type


def _differences(failure: Failure, wanted: dict[str, Any]) -> list[str]:
    """What the record says otherwise than the expectation; a message that pytest cut must be marked so."""
    told = {
        "node_id": failure.node_id,
        "when": failure.when.value,
        "type": failure.exception.type or None,
        "deepest": _place(failure.deepest),
        "source": _place(failure.deepest_source),
        "causes": [[cause.exception.type, _place(cause.deepest)] for cause in failure.causes],
        "group": [[member.exception.type, _place(member.deepest)] for member in failure.group],
    }
    found = [f"{key}: {told[key]!r}, not {wanted[key]!r}" for key in told if not _same(key, told[key], wanted)]
    message = wanted.get("message")
    if message is not None and not _same_message(failure, message):
        found.append(f"message: {failure.exception.message!r}, not {message!r}")
    return found


def _same(key: str, told: Any, wanted: dict[str, Any]) -> bool:
    if key in ("deepest", "source") and told and wanted[key]:
        shorter = min(told.count(":"), wanted[key].count(":")) + 1
        return bool(told.split(":")[:shorter] == wanted[key].split(":")[:shorter])
    return bool(told == wanted[key])


def _same_message(failure: Failure, message: str) -> bool:
    told = failure.exception.message
    if failure.exception.is_cut:
        return message.startswith(told.removesuffix("..."))
    return told == message


def _place(frame: Frame | None) -> str | None:
    if frame is None:
        return None
    return ":".join(str(part) for part in (frame.file, frame.line, frame.function) if part is not None)
