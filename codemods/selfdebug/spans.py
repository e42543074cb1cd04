"""Positions in source text: 1-based lines and code-point columns, and the one place where byte columns are converted.

The standard library's `ast`, tracebacks and pytest count columns in UTF-8 bytes; libcst counts code points. Everything
in this project counts code points, so whatever comes from outside passes through `code_point_column` exactly once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst.metadata import CodeRange

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source: lines count from 1, columns are code points from 0, the end is exclusive."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int

    def contains(self, other: Span) -> bool:
        """Whether `other` lies inside this span (equal spans contain each other)."""
        return (self.start_line, self.start_column) <= (other.start_line, other.start_column) and (
            other.end_line,
            other.end_column,
        ) <= (self.end_line, self.end_column)

    def covers_line(self, line: int) -> bool:
        """Whether the 1-based `line` is one of the lines of this span."""
        return self.start_line <= line <= self.end_line

    def shifted(self, lines: int, columns: int = 0) -> Span:
        """The span moved by whole lines and columns (both may be negative)."""
        return Span(
            self.start_line + lines,
            self.start_column + columns,
            self.end_line + lines,
            self.end_column + columns,
        )


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends, split on LF, CRLF and CR only, as Python's tokenizer does.

    `str.splitlines` also splits on form feeds and other separators, which the tokenizer does not.
    """
    lines, start = [], 0
    for end in _LINE_END.finditer(text):
        lines.append(text[start : end.end()])
        start = end.end()
    if start < len(text):
        lines.append(text[start:])
    return lines


def code_point_column(line: str, byte_column: int) -> int:
    """The code-point column that corresponds to a UTF-8 `byte_column` in `line` (clamped to the line's end)."""
    if line.isascii():
        return min(byte_column, len(line))
    return len(line.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "ignore"))


def span_from_bytes(lines: list[str], start_line: int, start_byte: int, end_line: int, end_byte: int) -> Span:
    """The span of positions whose columns count UTF-8 bytes, as `ast` nodes and `co_positions()` give them.

    Raises IndexError when a line number lies outside `lines`.
    """
    return Span(
        start_line,
        code_point_column(lines[start_line - 1], start_byte),
        end_line,
        code_point_column(lines[end_line - 1], end_byte),
    )


def from_code_range(code_range: CodeRange) -> Span:
    """The span of a libcst position."""
    return Span(code_range.start.line, code_range.start.column, code_range.end.line, code_range.end.column)


def text_at(lines: list[str], span: Span) -> str:
    """The source text that `span` covers, with line ends as they are."""
    if span.start_line == span.end_line:
        return lines[span.start_line - 1][span.start_column : span.end_column]
    first = lines[span.start_line - 1][span.start_column :]
    middle = lines[span.start_line : span.end_line - 1]
    return "".join([first, *middle, lines[span.end_line - 1][: span.end_column]])
