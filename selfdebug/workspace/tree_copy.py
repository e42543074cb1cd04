"""A folder copied as it stands: the same bytes, modes, times and links, without caches, with environments linked.

Environments (a virtual environment, node_modules) are large, hold absolute paths and are not edited by a run, so the
copy has a link to each instead. Whatever git tracks is copied, wherever it lies.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from selfdebug.paths import is_cache_folder, is_environment_folder

_CHUNK = 1 << 20


@dataclass(slots=True)
class TreeCopy:
    """Copies the tree `source` into the folder `target`; `digest` then identifies what was copied,
    and `linked` names the environments.

    `tracked` are the paths, relative to `source`, that are copied also out of caches and environments; with None there
    are neither, and everything is copied. What vanishes on the way, or may not be read, is left out: it is not ours to
    say what such files are for. Raises OSError where the copy cannot be written.
    """

    source: Path
    target: Path
    tracked: Collection[str] | None
    files: int = 0
    linked: list[str] = field(default_factory=list)
    _seen: hashlib._Hash = field(default_factory=hashlib.sha256)
    _kept_folders: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """SHA-256 over the names and bytes of all files, in hexadecimal."""
        return self._seen.hexdigest()

    def make(self) -> TreeCopy:
        """Copy everything, and return this."""
        self._kept_folders = frozenset(
            "/".join(parts[:end])
            for parts in (path.split("/") for path in self.tracked or ())
            for end in range(1, len(parts))
        )
        self._folder("")
        return self

    def _folder(self, relative: str) -> None:
        (self.target / relative).mkdir(exist_ok=not relative)
        for entry in _entries(self.source / relative):
            self._entry(entry, f"{relative}/{entry.name}" if relative else entry.name)
        _dress(self.source / relative, self.target / relative)

    def _entry(self, entry: os.DirEntry[str], relative: str) -> None:
        if entry.is_symlink():
            self._link(relative)
        elif entry.is_file(follow_symlinks=False):
            if entry.name != ".git":  # of a linked worktree or a submodule: it leads to the repository of the original
                self._file(relative)
        elif entry.is_dir(follow_symlinks=False):
            is_kept = self.tracked is None or relative in self._kept_folders
            if is_environment_folder(Path(entry.path)) and not is_kept:
                (self.target / relative).symlink_to(self.source / relative, target_is_directory=True)
                self.linked.append(relative)
            elif is_kept or not is_cache_folder(entry.name):
                self._folder(relative)

    def _link(self, relative: str) -> None:
        goal = (self.source / relative).readlink()
        self._note(relative, b"link " + os.fsencode(goal))
        inside = goal.is_relative_to(self.source)
        (self.target / relative).symlink_to(self.target / goal.relative_to(self.source) if inside else goal)

    def _file(self, relative: str) -> None:
        try:
            source = os.open(self.source / relative, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, PermissionError):
            return
        try:
            status = os.fstat(source)
            content = hashlib.sha256()
            target = os.open(self.target / relative, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                while data := os.read(source, _CHUNK):
                    content.update(data)
                    while data:
                        data = data[os.write(target, data) :]
                os.fchmod(target, stat.S_IMODE(status.st_mode))
                os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(target)
        finally:
            os.close(source)
        self.files += 1
        self._note(relative, content.digest())

    def _note(self, relative: str, what: bytes) -> None:
        self._seen.update(os.fsencode(relative) + b"\0" + what)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, in a settled order; nothing where it may not be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, PermissionError):
        return []


def _dress(source: Path, target: Path) -> None:
    status = source.stat()
    target.chmod(stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
