"""Where a file of the project really lies, and the refusal of everything that lies elsewhere.

Paths come from logs, command lines and journals: they are data, whatever they say.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from selfdebug.errors import InputError
from selfdebug.workspace.errors import OutsideError, shown
from selfdebug.workspace.folder import Folder


@dataclass(frozen=True, slots=True)
class Located:
    """A file by its real path, relative to the root and free of links: two names of one file are one."""

    file: str

    @property
    def name(self) -> str:
        """The last component."""
        return self.file.rpartition("/")[2]

    @property
    def folders(self) -> tuple[str, ...]:
        """The components before the last."""
        return tuple(self.file.split("/")[:-1])


def locate(root: Path, file: str, reserved: Path) -> Located:
    """Find the real place of `file`, a relative POSIX path, which need not exist if its folder does.

    `root` is a real path; `reserved` is a folder whose files are not the project's. Raises OutsideError for a path that
    is absolute, climbs out, leads out through a link, or into git's own folder; InputError where nothing can be there.
    """
    real = _in_plain_sight(root, file) or _followed(root, file)
    inside = f"{root}/" if root.name else "/"
    if not real.startswith(inside):
        raise OutsideError(f"{shown(file)} leads to a place outside the project; it is not read or written.")
    relative = real.removeprefix(inside)
    if f"{real}/".startswith(f"{reserved}/") or ".git" in relative.casefold().split("/"):
        raise OutsideError(f"{shown(file)} does not belong to the project's sources; it is not read or written.")
    return Located(relative)


def _in_plain_sight(root: Path, file: str) -> str | None:
    """The real path of a file to which no link and no detour leads, which is the common case; None for any other."""
    *folders, name = file.split("/")
    if not {"", ".", ".."}.isdisjoint((*folders, name)) or "\0" in file:
        return None
    place = str(root) if root.name else ""
    try:
        for folder in folders:
            place = f"{place}/{folder}"
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return None
        place = f"{place}/{name}"
        return None if stat.S_ISLNK(os.lstat(place).st_mode) else place
    except (OSError, ValueError):
        return None  # also a file that is not there, or has no name on disk: the other way says what that means


def _followed(root: Path, file: str) -> str:
    """The real path of a file, links followed. Raises OutsideError, InputError."""
    path = PurePosixPath(file)
    if not file or "\0" in file or path.is_absolute() or ".." in path.parts or not path.parts:
        raise OutsideError(f"{shown(file)} is not a path inside the project.")
    try:
        os.fsencode(file)
        folder = os.path.realpath(root / path.parent, strict=True)
        real = Path(folder, path.name)
        return os.path.realpath(real, strict=True) if real.is_symlink() else str(real)
    except OSError as error:
        raise InputError(f"{shown(file)} cannot be reached: {_cause(error)}.") from error
    except UnicodeEncodeError as error:
        raise InputError(f"{shown(file)} cannot be reached: no file has such a name.") from error


def _cause(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "its symbolic links form a loop"
    if error.errno == errno.ENOENT:
        return "there is no such file"
    return (error.strerror or "unknown error").lower()


@contextmanager
def folder_of(root: Path, located: Located) -> Iterator[Folder]:
    """Open the folder that holds the file, component by component; a link that appeared meanwhile is an OSError."""
    folder = Folder.open(root)
    try:
        for name in located.folders:
            inner = folder.enter(name)
            folder.close()
            folder = inner
        yield folder
    finally:
        folder.close()
