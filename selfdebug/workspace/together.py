"""Several files changed together, outside the repair loop: as a run of its own, which `selfdebug rollback` can undo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from selfdebug.errors import WorkspaceError
from selfdebug.model import EditedFile
from selfdebug.workspace.errors import shown
from selfdebug.workspace.run_ids import new_run_id
from selfdebug.workspace.workspace import Workspace


def write_together(root: Path, files: Sequence[EditedFile], kind: str) -> str:
    """Write the files, all of them or none; returns the id of the run, `kind-...`.

    Raises LockedError, InputError and WorkspaceError, the latter also where a file is not what it was before.
    """
    run_id = new_run_id(kind)
    names = [each.file for each in files]
    workspace = Workspace.open(root)
    with workspace.lock(run_id):
        workspace.recover()
        changed = [each.file for each in files if workspace.read(each.file) != each.before]
        if changed:
            raise WorkspaceError(f"{', '.join(map(shown, changed))} changed meanwhile, so nothing is written.")
        workspace.snapshot(names, run_id)
        for each in files:
            workspace.write(each.file, each.after)
        workspace.keep(f"selfdebug: {run_id} {', '.join(names)}")
    return run_id
