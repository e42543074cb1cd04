"""What a kept run changed: the saved bytes of its files beside the bytes that are there now."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from selfdebug.errors import UsageError, WorkspaceError
from selfdebug.model import EditedFile
from selfdebug.workspace import past
from selfdebug.workspace.errors import shown
from selfdebug.workspace.project import explained
from selfdebug.workspace.records import RunStatus
from selfdebug.workspace.run_folder import opened_run
from selfdebug.workspace.state import find_state_dir, opened
from selfdebug.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Changes:
    """The files of a kept run, each with its bytes before the run and now."""

    run_id: str
    files: tuple[EditedFile, ...]


def changes_of(root: Path, run_id: str | None = None) -> Changes:
    """What a kept run changed, the last one by default; nothing is written.

    Raises UsageError where there is no such run, InputError for a file that cannot be read now, WorkspaceError where
    the journal or a saved copy cannot be read.
    """
    workspace = Workspace.open(root)
    chosen, before = _saved(workspace.root, run_id)
    return Changes(chosen, tuple(EditedFile(file, data, workspace.read(file)) for file, data in sorted(before.items())))


def _saved(root: Path, run_id: str | None) -> tuple[str, dict[str, bytes]]:
    with explained("The journal cannot be read"), opened(root, find_state_dir(root, os.environ)) as state:
        known = past.states(state) if state is not None else {}
        kept = [name for name, run in known.items() if run.status is RunStatus.KEPT and run_id in (None, name)]
        if state is None or not kept:
            name = "There is no kept run" if run_id is None else f"There is no kept run {shown(run_id)}"
            raise UsageError(f"{name} in this project.")
        with opened_run(state, kept[-1]) as run:
            files = {file: run.state.saved[file] for file in run.state.final if file in run.state.saved}
            copies = {file: run.saved_bytes(one.copy or "", one.sha or "") for file, one in files.items()}
    gone = [file for file, data in copies.items() if data is None]
    if gone:
        raise WorkspaceError(f"The saved copy of {shown(gone[0])} is gone or damaged.")
    return kept[-1], {file: data for file, data in copies.items() if data is not None}
