"""The lines of a unified diff as rows of two columns: what was, what is, and which lines belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of one side, with its number; `changed` lines are not on the other side."""

    number: int
    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A line before and the line after that stands beside it; None where there is none."""

    before: Cell | None
    after: Cell | None


def rows(diff: str) -> Iterator[Row | None]:
    """The rows of a diff of one file, None before each hunk but the first."""
    removed: list[Cell] = []
    added: list[Cell] = []
    old = new = 0
    is_first = True
    for line in diff.split("\n"):
        hunk = _HUNK.match(line)
        if hunk:
            yield from _paired(removed, added)
            if not is_first:
                yield None
            is_first = False
            old, new = int(hunk[1]), int(hunk[2])
        elif is_first:
            continue  # the header
        elif line.startswith("-"):
            removed.append(Cell(old, line[1:], changed=True))
            old += 1
        elif line.startswith("+"):
            added.append(Cell(new, line[1:], changed=True))
            new += 1
        elif line.startswith(" "):
            yield from _paired(removed, added)
            yield Row(Cell(old, line[1:], changed=False), Cell(new, line[1:], changed=False))
            old, new = old + 1, new + 1
    yield from _paired(removed, added)


def _paired(removed: list[Cell], added: list[Cell]) -> Iterator[Row]:
    """The changed lines of one block beside each other, from the top; the lists are empty afterwards."""
    for number in range(max(len(removed), len(added))):
        before = removed[number] if number < len(removed) else None
        after = added[number] if number < len(added) else None
        yield Row(before, after)
    removed.clear()
    added.clear()
