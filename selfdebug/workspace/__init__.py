"""The user's files: the only place that writes into a project or imports pygit2.

`Workspace` is the door; the records that it returns and the refusals that it raises are exported beside it.
"""

from __future__ import annotations

from selfdebug.workspace.errors import ChangedMeanwhileError, OutsideError, ReadOnlyError, shown
from selfdebug.workspace.past_changes import PastChange
from selfdebug.workspace.records import Conflict, JournalRun, Kept, Owner, Recovery, RollBack, RunStatus, Undo
from selfdebug.workspace.run_ids import new_run_id
from selfdebug.workspace.workspace import Snapshot, Workspace

__all__ = [
    "ChangedMeanwhileError",
    "Conflict",
    "JournalRun",
    "Kept",
    "OutsideError",
    "Owner",
    "PastChange",
    "ReadOnlyError",
    "Recovery",
    "RollBack",
    "RunStatus",
    "Snapshot",
    "Undo",
    "Workspace",
    "new_run_id",
    "shown",
]
