"""What the project does elsewhere when something is missing: where a run's proposals look for donors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from selfdebug.errors import SelfdebugError
from selfdebug.paths import is_test_file, source_files
from selfdebug.stages.propose import Mine
from selfdebug.workspace import Workspace


def mine_of(root: Path, workspace: Workspace) -> Mine:
    """The project's files that are no tests, and what its history made of them; nothing is read before it is asked."""

    def files() -> Iterator[str]:
        return (file for file in source_files(root) if not is_test_file(file))

    def read(file: str) -> bytes | None:
        try:
            return workspace.read(file)
        except SelfdebugError:
            return None

    return Mine(files, read, workspace.past_changes)
