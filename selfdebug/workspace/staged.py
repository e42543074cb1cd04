"""What git's index says about one path, without reading the index as a whole.

libgit2 reads every entry, which for a hundred thousand files takes longer than all else that a snapshot does. An entry
of version 2 or 3 ends with the whole path and a NUL (see gitformat-index(5)), so the bytes are searched for that and
what stands before is checked. A path that is not found so may still be there: compressed (version 4), in the shared
part of a split index, or below a folder that a sparse one has folded. Whoever needs to know then asks libgit2.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct(">4sLL")  # signature, version, number of entries
_FIXED = struct.Struct(">24xL12x20sH")  # of an entry: mode, object, flags; times, owner and size are left out
_EXTENDED, _LONGEST = 0x4000, 0xFFF  # flags: two more bytes follow; the length of the path, at most
_STAGE_SHIFT, _STAGES = 12, 3
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o160000})
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Staged:
    """An entry: the mode, the name of the object in hexadecimal, and the stage, which is 0 outside of a conflict."""

    mode: int
    sha: str
    stage: int


def staged(index: Path, path: str) -> Staged | None:
    """The entry of a path relative to the top of the tree; None where there is none in plain sight. Raises OSError."""
    with index.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file
            return None
        with mapped:
            signature, version, _ = _HEADER.unpack(mapped[: _HEADER.size].ljust(_HEADER.size))
            return _found(mapped, path.encode()) if signature == b"DIRC" and version in (2, 3) else None


def _found(index: mmap.mmap, path: bytes) -> Staged | None:
    wanted = path + b"\0"
    at = _next(index, wanted, _HEADER.size)
    while at >= 0:
        entry = _entry_before(index, at, len(path))
        if entry is not None:
            return entry
        at = _next(index, wanted, at + 1)
    return None


def _next(index: mmap.mmap, wanted: bytes, start: int) -> int:
    """Where the bytes stand next, -1 for nowhere: looked for in pieces, which is quicker than in a mapping."""
    for offset in range(start, len(index), _CHUNK):
        at = index[offset : offset + _CHUNK + len(wanted) - 1].find(wanted)
        if at >= 0:
            return offset + at
    return -1


def _entry_before(index: mmap.mmap, at: int, length: int) -> Staged | None:
    """The entry whose path is at an offset; None where the bytes there are the end of a longer path, or no path."""
    for more in (0, 2):
        start = at - more - _FIXED.size
        if start < _HEADER.size or (start - _HEADER.size) % 8:
            continue
        mode, sha, flags = _FIXED.unpack(index[start : start + _FIXED.size])
        fits = bool(flags & _EXTENDED) == bool(more) and flags & _LONGEST == min(length, _LONGEST)
        if fits and mode in _MODES:
            return Staged(mode, sha.hex(), flags >> _STAGE_SHIFT & _STAGES)
    return None
