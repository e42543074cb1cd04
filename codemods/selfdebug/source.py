"""A source file as bytes, text and syntax tree, and the units of whole lines that libcst is asked to parse.

libcst is slow on whole modules and not lossless on every one of them, so an edit parses one unit only: the statements
that share a stretch of whole lines. All other bytes are never looked at by libcst and stay as they are.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from codemods.selfdebug.base import Edit, RefusedError, TargetNotFoundError
from codemods.selfdebug.spans import Span, from_code_range, span_from_bytes, split_lines

_UTF8_BOM = b"\xef\xbb\xbf"
_AFTER_STATEMENT = re.compile(r"[ \t\f]*;?[ \t\f]*(#[^\r\n]*)?(\r\n|\n)?\Z")
_ENCLOSING_LINE = "if 1:"
# libcst's native parser recurses on the C stack: a unit beyond these bounds is refused, not parsed.
_MAX_DEPTH = 90
_MAX_UNIT_CHARACTERS = 400_000
_MAX_STRING_PARTS = 400


@dataclass(frozen=True)
class Source:
    """A file that `ast` accepts. `text` has no byte order mark; `lines` keep their ends.

    Built by `Source.parse`; RefusedError is raised for what cannot be edited safely.
    """

    data: bytes
    text: str
    encoding: str
    bom: bytes
    tree: ast.Module

    @classmethod
    def parse(cls, data: bytes) -> Source:
        """Decode and parse `data` once. Raises RefusedError with the reason when that is not possible."""
        bom = _UTF8_BOM if data.startswith(_UTF8_BOM) else b""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = "utf-8" if bom else encoding
            text = data[len(bom) :].decode(encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError) as error:
            raise RefusedError(f"the file cannot be decoded: {error}") from error
        if text.encode(encoding) != data[len(bom) :]:
            raise RefusedError(f"the file does not survive a round trip through its encoding {encoding}")
        if re.search(r"\r(?!\n)", text):
            raise RefusedError("the file has lone carriage returns")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise RefusedError(f"the file does not parse: {error}") from error
        return cls(data, text, encoding, bom, tree)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file with their ends."""
        return split_lines(self.text)

    @cached_property
    def newline(self) -> str:
        """The line end that most lines of the file have."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"

    @cached_property
    def indent(self) -> str:
        """One level of indentation as the file writes it, read off its first block."""
        for parent, child in _blocks(self.tree):
            outer, inner = self._margin(parent), self._margin(child)
            if outer is not None and inner is not None and inner != outer and inner.startswith(outer):
                return inner[len(outer) :]
        return "    "

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The span of an `ast` node in code points."""
        assert node.end_lineno is not None and node.end_col_offset is not None  # ast.parse sets both
        return span_from_bytes(self.lines, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def statement_at(self, span: Span) -> list[ast.stmt]:
        """The statements that contain `span`, outermost first. Raises TargetNotFoundError when there is none."""
        found: list[ast.stmt] = []
        children: Iterator[ast.AST] = ast.iter_child_nodes(self.tree)
        while True:
            for node in children:
                if isinstance(node, ast.stmt) and _with_decorators(self, node).contains(span):
                    found.append(node)
                    children = ast.iter_child_nodes(node)
                    break
                if isinstance(node, ast.ExceptHandler | ast.match_case) and _any_inside(self, node, span):
                    children = ast.iter_child_nodes(node)
                    break
            else:
                break
        if not found:
            raise TargetNotFoundError(f"no statement at line {span.start_line}")
        return found

    def unit_at(self, span: Span) -> Unit:
        """The smallest unit of whole lines around `span`. Raises TargetNotFoundError or RefusedError."""
        chain = self.statement_at(span)
        for depth in range(len(chain) - 1, -1, -1):
            siblings = _siblings(chain[depth - 1] if depth else self.tree, chain[depth])
            lines = self._own_lines(siblings, siblings.index(chain[depth]))
            if lines is not None:
                return self._unit(*lines, chain[: depth + 1])
        raise TargetNotFoundError(f"no statement that stands on lines of its own around line {span.start_line}")

    def byte_offset(self, line: int, column: int = 0) -> int:
        """The offset in `data` of a 1-based line and a code-point column."""
        before = self._line_offsets[line - 1]
        return before + (len(self.lines[line - 1][:column].encode(self.encoding)) if column else 0)

    def edit(self, unit: Unit, module: cst.Module) -> Edit:
        """The edit that replaces the unit's text by the code of `module`, cut down to the bytes that differ."""
        new = module.code[len(unit.prefix) :]
        start, end = self.byte_offset(unit.first_line), self.byte_offset(unit.last_line + 1)
        old_bytes, new_bytes = self.data[start:end], new.encode(self.encoding)
        head = _common_prefix(old_bytes, new_bytes)
        tail = _common_prefix(old_bytes[head:][::-1], new_bytes[head:][::-1])
        return Edit(start + head, end - tail, new_bytes[head : len(new_bytes) - tail])

    @cached_property
    def _line_offsets(self) -> list[int]:
        offsets = [len(self.bom)]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line.encode(self.encoding)))
        return offsets

    def _margin(self, node: ast.stmt) -> str | None:
        line = self.lines[node.lineno - 1]
        margin = line[: len(line) - len(line.lstrip(" \t\f"))]
        return margin if len(margin.encode()) == node.col_offset else None

    def _own_lines(self, siblings: list[ast.stmt], index: int) -> tuple[int, int] | None:
        """First and last line of the run of siblings that share lines with the one at `index`, or None."""
        first = last = index
        while not self._starts_line(siblings[first]):
            if first == 0:
                return None
            first -= 1
        while not self._ends_line(siblings[last]):
            if last == len(siblings) - 1:
                return None
            last += 1
        return _with_decorators(self, siblings[first]).start_line, self.span(siblings[last]).end_line

    def _starts_line(self, node: ast.stmt) -> bool:
        span = _with_decorators(self, node)
        line = self.lines[span.start_line - 1]
        before = line[: span.start_column].rstrip("@") if span != self.span(node) else line[: span.start_column]
        is_elif = line[span.start_column :].startswith("elif") and isinstance(node, ast.If)
        is_continued = span.start_line > 1 and self.lines[span.start_line - 2].rstrip("\r\n").endswith("\\")
        return not before.strip(" \t\f") and not is_elif and not is_continued

    def _ends_line(self, node: ast.stmt) -> bool:
        span = self.span(node)
        return _AFTER_STATEMENT.match(self.lines[span.end_line - 1][span.end_column :]) is not None

    def _unit(self, first: int, last: int, statements: list[ast.stmt]) -> Unit:
        text = "".join(self.lines[first - 1 : last])
        margin = text[: len(text) - len(text.lstrip(" \t\f"))]
        prefix = _ENCLOSING_LINE + self.newline if margin.strip("\f") else ""
        if len(text) > _MAX_UNIT_CHARACTERS or _depth(statements[-1]) > _MAX_DEPTH:
            raise RefusedError("the statement is too large or too deeply nested to be edited safely")
        if text.count('"') + text.count("'") > _MAX_STRING_PARTS and _adjacent_strings(text) > _MAX_STRING_PARTS:
            raise RefusedError("the statement joins too many strings to be edited safely")
        config = cst.PartialParserConfig(default_indent=self.indent, default_newline=self.newline)
        try:
            module = cst.parse_module(prefix + text, config)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise RefusedError(f"libcst does not parse the statement: {error}") from error
        if module.code != prefix + text:
            raise RefusedError("libcst does not give the statement back byte for byte")
        return Unit(first, last, text, margin, prefix, module, tuple(statements))


