"""What git's index says about one path, without reading the index as a whole.

libgit2 reads every entry, which for a hundred thousand files takes longer than all else that a snapshot does. Entries
are sorted by path and, in versions 2 and 3, begin at multiples of eight bytes (see gitformat-index(5)): so the file is
bisected. From any place in it the next entry is found by its mode, and believed when its length, its path and the entry
after it fit. The paths of version 4 are only told by those before them, so its entries cannot be found in this way; the
index may also be split or sparse, and then lack entries: that is told by its extensions.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_HEADER = struct.Struct(">4sLL")  # signature, version, number of entries
_FIXED = struct.Struct(">24xL12x20sH")  # of an entry: mode, object, flags; times, owner and size are left out
_MODE_AT = 24
_EXTENDED, _LONGEST = 0x4000, 0xFFF  # flags: two more bytes follow; the length of the path, at most
_STAGE_SHIFT, _STAGES = 12, 3
_MODES = re.compile(rb"\0\0(?:\x81\xa4|\x81\xed|\xa0\0|\xe0\0|\x40\0)")  # file, program, link, repository, folder
_EXTENSION = struct.Struct(">4sL")  # signature, size
_PARTIAL = frozenset({b"link", b"sdir"})  # split, sparse
_CHECKSUM = 20
_ALIGNMENT = 8
_BLOCK, _LONGEST_ENTRY = 1 << 11, 1 << 13
_NEAR = 1 << 10  # bytes that are read through rather than bisected further


@dataclass(frozen=True, slots=True)
class Staged:
    """An entry: the mode, the name of the object in hexadecimal, and the stage, which is 0 outside of a conflict."""

    mode: int
    sha: str
    stage: int


class NotStaged(Enum):
    """Why there is no entry to be had."""

    ABSENT = "the path is not in the index"
    PARTIAL = "the index is split or sparse, and its own part does not name the path"
    UNKNOWN = "the index has to be read as a whole"


def staged(index: Path, path: str) -> Staged | NotStaged:
    """The entry of a path relative to the top of the tree; of one in conflict the first. Raises OSError."""
    fd = os.open(index, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _Index(fd, os.fstat(fd).st_size - _CHECKSUM).find(path.encode())
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True)
class _Entry:
    start: int
    after: int
    path: bytes
    staged: Staged


@dataclass(frozen=True, slots=True)
class _Index:
    """An open index; `end` is where its checksum stands."""

    fd: int
    end: int

    def find(self, path: bytes) -> Staged | NotStaged:
        signature, version, _ = _HEADER.unpack(os.pread(self.fd, _HEADER.size, 0).ljust(_HEADER.size))
        if signature != b"DIRC" or version not in (2, 3):
            return NotStaged.UNKNOWN
        after = self._before(path)
        for entry in self._entries(after):
            if entry.path >= path:
                return entry.staged if entry.path == path else self._without(entry.start)
            after = entry.after
        return self._without(after)

    def _without(self, start: int) -> NotStaged:
        """What it means that a path is not in its place, which is before the entry at `start`."""
        names = self._extensions(start)
        if names is None:
            return NotStaged.UNKNOWN
        return NotStaged.PARTIAL if names & _PARTIAL else NotStaged.ABSENT

    def _before(self, path: bytes | None, start: int = _HEADER.size) -> int:
        """Where an entry begins that is not far before the place of a path, or of the end of all paths for None."""
        low, high = start, self.end
        while high - low > _NEAR:
            middle = low + (high - low) // 2 // _ALIGNMENT * _ALIGNMENT
            entry = self._next(middle)
            if entry is not None and entry.start < high and (path is None or entry.path < path):
                low = entry.start
            else:
                high = middle
        return low

    def _next(self, at: int) -> _Entry | None:
        """An entry soon after a place: the second that looks like one, as the first may only be the rest of one."""
        block = os.pread(self.fd, _BLOCK, at)
        for mode in _MODES.finditer(block, _MODE_AT):
            start = mode.start() - _MODE_AT
            if start % _ALIGNMENT == 0 and (first := _entry(block, start, at)) is not None:
                return _entry(block, first.after - at, at)
        return None

    def _entries(self, at: int) -> Iterator[_Entry]:
        """The entries from one on, up to what is none."""
        block, base = b"", at
        while at < self.end:
            if base + len(block) < min(at + _LONGEST_ENTRY, self.end):
                block, base = os.pread(self.fd, 2 * _LONGEST_ENTRY, at), at
            entry = _entry(block, at - base, base)
            if entry is None:
                return
            yield entry
            at = entry.after

    def _extensions(self, start: int) -> set[bytes] | None:
        """The signatures of what stands behind the entries, where `start` is one; None where that is not clear."""
        at = start
        for entry in self._entries(self._before(None, start)):
            at = entry.after
        names: set[bytes] = set()
        while at < self.end:
            name, size = _EXTENSION.unpack(os.pread(self.fd, _EXTENSION.size, at).ljust(_EXTENSION.size))
            names.add(name)
            at += _EXTENSION.size + size
        return names if at == self.end else None


def _entry(block: bytes, start: int, base: int) -> _Entry | None:
    """The entry at a place of a block that was read from `base` on; None where none is, or not all of it."""
    if start + _FIXED.size > len(block) or _MODES.match(block, start + _MODE_AT) is None:
        return None
    mode, sha, flags = _FIXED.unpack_from(block, start)
    path_at = start + _FIXED.size + (2 if flags & _EXTENDED else 0)
    path_end = block.find(b"\0", path_at)
    if flags & _LONGEST != min(path_end - path_at, _LONGEST):
        return None
    after = start + (path_end - start) // _ALIGNMENT * _ALIGNMENT + _ALIGNMENT
    entry = Staged(mode, sha.hex(), flags >> _STAGE_SHIFT & _STAGES)
    return _Entry(base + start, base + after, block[path_at:path_end], entry)
