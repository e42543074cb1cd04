"""The refusals of this package that a caller may want to tell apart from each other."""

from __future__ import annotations

from collections.abc import Iterable

from selfdebug.errors import InputError, WorkspaceError


class OutsideError(InputError):
    """A path that leads out of the project, or into a folder of it that is never edited."""

    reason = "outside-the-project"


class ReadOnlyError(InputError):
    """A file whose permissions say that it is not to be edited."""

    reason = "read-only"


class ChangedMeanwhileError(WorkspaceError):
    """Someone else changed a file of the run; `copies` names where the saved bytes are."""

    reason = "changed-meanwhile"

    def __init__(self, message: str, copies: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.copies = tuple(copies)


class GitRefusedError(Exception):
    """Git cannot hold these files here; `str(error)` says why, as the end of a sentence."""


class ReferenceLockedError(GitRefusedError):
    """A lock file, of a git command at work or of one that was killed, keeps a reference from being changed."""


def shown(file: str) -> str:
    """A file name as it may go to a terminal: escapes and undecodable bytes are written out."""
    return file if file.isprintable() else ascii(file)
