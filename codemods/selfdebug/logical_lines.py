"""The logical lines of some physical ones, and a physical line without its end."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass

_LAYOUT = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """The tokens up to one NEWLINE: 0-based physical lines, and the column where the first token starts."""

    first: int
    column: int
    last: int

    def covers(self, line: int) -> bool:
        """Whether the 0-based `line` is one of its physical lines."""
        return self.first <= line <= self.last


def logical_lines(lines: list[str]) -> list[LogicalLine]:
    """The logical lines in whole physical `lines` that parse; blank and comment lines between them belong to none."""
    readline = iter([split_end(line)[0] + "\n" for line in lines]).__next__
    found: list[LogicalLine] = []
    start: tuple[int, int] | None = None
    for token in tokenize.generate_tokens(readline):
        if token.type == tokenize.NEWLINE and start is not None:
            found.append(LogicalLine(start[0] - 1, start[1], token.start[0] - 1))
            start = None
        elif start is None and token.type not in _LAYOUT:
            start = token.start
    return found


def split_end(line: str) -> tuple[str, str]:
    """A physical line and what ends it, perhaps nothing."""
    text = line.rstrip("\r\n")
    return text, line[len(text) :]
