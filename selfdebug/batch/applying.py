"""A combined patch in the user's project: through the workspace, as a run that `selfdebug rollback` can undo."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from selfdebug.batch.records import ProjectResult
from selfdebug.errors import WorkspaceError
from selfdebug.workspace import Workspace, shown


def applied(result: ProjectResult, root: Path) -> str:
    """Write the patch into the project at `root`, all of it or nothing; returns the id of the run that undoes it.

    Raises LockedError, InputError and WorkspaceError, the latter also where a file is not what the patch was made for.
    """
    run_id = f"batch-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:12]}"
    workspace = Workspace.open(root)
    with workspace.lock(run_id):
        workspace.recover()
        changed = [file for file, before, _ in result.files if workspace.read(file) != before]
        if changed:
            names = ", ".join(map(shown, changed))
            raise WorkspaceError(f"{names} changed since the batch began, so nothing is applied to {result.project}.")
        workspace.snapshot([file for file, _, _ in result.files], run_id)
        for file, _, after in result.files:
            workspace.write(file, after)
        workspace.keep(f"selfdebug: {run_id} {', '.join(file for file, _, _ in result.files)}")
    return run_id
