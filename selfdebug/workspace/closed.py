"""The runs that are over, listed in the state folder, so that a run need not read the journals of all before it.

A run is listed after its end is durable, and struck off, durably, before its undoing is announced. So the
list may lack runs that are over, whose journals are read then, but it never names one that has to be recovered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from selfdebug.workspace.folder import Folder
from selfdebug.workspace.run_ids import RUN_ID

_NAME = "closed-runs"
_LINE = re.compile(rf"^({RUN_ID}) ([0-9]+(?:\.[0-9]+)?)$", re.MULTILINE)


def closed_runs(state: Folder) -> dict[str, float]:
    """When each listed run began, by its id; lines that are torn or foreign are left out."""
    try:
        text = state.read(_NAME).data.decode("ascii", "replace")
    except OSError:
        return {}
    return {run_id: float(started) for run_id, started in _LINE.findall(text)}


def add_closed(state: Folder, runs: Mapping[str, float]) -> None:
    """List more runs. Nothing is synced: what gets lost is found out again."""
    if runs:
        state.append(_NAME, _lines(runs))


def replace_closed(state: Folder, runs: Mapping[str, float]) -> None:
    """List these runs and no others, durably."""
    state.publish(_NAME, _lines(runs))


def _lines(runs: Mapping[str, float]) -> bytes:
    return "".join(f"{run_id} {started!r}\n" for run_id, started in runs.items()).encode("ascii")
