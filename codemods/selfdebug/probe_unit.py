"""The whole lines that one probe may touch, and the concrete syntax tree of what is evaluated in them.

Only headers and one-line suites are shown to libcst; of an indented body it sees `pass` and empty lines, so that
neither the size of the body nor anything odd in it matters, and lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from codemods.selfdebug.base import Edit, RefusedError, TargetNotFoundError
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, from_code_range, span_from_bytes

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BEHIND_STATEMENT = re.compile(r"[ \t\f]*;?[ \t\f]*(#[^\r\n]*)?(\r\n|\n)?")
_ENCLOSING_LINE = "if 1:\n"
# libcst's native parser recurses on the C stack, which cannot be caught: what is nested deeper is refused beforehand.
_MAX_DEPTH = 180

_Clause = ast.stmt | ast.ExceptHandler | ast.match_case


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
        """The indentation of the first line, without what stands before a form feed (Python ignores it, too)."""
        return _indentation(self.lines[0]).rpartition("\f")[2]

    @property
    def enclosing(self) -> str:
        """The line that has to stand above the unit's lines for them to parse by themselves."""
        return _ENCLOSING_LINE if self.margin else ""

    @cached_property
    def span(self) -> Span:
        """From the first character of the first statement (or of its decorators) to the end of the last."""
        end = _span(self.source, self.statements[-1])
        return Span(self.first_line, len(_indentation(self.lines[0])), end.end_line, end.end_column)

    def replaced_by(self, text: str) -> Edit:
        """The edit that puts `text` in the place of the unit's lines."""
        before = "".join(self.source.lines[: self.first_line - 1]).encode(self.source.encoding)
        start = len(self.source.bom) + len(before)
        old = "".join(self.lines).encode(self.source.encoding)
        return Edit(start, start + len(old), text.encode(self.source.encoding))

    @cached_property
    def positions(self) -> dict[cst.CSTNode, Span]:
        """The place in the file of each node of the concrete syntax tree, without parentheses around the node."""
        shift = self.first_line - 1 - self.enclosing.count("\n")
        found = MetadataWrapper(self._module, unsafe_skip_copy=True).resolve(PositionProvider)
        return {node: from_code_range(place).shifted(shift) for node, place in found.items()}

    @cached_property
    def body(self) -> tuple[cst.CSTNode, ...]:
        """The concrete syntax trees of the statements. Raises RefusedError where libcst would not be exact."""
        if not self.enclosing:
            return tuple(self._module.body)
        return tuple(cst.ensure_type(self._module.body[0], cst.If).body.body)

    @cached_property
    def _module(self) -> cst.Module:
        shown = list(self.lines)
        for block in _indented_blocks(self.source, self.statements):
            first, last = line_range(block[0])[0] - self.first_line, line_range(block[-1])[1] - self.first_line
            indentation = _indentation(shown[first])
            shown[first : last + 1] = [f"{indentation}pass\n", *["\n"] * (last - first)]
        text = self.enclosing + "".join(line.rstrip("\r\n") + "\n" for line in shown)
        depth = max(_depth(self.source, statement) for statement in self.statements)
        if depth > _MAX_DEPTH:
            raise RefusedError("the statement is too deeply nested to be taken apart safely")
        try:
            module = cst.parse_module(text)
            is_exact = module.code == text
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise RefusedError("libcst does not parse the statement") from error
        if not is_exact:
            raise RefusedError("libcst does not give the statement back byte for byte")
        return module


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


def line_range(node: _Clause) -> tuple[int, int]:
    """The first line of a statement or clause, decorators included, and its last line."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, line_range(node.body[-1])[1]
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]), node.end_lineno or node.lineno


def _child_at(owner: ast.AST, line: int) -> tuple[Sequence[_Clause], int]:
    for block in _BLOCKS:
        siblings: list[_Clause] = getattr(owner, block, [])
        for index, child in enumerate(siblings):
            first, last = line_range(child)
            if first <= line <= last:
                return siblings, index
    return (), 0


def _unit(source: Source, siblings: Sequence[_Clause], index: int) -> ProbeUnit | None:
    """The run of siblings that share lines with the one at `index`, if it starts and ends with its lines."""
    statements = [node for node in siblings if isinstance(node, ast.stmt)]
    if not statements:
        return None
    first = last = index
    while first and line_range(statements[first - 1])[1] == line_range(statements[first])[0]:
        first -= 1
    while last + 1 < len(statements) and line_range(statements[last])[1] == line_range(statements[last + 1])[0]:
        last += 1
    run = tuple(statements[first : last + 1])
    return ProbeUnit(source, run) if _starts_line(source, run[0]) and _ends_line(source, run[-1]) else None


def _starts_line(source: Source, node: ast.stmt) -> bool:
    span, first = _span(source, node), line_range(node)[0]
    line = source.lines[first - 1]
    if first < span.start_line:  # decorators
        return line.lstrip(" \t\f").startswith("@")
    is_elif = isinstance(node, ast.If) and line.startswith("elif", span.start_column)
    is_continued = first > 1 and source.lines[first - 2].rstrip("\r\n").endswith("\\")
    return span.start_column == len(_indentation(line)) and not is_elif and not is_continued


def _ends_line(source: Source, node: ast.stmt) -> bool:
    span = _span(source, node)
    return _BEHIND_STATEMENT.fullmatch(source.lines[span.end_line - 1], span.end_column) is not None


def _indented_blocks(source: Source, owners: Sequence[ast.AST]) -> Iterator[Sequence[ast.stmt]]:
    """The outermost blocks below `owners` that stand on lines of their own."""
    for owner in owners:
        for block in _BLOCKS:
            children: list[_Clause] = getattr(owner, block, [])
            statements = [child for child in children if isinstance(child, ast.stmt)]
            if statements and _starts_line(source, statements[0]):
                yield statements
            else:
                yield from _indented_blocks(source, children)


def _span(source: Source, node: ast.stmt) -> Span:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return span_from_bytes(source.lines, node.lineno, node.col_offset, end_line, end_column)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def _depth(source: Source, root: ast.AST) -> int:
    """How deeply libcst will nest the parts of a statement that it is shown, counted without recursion."""
    hidden = {id(statement) for block in _indented_blocks(source, [root]) for statement in block}
    deepest, todo = 0, [(root, 0)]
    while todo:
        node, depth = todo.pop()
        depth += len(node.values) if isinstance(node, ast.BoolOp) else 1  # `a or b or c` is nested there
        deepest = max(deepest, depth)
        todo.extend((child, depth) for child in ast.iter_child_nodes(node) if id(child) not in hidden)
    return deepest
