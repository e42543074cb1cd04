"""Unified diffs of bytes that `git apply` and `patch -p1` accept, and the changed blocks that other formats need.

Lines end at LF only, as git and patch see them: the CR of a CRLF end is part of the line and survives.
The alignment is difflib's (Ratcliff and Obershelp) on the part between the common first and last lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

CONTEXT = 3
_NO_FINAL_NEWLINE = b"\\ No newline at end of file\n"
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_NEEDS_QUOTES = re.compile(r'[\x00-\x1f\x7f"\\\ud800-\udfff]')


@dataclass(frozen=True, slots=True)
class Block:
    """A run of changed lines: those from `start` (counted from 0) on, `removed`, become `added`."""

    start: int
    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their ends, split at LF only."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _common(first: list[bytes], second: list[bytes]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _matcher(before: list[bytes], after: list[bytes]) -> tuple[SequenceMatcher[bytes], int]:
    """A matcher of the part that differs, with CONTEXT lines around, and the line it starts at."""
    head = max(0, _common(before, after) - CONTEXT)
    tail = _common(before[head:][::-1], after[head:][::-1])
    tail = max(0, tail - CONTEXT)
    matcher = SequenceMatcher(None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False)
    return matcher, head


def blocks(before: bytes, after: bytes) -> tuple[Block, ...]:
    """The changed blocks in order."""
    old, new = lines_of(before), lines_of(after)
    matcher, head = _matcher(old, new)
    return tuple(
        Block(head + i1, tuple(old[head + i1 : head + i2]), tuple(new[head + j1 : head + j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def unified(file: str, before: bytes, after: bytes) -> bytes:
    """The diff that turns `before` into `after`; `file` is relative to the root of the patch. Empty when equal."""
    if before == after:
        return b""
    old, new = lines_of(before), lines_of(after)
    matcher, head = _matcher(old, new)
    parts = [_header(file)]
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        parts.append(_range_line(head + first[1], head + last[2], head + first[3], head + last[4]))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                parts.extend(_marked(b" ", old[head + i1 : head + i2]))
            else:
                parts.extend(_marked(b"-", old[head + i1 : head + i2]))
                parts.extend(_marked(b"+", new[head + j1 : head + j2]))
    return b"".join(parts)


def _marked(mark: bytes, lines: list[bytes]) -> list[bytes]:
    return [mark + line if line.endswith(b"\n") else mark + line + b"\n" + _NO_FINAL_NEWLINE for line in lines]


def _range_line(i1: int, i2: int, j1: int, j2: int) -> bytes:
    return f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n".encode()


def _range(start: int, stop: int) -> str:
    """Start and length as diff counts them: an empty range names the line before it, a length of 1 is left out."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _header(file: str) -> bytes:
    old, new = quoted(f"a/{file}"), quoted(f"b/{file}")
    # git ends a name that holds a space with a tab, so that patch does not take the rest for a time stamp
    end = "\t" if " " in file and not old.startswith('"') else ""
    lines = f"diff --git {old} {new}\n--- {old}{end}\n+++ {new}{end}\n"
    return lines.encode("utf-8")


def quoted(name: str) -> str:
    """The name as git writes it in a diff: in C quotes when it holds a quote, a backslash, a control or a stray byte.

    Other characters stay readable, as under `core.quotePath=false`; git and patch read both.
    """
    if not _NEEDS_QUOTES.search(name):
        return name
    return '"' + "".join(_ESCAPES.get(character) or _octal(character) for character in name) + '"'


def _octal(character: str) -> str:
    if not _NEEDS_QUOTES.match(character):
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
