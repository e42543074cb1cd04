"""A combined patch in the user's project: through the workspace, as a run that `selfdebug rollback` can undo."""

from __future__ import annotations

from pathlib import Path

from selfdebug.batch.records import ProjectResult
from selfdebug.workspace.together import write_together


def applied(result: ProjectResult, root: Path) -> str:
    """Write the patch into the project at `root`, all of it or nothing; returns the id of the run that undoes it.

    Raises LockedError, InputError and WorkspaceError, the latter also where a file is not what the patch was made for.
    """
    return write_together(root, result.files, "batch")
