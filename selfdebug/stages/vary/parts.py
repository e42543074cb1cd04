"""What a patch has put into the code, read off its two versions: new conditions, handlers, defaults, moved statements.

Nothing here knows a guard: a part is new where its code occurs more often in the function after the edit than before,
so that a guard that comes later is taken apart in the same way.
"""

from __future__ import annotations

import ast
import copy
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codemods.selfdebug.base import Test
from codemods.selfdebug.expressions import last_name, parsed
from codemods.selfdebug.source import BLOCKS, Source, line_range
from codemods.selfdebug.spans import text_at
from selfdebug.model import Patch
from selfdebug.stages.vary.imports import Imported, imported
from selfdebug.stages.vary.stretches import end_of, start_of

_LOOKUPS = frozenset({"get", "pop", "next", "getattr"})
"""Calls that give their last argument back where there is nothing else, and do nothing with it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Condition:
    """A question that the patch asks, as a stretch of the text after it."""

    start: int
    end: int
    code: str


@dataclass(frozen=True, slots=True)
class Handler:
    """An `except` clause that is new or catches more: where its body begins, and the one small statement it covers.

    `covered` is None where the clause was there before, so that other code raises into it as well.
    """

    node: ast.ExceptHandler
    code: str
    covered: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Fallback:
    """An expression whose last operand or argument is the default of the patch."""

    start: int
    end: int
    default_start: int
    default_end: int
    is_alternative: bool
    """Whether the default stands behind an `or`, and so is evaluated only when it is used."""


@dataclass(frozen=True, slots=True)
class Guarding:
    """A new `if` or `try` statement, in the block that holds it.

    `is_own` says that all of its body is new: it stands before what it guards. Otherwise it lies around that.
    """

    node: ast.If | ast.Try
    siblings: tuple[ast.stmt, ...]
    index: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class Parts:
    """The version after a patch, the function that was edited (None: the module's level), and what is new in it."""

    source: Source
    function: Function | None
    conditions: tuple[Condition, ...] = ()
    handlers: tuple[Handler, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    guarding: tuple[Guarding, ...] = ()
    imported: tuple[Imported, ...] = ()

    @property
    def is_import(self) -> bool:
        """Whether the patch does nothing but import."""
        return bool(self.imported) and not (self.conditions or self.handlers or self.fallbacks)


def parts_of(patch: Patch) -> Parts:
    """Take a patch apart. Raises RefusedError when a version of the file cannot be parsed."""
    before, after = Source.parse(patch.before), Source.parse(patch.after)
    found = imported(before.tree, after)
    without = _without(after.text, found)
    if without == before.text:
        return Parts(after, None, imported=found)
    start, end = _changed(before.text, without)
    added = len(after.text) - len(without)  # above: an import stands before what uses its name
    first, last = start + added, end + added
    function = enclosing_function(after, first)
    new = _Newness(_scope(before, start), after, first, last)
    return Parts(
        after,
        function,
        tuple(new.conditions()) if patch.candidate.test != Test.NO_EXCEPTION else (),
        tuple(new.handlers()),
        tuple(new.fallbacks(patch.candidate.default)),
        tuple(new.guarding()),
        found,
    )


def _without(text: str, found: Sequence[Imported]) -> str:
    """The text without the lines of new imports."""
    for each in reversed(found):
        last = text.find("\n", each.end) + 1
        text = text[: text.rfind("\n", 0, each.start) + 1] + (text[last:] if last else "")
    return text


def enclosing_function(source: Source, offset: int) -> Function | None:
    """The innermost function around an index into the text."""
    line = min(bisect_right(source.starts, offset), len(source.lines))
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, Function)
        and _is_on(node, line)
        and start_of(source, node) <= offset <= end_of(source, node)
    ]
    return max(found, key=lambda node: (node.lineno, node.col_offset), default=None)


def _is_on(node: Function, line: int) -> bool:
    """Whether a function has a part on a line; a cheap look, since a module may have thousands of functions."""
    return (
        min([node.lineno, *(each.lineno for each in node.decorator_list)]) <= line <= (node.end_lineno or node.lineno)
    )


def _changed(before: str, after: str) -> tuple[int, int]:
    """The stretch of `after` that is not in `before`."""
    limit = min(len(before), len(after))
    first = next((index for index in range(limit) if before[index] != after[index]), limit)
    limit -= first
    kept = next((index for index in range(limit) if before[-1 - index] != after[-1 - index]), limit)
    return first, len(after) - kept


