"""The copies that a person finds without knowing our journal: `{folder}/{basename}.{unix time}.bak`."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from selfdebug.errors import WorkspaceError
from selfdebug.workspace.folder import Folder

_DEFAULT_NAME = "agent-self-debugger-loop"
_LONGEST_NAME = 200  # bytes of a base name that leave room for number, time and suffix in the usual limit of 255


def short_name(name: str) -> str:
    """A base name cut so that a suffix still fits."""
    return os.fsdecode(os.fsencode(name)[-_LONGEST_NAME:])


def default_folder() -> Path:
    """The folder for backups under the system's temporary one; another user's folder of that name is not used."""
    base = Path(tempfile.gettempdir()) / _DEFAULT_NAME
    return base if _is_ours_or_free(base) else base.with_name(f"{_DEFAULT_NAME}-{os.geteuid()}")


def _is_ours_or_free(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    return path.is_dir() and not path.is_symlink() and status.st_uid == os.geteuid()


class Backups:
    """Writes backups into a folder that is made when the first one is."""

    def __init__(self, folder: Path | None) -> None:
        self._chosen = folder

    @property
    def is_chosen(self) -> bool:
        """Whether the user named the folder, and so wants the copies in any case."""
        return self._chosen is not None

    def save(self, name: str, data: bytes, suffix: str = "bak") -> str:
        """Write one copy and return its path. Raises WorkspaceError.

        Where the name is taken already the time in it is moved on second by second, so that no copy is overwritten.
        """
        path = self._chosen or default_folder()
        stamp = int(time.time())
        try:
            path.mkdir(mode=0o777 if self._chosen else 0o700, parents=True, exist_ok=True)
            with Folder.open(path) as folder:
                while True:
                    copy = f"{short_name(name)}.{stamp}.{suffix}"
                    try:
                        folder.create(copy, data)
                    except FileExistsError:
                        stamp += 1
                        continue
                    folder.sync()
                    return str(path / copy)
        except OSError as error:
            cause = (error.strerror or "unknown error").lower()
            raise WorkspaceError(f"No backup can be written to {path}: {cause}.") from error
