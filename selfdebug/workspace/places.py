"""Where a file of the project really lies, and the refusal of everything that lies elsewhere.

Paths come from logs, command lines and journals: they are data, whatever they say.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    path = PurePosixPath(file)
    if not file or "\0" in file or path.is_absolute() or ".." in path.parts or not path.parts:
        raise OutsideError(f"{shown(file)} is not a path inside the project.")
    try:
        folder = os.path.realpath(root / path.parent, strict=True)
        real = Path(folder, path.name)
        if real.is_symlink():
            real = Path(os.path.realpath(real, strict=True))
    except OSError as error:
        raise InputError(f"{shown(file)} cannot be reached: {_cause(error)}.") from error
    if not real.is_relative_to(root) or real == root:
        raise OutsideError(f"{shown(file)} leads to a place outside the project; it is not read or written.")
    relative = real.relative_to(root)
    if real.is_relative_to(reserved) or any(part.casefold() == ".git" for part in relative.parts):
        raise OutsideError(f"{shown(file)} does not belong to the project's sources; it is not read or written.")
    return Located(relative.as_posix())


def _cause(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "its symbolic links form a loop"
    if error.errno == errno.ENOENT:
        return "there is no such file"
    return (error.strerror or "unknown error").lower()


@contextmanager
def folder_of(root: Path, located: Located) -> Iterator[Folder]:
    """Open the folder that holds the file, component by component; a link that appeared meanwhile is an OSError."""
    with ExitStack() as stack:
        folder = stack.enter_context(Folder.open(root))
        for name in located.folders:
            folder = stack.enter_context(folder.enter(name))
        yield folder