class _Newness:
    """Compares the edited function (at the module's level: the edited statements) in both versions."""

    def __init__(self, old: list[ast.stmt], after: Source, first: int, last: int) -> None:
        self._source, self._first, self._last = after, first, last
        self._old, self._scope = old, _scope(after, first)
        self._bound = {
            node.target.id: node.value
            for top in self._scope
            for node in ast.walk(top)
            if isinstance(node, ast.NamedExpr)
        }
        self._before = Counter(ast.dump(node) for node in _nodes(self._old))
        self._after = Counter(self._dump(node) for node in _nodes(self._scope))

    def _dump(self, node: ast.AST) -> str:
        """The node with what a walrus has bound in the place of the names: `age >= 18` was `d.get("age") >= 18`."""
        if self._bound and any(isinstance(part, ast.Name) and part.id in self._bound for part in ast.walk(node)):
            node = _Unbound(self._bound).visit(copy.deepcopy(node))
        return ast.dump(node)

    def _is_new(self, node: ast.stmt | ast.expr) -> bool:
        is_there = start_of(self._source, node) <= self._last and self._first <= end_of(self._source, node)
        dump = self._dump(node)
        return is_there and self._after[dump] > self._before[dump]

    def conditions(self) -> Iterator[Condition]:
        old = Counter(map(ast.dump, _all_questions(self._old)))
        now = list(_all_questions(self._scope))
        more = Counter(map(self._dump, now)) - old
        new = [node for node in now if more[self._dump(node)] and self._is_new(node)]
        for node in new[: max(len(now) - old.total(), 0)]:  # further ones were edited inside, which is no new question
            if code := self._code(node):
                yield Condition(start_of(self._source, node), end_of(self._source, node), code)

    def handlers(self) -> Iterator[Handler]:
        added = self._added(ast.Try)
        for node in [node for node in _nodes(self._scope) if isinstance(node, ast.Try)]:
            for handler in node.handlers:
                if handler.type is not None and self._is_new(handler.type):
                    code = text_at(self._source.lines, self._source.span(handler.type))
                    yield Handler(handler, code, self._covered(node) if node in added else None)

    def _covered(self, node: ast.Try) -> tuple[int, int] | None:
        first = node.body[0]
        is_small = len(node.body) == 1 and not hasattr(first, "body")
        return (start_of(self._source, first), end_of(self._source, first)) if is_small else None

    def _added(self, kind: type[ast.If | ast.Try]) -> list[ast.stmt]:
        """The statements of a kind that the patch has added; of those that lie in one another the innermost ones."""
        old = sum(isinstance(node, kind) for node in _nodes(self._old))
        now = [node for node in _nodes(self._scope) if isinstance(node, kind)]
        new = sorted((node for node in now if self._is_new(node)), key=lambda node: node.lineno, reverse=True)
        return list(new[: max(len(now) - old, 0)])

    def fallbacks(self, default: str | None) -> Iterator[Fallback]:
        wanted = _expression(default)
        if wanted is None:
            return
        for node in _nodes(self._scope):
            last = _last_operand(node)
            if last is None or not isinstance(node, ast.expr) or ast.dump(last) != wanted or not self._is_new(node):
                continue
            if self._code(node):
                yield Fallback(
                    start_of(self._source, node),
                    end_of(self._source, node),
                    start_of(self._source, last),
                    end_of(self._source, last),
                    isinstance(node, ast.BoolOp),
                )

    def guarding(self) -> Iterator[Guarding]:
        for node in [*self._added(ast.If), *self._added(ast.Try)]:
            siblings = self._siblings(node)
            if siblings is not None and isinstance(node, ast.If | ast.Try):
                is_own = all(self._is_new(each) for each in node.body)
                yield Guarding(node, tuple(siblings), siblings.index(node), is_own)

    def _siblings(self, node: ast.stmt) -> list[ast.stmt] | None:
        """The statements of the block that holds `node`; None for an `elif`, which stands in no block of its own."""
        if self._source.text.startswith("elif", start_of(self._source, node)):
            return None
        blocks = [
            block
            for owner in ast.walk(self._source.tree)
            for name in BLOCKS
            if isinstance(block := getattr(owner, name, None), list)
        ]
        return next((block for block in blocks if node in block), None)

    def _code(self, node: ast.expr) -> str:
        """The source of an expression; empty where its place is not told right, as in f-strings before Python 3.12."""
        code = text_at(self._source.lines, self._source.span(node))
        return code if _expression(code) == ast.dump(node) else ""


class _Unbound(ast.NodeTransformer):
    def __init__(self, bound: dict[str, ast.expr]) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._bound.get(node.id, node)


def _scope(source: Source, offset: int) -> list[ast.stmt]:
    function = enclosing_function(source, offset)
    if function is not None:
        return [function]
    line = source.text.count("\n", 0, offset) + 1
    return [node for node in source.tree.body if line_range(node)[0] - 1 <= line <= line_range(node)[1] + 1]


def _nodes(tops: list[ast.stmt]) -> Iterator[ast.stmt | ast.expr]:
    for top in tops:
        for node in ast.walk(top):
            if isinstance(node, ast.stmt | ast.expr):
                yield node


def _all_questions(tops: list[ast.stmt]) -> Iterator[ast.expr]:
    """The operands of all conditions, and those of `and` and `or` anywhere else but for the last one of an `or`."""
    conditions: list[ast.expr] = []
    values: list[ast.BoolOp] = []
    for top in tops:
        for node in ast.walk(top):
            if isinstance(node, ast.If | ast.While | ast.IfExp):
                conditions.append(node.test)
            elif isinstance(node, ast.comprehension):
                conditions.extend(node.ifs)
            elif isinstance(node, ast.match_case) and node.guard is not None:
                conditions.append(node.guard)
            elif isinstance(node, ast.BoolOp):
                values.append(node)
    inner = {id(part) for condition in conditions for part in _operations(condition)}
    for condition in conditions:
        yield from _operands(condition)
    for value in values:
        if id(value) not in inner:
            inner.update(id(part) for part in _operations(value))
            asked = value.values[:-1] if isinstance(value.op, ast.Or) else value.values
            for operand in asked:
                yield from _operands(operand)


def _operations(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        yield node
        for operand in node.values:
            yield from _operations(operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _operations(node.operand)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        for operand in node.values:
            yield from _operands(operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
        yield from _operands(node.operand)
    else:
        yield node


def _last_operand(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return node.values[-1]
    if isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
        return node.args[-1] if last_name(node.func) in _LOOKUPS else None
    return None


def _expression(code: str | None) -> str | None:
    """The dump of an expression; None where there is none."""
    if code is None:
        return None
    try:
        return ast.dump(parsed(code))
    except (SyntaxError, ValueError):
        return None
