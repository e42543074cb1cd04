"""The project that a workspace works on: its root, where its state and backups go, and its repository."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from selfdebug.errors import InputError, WorkspaceError
from selfdebug.workspace.backups import Backups
from selfdebug.workspace.errors import shown
from selfdebug.workspace.folder import Content
from selfdebug.workspace.places import Located, folder_of, locate
from selfdebug.workspace.repository import GitStore


@dataclass(slots=True)
class Project:
    """`root` is a real path; the repository is looked for when it is first needed."""

    root: Path
    state_dir: Path
    backups: Backups
    _git: GitStore | None = field(default=None, repr=False)

    def git(self) -> GitStore:
        """The repository around the project. Raises GitRefusedError with the reason why there is none to use."""
        if self._git is None:
            self._git = GitStore.open(self.root)
        return self._git

    def locate(self, file: str) -> Located:
        """The real place of a file. Raises InputError, OutsideError."""
        return locate(self.root, file, self.state_dir)

    def read(self, file: str) -> tuple[Located, Content]:
        """Read a file of the project. Raises InputError, OutsideError."""
        located = self.locate(file)
        try:
            with folder_of(self.root, located) as folder:
                return located, folder.read(located.name)
        except OSError as error:
            raise InputError(f"{shown(file)} cannot be read: {cause(error)}.") from error


def cause(error: OSError) -> str:
    """What the system says, as the end of a sentence."""
    return (error.strerror or str(error) or "unknown error").lower()


@contextmanager
def explained(action: str) -> Iterator[None]:
    """Turn an OSError of the block into a WorkspaceError: "<action>: <cause>."."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{action}: {cause(error)}.") from error
