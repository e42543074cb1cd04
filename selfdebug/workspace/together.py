"""Several files changed together, outside the repair loop: as a run of its own, which `selfdebug rollback` can undo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from selfdebug.errors import WorkspaceError
from selfdebug.workspace.errors import shown
from selfdebug.workspace.run_ids import new_run_id
from selfdebug.workspace.workspace import Workspace


def write_together(root: Path, files: Sequence[tuple[str, bytes, bytes]], kind: str) -> str:
    """Write the files (name, bytes before, bytes after), all of them or none; returns the id of the run, `kind-...`.

    Raises LockedError, InputError and WorkspaceError, the latter also where a file is not what it was before.
    """
    run_id = new_run_id(kind)
    names = [file for file, _, _ in files]
    workspace = Workspace.open(root)
    with workspace.lock(run_id):
        workspace.recover()
        changed = [file for file, before, _ in files if workspace.read(file) != before]
        if changed:
            raise WorkspaceError(f"{', '.join(map(shown, changed))} changed meanwhile, so nothing is written.")
        workspace.snapshot(names, run_id)
        for file, _, after in files:
            workspace.write(file, after)
        workspace.keep(f"selfdebug: {run_id} {', '.join(names)}")
    return run_id
