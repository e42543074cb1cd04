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
from typing import NamedTuple

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


def staged(index: str, path: str) -> Staged | NotStaged:
    """What the file `index` has for a path relative to the top of the tree: of one in conflict the first entry.

    Raises OSError.
    """
    fd = os.open(index, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _Index(fd, os.fstat(fd).st_size - _CHECKSUM).find(path.encode())
    finally:
        os.close(fd)


class _Entry(NamedTuple):
    """An entry and the places in its block where it begins and ends."""

    start: int
    after: int
    path: bytes
    mode: int
    sha: bytes
    flags: int

    def staged(self) -> Staged:
        return Staged(self.mode, self.sha.hex(), self.flags >> _STAGE_SHIFT & _STAGES)


@dataclass(frozen=True, slots=True)
class _Index:
    """An open index; `end` is where its checksum stands."""

    fd: int
    end: int

    def find(self, path: bytes) -> Staged | NotStaged:
        signature, version, _ = _HEADER.unpack(os.pread(self.fd, _HEADER.size, 0).ljust(_HEADER.size))
        if signature != b"DIRC" or version not in (2, 3):
            return NotStaged.UNKNOWN
        start = self._before(path)
        for _, entry in self._entries(start):
            if entry.path == path:
                return entry.staged()
            if entry.path > path:
                break
        names = self._extensions(start)
        if names is None:
            return NotStaged.UNKNOWN
        return NotStaged.PARTIAL if names & _PARTIAL else NotStaged.ABSENT

    def _before(self, path: bytes | None, start: int = _HEADER.size) -> int:
        """Where an entry begins that is not far before the place of a path, or of the end of all paths for None."""
        low, high = start, self.end
        while high - low > _NEAR:
            middle = low + (high - low) // 2 // _ALIGNMENT * _ALIGNMENT
            block = os.pread(self.fd, _BLOCK, middle)
            first = _first(block)
            # What looks like the first may only be the rest of one: the next is believed, and is needed to go up only.
            if first is not None and (path is None or first.path < path):
                entry = _entry(block, first.after)
                if entry is not None and middle + entry.start < high and (path is None or entry.path < path):
                    low = middle + entry.start
                    continue
            high = middle
        return low

    def _entries(self, at: int) -> Iterator[tuple[int, _Entry]]:
        """The entries from one on, up to what is none, each with the place after it."""
        block, base = b"", at
        while at < self.end:
            if base + len(block) < min(at + _LONGEST_ENTRY, self.end):
                block, base = os.pread(self.fd, 2 * _LONGEST_ENTRY, at), at
            entry = _entry(block, at - base)
            if entry is None:
                return
            at = base + entry.after
            yield at, entry

    def _extensions(self, start: int) -> set[bytes] | None:
        """The signatures of what stands behind the entries, where `start` is one; None where that is not clear."""
        at = start
        for after, _ in self._entries(self._before(None, start)):
            at = after
        names: set[bytes] = set()
        while at < self.end:
            name, size = _EXTENSION.unpack(os.pread(self.fd, _EXTENSION.size, at).ljust(_EXTENSION.size))
            names.add(name)
            at += _EXTENSION.size + size
        return names if at == self.end else None


def _first(block: bytes) -> _Entry | None:
    """What looks like the first whole entry of a block."""
    for mode in _MODES.finditer(block, _MODE_AT):
        start = mode.start() - _MODE_AT
        if start % _ALIGNMENT == 0 and (entry := _entry(block, start)) is not None:
            return entry
    return None


def _entry(block: bytes, start: int) -> _Entry | None:
    """The entry at a place of a block; None where none is, or not all of it."""
    if start + _FIXED.size > len(block) or _MODES.match(block, start + _MODE_AT) is None:
        return None
    mode, sha, flags = _FIXED.unpack_from(block, start)
    path_at = start + _FIXED.size + (2 if flags & _EXTENDED else 0)
    path_end = block.find(b"\0", path_at)
    if flags & _LONGEST != min(path_end - path_at, _LONGEST):
        return None
    after = start + (path_end - start) // _ALIGNMENT * _ALIGNMENT + _ALIGNMENT
    return _Entry(start, after, block[path_at:path_end], mode, sha, flags)
