"""The whole lines that one probe may touch, and the concrete syntax tree of what is evaluated in them.

Only headers and one-line suites are shown to libcst; of an indented body it sees `pass` and empty lines, so that
neither the size of the body nor anything odd in it matters, and lines keep their numbers. The units of guards (`units`)
hold what a guard rewrites, bodies included where it moves them, and end where its edit ends.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from codemods.selfdebug.base import Edit, RefusedError, TargetNotFoundError
from codemods.selfdebug.excerpt import Excerpt
from codemods.selfdebug.source import BLOCKS, Clause, Source, line_range, sharing_lines
from codemods.selfdebug.spans import Span

_BEHIND_STATEMENT = re.compile(r"[ \t\f]*;?[ \t\f]*(#[^\r\n]*)?(\r\n|\n)?")
_ENCLOSING_LINE = "if 1:\n"


@dataclass(frozen=True)
class ProbeUnit:
    """Sibling statements that fill the lines `first_line` to `last_line` of a file."""

    source: Source
    statements: tuple[ast.stmt, ...]

    @cached_property
    def first_line(self) -> int:
        """The 1-based line that the first statement starts on, its decorators included."""
        return line_range(self.statements[0])[0]

    @cached_property
    def last_line(self) -> int:
        """The 1-based line that the last statement ends on."""
        return line_range(self.statements[-1])[1]

    @cached_property
    def lines(self) -> list[str]:
        """The unit's lines with their ends."""
        return self.source.lines[self.first_line - 1 : self.last_line]

    @cached_property
    def margin(self) -> str:
        """The indentation of the first line, as Python sees it."""
        return self.source.margin(self.first_line)

    @property
    def enclosing(self) -> str:
        """The line that has to stand above the unit's lines for them to parse by themselves."""
        return _ENCLOSING_LINE if self.margin else ""

    @cached_property
    def span(self) -> Span:
        """From the first character of the first statement (or of its decorators) to the end of the last."""
        end = self.source.extent(self.statements[-1])
        column = len(self.source.indentation_of(self.first_line))
        return Span(self.first_line, column, end.end_line, end.end_column)

    def replaced_by(self, text: str) -> Edit:
        """The edit that puts `text` in the place of the unit's lines."""
        return self.source.splice(self.source.starts[self.first_line - 1], self.source.starts[self.last_line], text)

    @cached_property
    def positions(self) -> dict[cst.CSTNode, Span]:
        """The place in the file of each node of the concrete syntax tree, without parentheses around the node."""
        return self._excerpt.places(self._module)

    @cached_property
    def body(self) -> tuple[cst.CSTNode, ...]:
        """The concrete syntax trees of the statements. Raises RefusedError where libcst would not be exact."""
        if not self.enclosing:
            return tuple(self._module.body)
        return tuple(cst.ensure_type(self._module.body[0], cst.If).body.body)

    @cached_property
    def _module(self) -> cst.Module:
        hidden = {id(each) for block in self._bodies for each in block}
        try:
            return self._excerpt.tree(self.statements, hidden)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise RefusedError("libcst does not parse the statement") from error

    @cached_property
    def _excerpt(self) -> Excerpt:
        shown = list(self.lines)
        for block in self._bodies:
            first, last = line_range(block[0])[0] - self.first_line, line_range(block[-1])[1] - self.first_line
            indentation = self.source.indentation_of(self.first_line + first)
            shown[first : last + 1] = [f"{indentation}pass\n", *["\n"] * (last - first)]
        return Excerpt(self.first_line, "".join(line.rstrip("\r\n") + "\n" for line in shown), self.enclosing)

    @cached_property
    def _bodies(self) -> tuple[Sequence[ast.stmt], ...]:
        return tuple(_indented_blocks(self.source, self.statements))


def unit_at(source: Source, line: int) -> ProbeUnit:
    """The smallest unit around the 1-based `line`. Raises TargetNotFoundError when no statement lies there."""
    owner: ast.AST | None = source.tree
    found: ProbeUnit | None = None
    while owner is not None:
        siblings, index = _child_at(owner, line)
        unit = _unit(source, siblings, index) if siblings else None
        found = unit or found
        owner = siblings[index] if siblings else None
    if found is None:
        raise TargetNotFoundError(f"no statement that has its lines for itself at line {line}")
    return found


def _child_at(owner: ast.AST, line: int) -> tuple[Sequence[Clause], int]:
    for block in BLOCKS:
        siblings: list[Clause] = getattr(owner, block, [])
        for index, child in enumerate(siblings):
            first, last = line_range(child)
            if first <= line <= last:
                return siblings, index
    return (), 0


def _unit(source: Source, siblings: Sequence[Clause], index: int) -> ProbeUnit | None:
    """The run of siblings that share lines with the one at `index`, if it starts and ends with its lines."""
    statements = [node for node in siblings if isinstance(node, ast.stmt)]
    if not statements:
        return None
    first, last = sharing_lines(statements, index, index)
    run = tuple(statements[first : last + 1])
    return ProbeUnit(source, run) if _starts_line(source, run[0]) and _ends_line(source, run[-1]) else None


def _starts_line(source: Source, node: ast.stmt) -> bool:
    span, first = source.extent(node), line_range(node)[0]
    line = source.lines[first - 1]
    if first < node.lineno:  # decorators
        return line.lstrip(" \t\f").startswith("@")
    is_elif = isinstance(node, ast.If) and line.startswith("elif", span.start_column)
    is_continued = first > 1 and source.lines[first - 2].rstrip("\r\n").endswith("\\")
    return span.start_column == len(source.indentation_of(first)) and not is_elif and not is_continued


def _ends_line(source: Source, node: ast.stmt) -> bool:
    span = source.extent(node)
    return _BEHIND_STATEMENT.fullmatch(source.lines[span.end_line - 1], span.end_column) is not None


def _indented_blocks(source: Source, owners: Sequence[ast.AST]) -> Iterator[Sequence[ast.stmt]]:
    """The outermost blocks below `owners` that stand on lines of their own."""
    for owner in owners:
        for block in BLOCKS:
            children: list[Clause] = getattr(owner, block, [])
            statements = [child for child in children if isinstance(child, ast.stmt)]
            if statements and _starts_line(source, statements[0]):
                yield statements
            else:
                yield from _indented_blocks(source, children)
