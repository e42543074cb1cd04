"""The stretch of a file that one edit may touch, cut out of its surroundings and parsed with libcst.

A unit is a run of whole lines: the statements that share a logical line, the header of a compound statement or clause
(its body replaced by `pass`, so that size and oddities of the body do not matter), or a whole compound statement. What
libcst needs around it (`if 1:` for the indentation, `try:` before an `except`) is put before it and taken off again.
Probes have units of their own (`probe_unit`), which never hold an indented body.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.excerpt import Excerpt
from codemods.selfdebug.source import BLOCKS, Level, Statement, line_range, sharing_lines

if TYPE_CHECKING:
    from codemods.selfdebug.source import Source
    from codemods.selfdebug.spans import Span

MAX_LENGTH = 300_000


@dataclass(frozen=True, eq=False)
class Unit:
    """An excerpt of the source, and its concrete syntax tree.

    `levels` leads to its first statement, `count` is the number of sibling statements in it.
    """

    source: Source
    excerpt: Excerpt
    levels: tuple[Level, ...]
    count: int
    module: cst.Module

    @property
    def start(self) -> int:
        """The index into the text of the source at which the unit starts."""
        return self.source.starts[self.excerpt.first_line - 1]

    @property
    def end(self) -> int:
        """The index into the text of the source behind the unit."""
        return self.start + len(self.excerpt.code)

    @cached_property
    def positions(self) -> dict[cst.CSTNode, Span]:
        """Where each node of the unit lies in the file (parentheses around a node excluded)."""
        return self.excerpt.places(self.module)

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The parent of each node."""
        parents: dict[cst.CSTNode, cst.CSTNode] = {}
        todo: list[cst.CSTNode] = [self.module]
        while todo:
            node = todo.pop()
            for child in node.children:
                parents[child] = node
                todo.append(child)
        return parents


def line_unit(source: Source, statement: Statement, *, whole: bool, count: int = 1) -> Unit:
    """The unit for a target inside `statement`: its lines, or those of the statement whose one-line suite holds it.

    `whole` asks for a compound statement with its body; otherwise its header is enough. `count` asks for that many
    statements of the block, from `statement` on.
    """
    node = statement.node
    if not whole and any(hasattr(node, block) for block in BLOCKS) and not isinstance(node, ast.Try):
        return header_unit(source, statement)
    siblings, index = statement.levels[-1].siblings, statement.levels[-1].index
    first, last = sharing_lines(siblings, index, index + count - 1)
    line = line_range(siblings[first])[0]
    column = source.extent(siblings[first]).start_column
    is_clause = isinstance(node, ast.ExceptHandler | ast.match_case) or is_elif(source, statement)
    if is_clause or source.lines[line - 1][:column].strip(" \t\f"):
        assert statement.parent is not None  # at the module's level the first statement of a line starts it
        return line_unit(source, statement.parent, whole=True)
    code = source.text[source.starts[line - 1] : source.starts[line_range(siblings[last])[1]]]
    excerpt = Excerpt(line, code, _enclosing_line(source, line))
    return _unit(source, excerpt, statement.beside(first).levels, last - first + 1)


def header_unit(source: Source, statement: Statement) -> Unit:
    """The header of a compound statement or clause, its body replaced by `pass`."""
    node = statement.node
    line = line_range(node)[0]
    indent, newline = source.indentation_of(line), source.newline(line)
    prefix = _enclosing_line(source, line)
    if isinstance(node, ast.ExceptHandler):
        prefix += f"{indent}try:{newline}{indent} pass{newline}"
    elif isinstance(node, ast.match_case):
        prefix = f"match 1:{newline}"
    elif is_elif(source, statement):
        prefix += f"{indent}if 1:{newline}{indent} pass{newline}"
    end, suffix = _body_start(source, node)
    suffix += ("case _: pass" if isinstance(node, ast.Match) else "pass") + newline
    code = source.text[source.starts[line - 1] : end]
    return _unit(source, Excerpt(line, code, prefix, suffix), statement.levels, 1)


def _unit(source: Source, excerpt: Excerpt, levels: tuple[Level, ...], count: int) -> Unit:
    if len(excerpt.code) > MAX_LENGTH:
        raise RefusedError("the statement is too long to be rewritten")
    index = levels[-1].index
    tree = excerpt.tree(levels[-1].siblings[index : index + count])
    module = _with_indent(tree, indentation_unit(source, levels))
    newline = source.newline(excerpt.first_line)
    return Unit(source, excerpt, levels, count, module.with_changes(default_newline=newline))


def is_elif(source: Source, statement: Statement) -> bool:
    """Whether the statement is an `elif`, which the ast shows as an `if` in the `else` of another."""
    node, level = statement.node, statement.levels[-1]
    if not (isinstance(node, ast.If) and isinstance(level.owner, ast.If) and level.block == "orelse"):
        return False
    return source.text.startswith("elif", source.offset(node.lineno, source.extent(node).start_column))


def indentation_unit(source: Source, levels: Sequence[Level]) -> str:
    """By how much the file indents a block here: as the innermost block around, else as its first indented block."""
    for level in reversed(levels):
        unit = _block_indent(source, level.owner)
        if unit:
            return unit
    return next((unit for node in ast.walk(source.tree) if (unit := _block_indent(source, node))), "    ")


def _block_indent(source: Source, owner: ast.AST) -> str | None:
    body = getattr(owner, "body", None)
    if not isinstance(owner, ast.stmt | ast.ExceptHandler) or not isinstance(body, list):
        return None
    outer, inner = source.indentation_of(owner.lineno), source.indentation_of(line_range(body[0])[0])
    return inner.removeprefix(outer) if inner.startswith(outer) and inner != outer else None


def _enclosing_line(source: Source, line: int) -> str:
    return f"if 1:{source.newline(line)}" if source.margin(line) else ""


def _body_start(source: Source, node: ast.AST) -> tuple[int, str]:
    """Where the body of a compound statement starts, and the indentation that `pass` needs there."""
    body = node.cases if isinstance(node, ast.Match) else node.body  # type: ignore[attr-defined]  # compound
    line = line_range(body[0])[0]
    column = source.extent(body[0]).start_column
    indent = source.indentation_of(line)
    is_own_line = isinstance(node, ast.Match) or len(indent) == column or not column
    return (source.starts[line - 1], indent) if is_own_line else (source.offset(line, column), "")


class _ExplicitIndent(cst.CSTTransformer):
    """Writes the indentation that libcst took for the default into each block, so that the default can be changed."""

    def __init__(self, indent: str) -> None:
        super().__init__()
        self.indent = indent

    def leave_IndentedBlock(  # noqa: N802 - the visitor's name for the node
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(indent=self.indent) if original_node.indent is None else updated_node

    def leave_Match(  # noqa: N802 - the visitor's name for the node
        self, original_node: cst.Match, updated_node: cst.Match
    ) -> cst.Match:
        return updated_node.with_changes(indent=self.indent) if original_node.indent is None else updated_node


def _with_indent(module: cst.Module, indent: str) -> cst.Module:
    if module.default_indent == indent:
        return module
    changed = module.visit(_ExplicitIndent(module.default_indent))
    return changed.with_changes(default_indent=indent)
