"""A source file, parsed once for many edits: its bytes, text, lines and ast, and the check of every rewritten text."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug import verify
from codemods.selfdebug.base import DefaultUse, Edit, RefusedError, TargetNotFoundError
from codemods.selfdebug.spans import Span, span_from_bytes, split_lines

if TYPE_CHECKING:
    from codemods.selfdebug.base import Guard, Parameters, Target
    from codemods.selfdebug.sites import Rewrite, Site

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
BOM = b"\xef\xbb\xbf"
_LONE_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")
_LONG_NUMBER = re.compile(r"0[xob][0-9a-f_]{3000}", re.IGNORECASE)

Clause = ast.stmt | ast.ExceptHandler | ast.match_case
"""What can hold a target of its own: a statement, an `except` clause, a `case` clause."""


@dataclass(frozen=True, slots=True)
class Level:
    """One step down the tree: the node `owner.<block>[index]`."""

    owner: ast.AST
    block: str
    index: int

    @property
    def siblings(self) -> list[Clause]:
        """The statements or clauses of the block."""
        siblings: list[Clause] = getattr(self.owner, self.block)
        return siblings

    @property
    def node(self) -> Clause:
        """The node that this step leads to."""
        return self.siblings[self.index]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement (or clause) of the file with the way that leads to it, from the module down."""

    levels: tuple[Level, ...]

    @property
    def node(self) -> Clause:
        """The statement or clause itself."""
        return self.levels[-1].node

    @property
    def owner(self) -> ast.AST:
        """The node whose block holds it."""
        return self.levels[-1].owner

    @property
    def parent(self) -> Statement | None:
        """The statement or clause whose block holds it; None at the module's level."""
        return Statement(self.levels[:-1]) if len(self.levels) > 1 else None

    def beside(self, index: int) -> Statement:
        """The statement at `index` of the same block."""
        last = self.levels[-1]
        return Statement((*self.levels[:-1], Level(last.owner, last.block, index)))

    def ancestors(self) -> Iterator[Statement]:
        """The statements and clauses around it, innermost first."""
        parent = self.parent
        while parent:
            yield parent
            parent = parent.parent


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file to be edited. `text` is decoded without the BOM and keeps every line end."""

    data: bytes
    text: str
    encoding: str
    bom: bytes
    lines: list[str]
    starts: list[int]
    tree: ast.Module
    sites: dict[tuple[Target, bool], Site] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: bytes) -> Source:
        """Decode and parse a file, once. Raises RefusedError when that is not possible without loss."""
        return _parsed(data)

    @classmethod
    def _parse(cls, data: bytes) -> Source:
        text, encoding, bom = _decoded(data)
        if _LONE_CARRIAGE_RETURN.search(text):
            raise RefusedError("the file has carriage returns that are not followed by a line feed")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:  # a null byte is either, as the version has it
            line = f"line {error.lineno}" if isinstance(error, SyntaxError) else "the file"
            raise RefusedError(f"{line} does not parse: {getattr(error, 'msg', error)}") from error
        except (RecursionError, MemoryError) as error:
            raise RefusedError("the file is nested too deeply to be parsed") from error
        if _LONG_NUMBER.search(text) and any(map(_is_unspeakable, ast.walk(tree))):
            raise RefusedError("the file has a number with more digits than Python would show")
        lines = split_lines(text)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        return cls(data, text, encoding, bom, lines, starts, tree)

    def apply(self, target: Target, guard: Guard, parameters: Parameters) -> Edit:
        """The edit that puts `guard` around `target`. Raises RefusedError or TargetNotFoundError and nothing else."""
        try:
            return self._apply(target, guard, parameters)
        except (RecursionError, MemoryError) as error:
            raise RefusedError("the statement is nested too deeply to be rewritten") from error
        except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError, cst.CSTLogicError) as error:
            raise RefusedError("the concrete syntax tree cannot be built here") from error

    def _apply(self, target: Target, guard: Guard, parameters: Parameters) -> Edit:
        if parameters.test not in guard.tests:
            raise RefusedError(f"{guard.id} cannot express the condition {parameters.test}")
        if guard.default_use is DefaultUse.REQUIRED and parameters.default is None:
            raise RefusedError(f"{guard.id} needs a default")
        return self.edit(guard.rewrite(self.site(target, whole=guard.moves_body), parameters))

    def site(self, target: Target, *, whole: bool = False) -> Site:
        """The located target, `whole` with the body of its compound statement. Raises TargetNotFoundError."""
        from codemods.selfdebug.sites import locate

        key = (target, whole)
        if key not in self.sites:
            self.sites[key] = locate(self, target, whole=whole)
        return self.sites[key]

    def edit(self, rewrite: Rewrite) -> Edit:
        """The smallest byte edit that turns the old unit into the new one, checked. Raises RefusedError."""
        unit = rewrite.unit
        old, new = unit.excerpt.code, unit.excerpt.code_of(rewrite.module)
        if new == old:
            raise RefusedError("the guard changes nothing here")
        verify.check(self, unit, new)
        prefix = _common_length(old, new)
        suffix = _common_length(old[prefix:][::-1], new[prefix:][::-1])
        start, end = unit.start + prefix, unit.end - suffix
        return self.splice(start, end, new[prefix : len(new) - suffix])

    def splice(self, start: int, end: int, replacement: str) -> Edit:
        """The edit that puts `replacement` in the place of `text[start:end]`.

        Raises RefusedError where the encoding cannot write it, or would write something else differently for it.
        """
        after = self.text[:start] + replacement + self.text[end:]
        try:
            edit = Edit(
                len(self.bom) + len(self.text[:start].encode(self.encoding)),
                len(self.bom) + len(self.text[:end].encode(self.encoding)),
                replacement.encode(self.encoding),
            )
            is_exact = edit.apply_to(self.data) == self.bom + after.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise RefusedError(f"the new code cannot be written in {self.encoding}") from error
        if not is_exact:
            raise RefusedError(f"an edit in {self.encoding} would change bytes elsewhere")
        return edit

    def statement_at(self, span: Span) -> Statement:
        """The innermost statement or clause that contains `span`. Raises TargetNotFoundError."""
        levels: list[Level] = []
        owner: ast.AST = self.tree
        while (level := self._level_below(owner, span)) is not None:
            levels.append(level)
            owner = level.node
        if not levels:
            raise TargetNotFoundError(f"no statement at line {span.start_line}, column {span.start_column}")
        return Statement(tuple(levels))

    def _level_below(self, owner: ast.AST, span: Span) -> Level | None:
        for block in BLOCKS:
            for index, child in enumerate(getattr(owner, block, ())):
                first, last = line_range(child)
                if first <= span.start_line and span.end_line <= last and self.extent(child).contains(span):
                    return Level(owner, block, index)
        return None

    def extent(self, node: Clause) -> Span:
        """Where a statement or clause lies, its decorators included (from the start of their line)."""
        first: ast.AST = node.pattern if isinstance(node, ast.match_case) else node
        last: ast.AST = node.body[-1] if isinstance(node, ast.match_case) else node
        span = span_from_bytes(self.lines, *_start(first), *_end(last))
        first_line = line_range(node)[0]
        if first_line < span.start_line:
            return Span(first_line, 0, span.end_line, span.end_column)
        return span

    def span(self, node: ast.expr) -> Span:
        """Where an expression lies, in code points (wrong inside f-strings before Python 3.12, as the ast is)."""
        return span_from_bytes(self.lines, *_start(node), *_end(node))

    def offset(self, line: int, column: int) -> int:
        """The index into `text` of a 1-based line and a code-point column."""
        return self.starts[line - 1] + column

    def indentation_of(self, line: int) -> str:
        """The blanks, tabs and form feeds at the start of a 1-based line."""
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def margin(self, line: int) -> str:
        """The indentation of a 1-based line as Python sees it: what stands before a form feed does not count."""
        return self.indentation_of(line).rpartition("\f")[2]

    def newline(self, line: int) -> str:
        """The line end in use at a 1-based line (that of the file's first line where this one has none)."""
        for text in (self.lines[line - 1], self.lines[0]):
            if text.endswith("\r\n"):
                return "\r\n"
            if text.endswith("\n"):
                return "\n"
        return "\n"


def line_range(node: Clause) -> tuple[int, int]:
    """The first and the last line of a statement or clause, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, _end(node.body[-1])[0]
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(each.lineno for each in decorators)]), _end(node)[0]


def sharing_lines(siblings: Sequence[Clause], first: int, last: int) -> tuple[int, int]:
    """The first and the last index of the siblings that share physical lines with those from `first` to `last`."""
    while first and line_range(siblings[first - 1])[1] == line_range(siblings[first])[0]:
        first -= 1
    while last + 1 < len(siblings) and line_range(siblings[last])[1] == line_range(siblings[last + 1])[0]:
        last += 1
    return first, last


def _start(node: ast.AST) -> tuple[int, int]:
    start: tuple[int, int] = (node.lineno, node.col_offset)  # type: ignore[attr-defined]  # statements and patterns have them
    return start


def _end(node: ast.AST) -> tuple[int, int]:
    end: tuple[int, int] = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]  # set by ast.parse
    return end


def _is_unspeakable(node: ast.AST) -> bool:
    """Whether a node is a number that has no `repr`, which comparisons of trees need (Python 3.11, 4,300 digits)."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        try:
            repr(node.value)
        except ValueError:
            return True
    return False


@lru_cache(maxsize=4)
def _parsed(data: bytes) -> Source:
    return Source._parse(data)


def _decoded(data: bytes) -> tuple[str, str, bytes]:
    bom = BOM if data.startswith(BOM) else b""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if bom:
            encoding = "utf-8"
        text = data[len(bom) :].decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise RefusedError(f"the file cannot be decoded: {error}") from error
    if text.encode(encoding, "replace") != data[len(bom) :]:
        raise RefusedError(f"the file does not survive decoding from {encoding}")
    return text, encoding, bom


def _common_length(one: str, other: str) -> int:
    limit = min(len(one), len(other))
    return next((index for index in range(limit) if one[index] != other[index]), limit)