@dataclass(frozen=True)
class Unit:
    """Whole lines of a file, parsed apart; `statements` is the `ast` chain down to it, outermost first."""

    first_line: int
    last_line: int
    text: str
    margin: str
    prefix: str
    module: cst.Module
    statements: tuple[ast.stmt, ...]

    @property
    def body(self) -> tuple[cst.BaseStatement, ...]:
        """The unit's own statements (the enclosing line that carries the indentation is not among them)."""
        if not self.prefix:
            return tuple(statement for statement in self.module.body if isinstance(statement, cst.BaseStatement))
        enclosing = cst.ensure_type(self.module.body[0], cst.If)
        block = cst.ensure_type(enclosing.body, cst.IndentedBlock)
        return tuple(block.body)

    @cached_property
    def positions(self) -> dict[cst.CSTNode, Span]:
        """The span of each node in the file, keyed by the very nodes of `module`."""
        lines = self.first_line - 1 - bool(self.prefix)
        found = MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)
        return {node: from_code_range(code_range).shifted(lines) for node, code_range in found.items()}


def _blocks(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body:
            yield node, body[0]


def _siblings(parent: ast.AST, child: ast.stmt) -> list[ast.stmt]:
    """The statement list that holds `child` below `parent`, through handlers and match cases."""
    for _, value in ast.iter_fields(parent):
        if not isinstance(value, list):
            continue
        if any(entry is child for entry in value):
            return [entry for entry in value if isinstance(entry, ast.stmt)]
        for entry in value:
            if isinstance(entry, ast.ExceptHandler | ast.match_case) and any(node is child for node in entry.body):
                return entry.body
    raise TargetNotFoundError(f"the statement at line {child.lineno} has no place in its parent")


def _with_decorators(source: Source, node: ast.stmt) -> Span:
    span = source.span(node)
    decorators = getattr(node, "decorator_list", [])
    if not decorators:
        return span
    first = source.span(decorators[0])
    column = source.lines[first.start_line - 1][: first.start_column].rfind("@")
    return Span(first.start_line, max(column, 0), span.end_line, span.end_column)


def _any_inside(source: Source, node: ast.ExceptHandler | ast.match_case, span: Span) -> bool:
    return any(_with_decorators(source, child).contains(span) for child in node.body)


def _common_prefix(left: bytes, right: bytes) -> int:
    length = min(len(left), len(right))
    return next((index for index in range(length) if left[index] != right[index]), length)


def _depth(root: ast.AST) -> int:
    """The nesting depth of a tree, counted without recursion."""
    deepest, todo = 0, [(root, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        todo.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return deepest


def _adjacent_strings(text: str) -> int:
    """The longest run of string tokens that follow each other, as implicit concatenation has them."""
    longest = run = 0
    skipped = {tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                run += 1
                longest = max(longest, run)
            elif token.type not in skipped:
                run = 0
    except (tokenize.TokenError, IndentationError):
        return longest
    return longest
