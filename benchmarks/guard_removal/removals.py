"""Finds the guards of a source file and takes them out, one at a time, leaving every other byte as it is.

A removal is found on the `ast` and made on the text, like the tool's own edits: None checks, truth tests, `isinstance`,
membership and bounds, each as an operand of a condition, an early exit, a wrap, a substitution or a conditional
expression; defaults of `.get`, `.pop`, `getattr` and `or`; and handlers of the exceptions that guards prevent.
What chooses between two ways of doing the work is no guard: an `if` or a handler that does more than leave, skip or
substitute, or a branch that ends the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span

GUARDABLE = frozenset(
    {
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "TypeError",
        "UnboundLocalError",
        "ValueError",
        "ZeroDivisionError",
    }
)
"""The exceptions that a missing guard lets through."""


KINDS = ("none", "isinstance", "get", "or", "bounds", "except", "truth", "membership")
"""What guards ask or do. The last two are often no guards: a flag is asked, or a case is chosen."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A guard that can be taken out: `what` it asks, the `form` it has, its place and text, the file without it.

    Only tests that execute the line `telling` can miss the guard.
    """

    file: str
    line: int
    what: str
    form: str
    code: str
    after: bytes
    telling: int

    @property
    def id(self) -> str:
        """A name that is the same in each run over the same file."""
        return f"{self.file}:{self.line}:{self.form}:{self.code[:60]}"


@dataclass(frozen=True, slots=True)
class _Question:
    """What a condition asks, and whether it is true for the good values."""

    what: str
    is_positive: bool


_Cut = tuple[int, int, str]


def removals(file: str, data: bytes) -> Iterator[Removal]:
    """The guards of a file that can be removed so that it still parses. A file that does not parse has none."""
    try:
        source = Source.parse(data)
    except RefusedError:
        return
    for parent, node in _with_parents(source.tree):
        for what, form, guard, cuts in _found(source, parent, node):
            telling = _telling(node, form, guard)
            after = _applied(source, cuts)
            if after is not None:
                code = " ".join(_text(source, guard).split())
                yield Removal(file, guard.start_line, what, form, code, after, telling)


_Found = tuple[str, str, Span, list[_Cut]]


def _found(source: Source, parent: ast.AST, node: ast.AST) -> Iterator[_Found]:
    match node:
        case ast.BoolOp():
            yield from _operands(source, parent, node)
        case ast.If(orelse=[]):
            yield from _statement(source, parent, node)
        case ast.IfExp():
            yield from _conditional(source, node)
        case ast.Call():
            yield from _call_default(source, node)
        case ast.Try(orelse=[], finalbody=[]):
            yield from _handlers(source, node)


def _telling(node: ast.AST, form: str, guard: Span) -> int:
    """The line that is executed where the guard does its work, as far as one line tells."""
    if isinstance(node, ast.If) and form != "wrap":
        return node.body[0].lineno
    if isinstance(node, ast.Try):
        handlers = {handler.lineno: handler.body[0].lineno for handler in node.handlers}
        return handlers.get(guard.start_line, node.handlers[0].body[0].lineno)
    return guard.start_line


def _with_parents(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            yield parent, child


# ---------------------------------------------------------------- what a condition asks


def _question(test: ast.expr) -> _Question | None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _question(operand)
            return _Question(inner.what, not inner.is_positive) if inner else None
        case ast.Name() | ast.Attribute():
            return _Question("truth", True)
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return _Question("isinstance", True)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _comparison(left, operator, right)
    return None


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> _Question | None:
    if isinstance(right, ast.Constant) and right.value is None and isinstance(operator, ast.Is | ast.IsNot):
        return _Question("none", isinstance(operator, ast.IsNot))
    if isinstance(operator, ast.In | ast.NotIn):
        return _Question("membership", isinstance(operator, ast.In))
    if _is_length(left) and isinstance(operator, ast.Gt | ast.GtE | ast.Lt | ast.LtE | ast.Eq):
        return _Question("bounds", isinstance(operator, ast.Gt | ast.GtE))
    if _is_length(right) and isinstance(operator, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        return _Question("bounds", isinstance(operator, ast.Lt | ast.LtE))
    return None


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


# ---------------------------------------------------------------- the forms of guards


def _operands(source: Source, parent: ast.AST, node: ast.BoolOp) -> Iterator[_Found]:
    is_and = isinstance(node.op, ast.And)
    for index, operand in enumerate(node.values):
        cut = _operand_cut(source, node, index)
        if cut is None:
            continue
        question = _question(operand)
        is_last = index == len(node.values) - 1
        if question is not None and question.is_positive is is_and and not is_last:
            yield question.what, "and" if is_and else "or", source.span(operand), [cut]
        elif is_last and not is_and and _is_literal(operand) and not _is_asked(parent, node):
            yield "or", "or-default", source.span(node), [cut]


def _operand_cut(source: Source, node: ast.BoolOp, index: int) -> _Cut | None:
    word = "and" if isinstance(node.op, ast.And) else "or"
    is_last = index == len(node.values) - 1
    left, right = (index - 1, index) if is_last else (index, index + 1)
    between = (_end(source, node.values[left]), _start(source, node.values[right]))
    found = re.search(rf"\s*\b{word}\b\s*", source.text[slice(*between)])
    if found is None:
        return None
    if is_last:
        return between[0] + found.start(), _end(source, node.values[index]), ""
    return _start(source, node.values[index]), between[0] + found.end(), ""


def _is_asked(parent: ast.AST, node: ast.expr) -> bool:
    """Whether only the truth of the expression is used."""
    if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert):
        return parent.test is node
    return isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.comprehension)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict)


def _statement(source: Source, parent: ast.AST, node: ast.If) -> Iterator[_Found]:
    question = _question(node.test)
    start = _start(source, node)
    if question is None or not source.text.startswith("if", start) or node.body[0].lineno == node.lineno:
        return
    guard = source.extent(node)
    if question.is_positive and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break):
        return  # without the question what follows would never run
    if question.is_positive:
        yield from ((question.what, "wrap", guard, cuts) for cuts in _unwrapped(source, node, node.body))
        return
    form = _form_of_exit(node.body)
    if form is not None:
        is_alone = any(siblings == [node] for siblings in _blocks(parent))
        cut = (start, _end(source, node), "pass") if is_alone else _whole_lines(source, node)
        yield question.what, form, guard, [cut]


def _form_of_exit(body: list[ast.stmt]) -> str | None:
    match body:
        case [ast.Return() | ast.Continue() | ast.Break()]:
            return "early-exit"
        case [ast.Raise()]:
            return "raise"
        case [ast.Assign(targets=[ast.Name() | ast.Attribute()])]:
            return "substitution"
    return None


def _blocks(owner: ast.AST) -> Iterator[object]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(owner, name, None)


def _unwrapped(source: Source, node: ast.stmt, body: list[ast.stmt]) -> Iterator[list[_Cut]]:
    """The statement replaced by its body, moved out by one level; not where a text of several lines would change."""
    first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
    if body[0].lineno == node.lineno or _has_long_text(body):
        return
    outer, inner = source.indentation_of(node.lineno), source.indentation_of(first)
    if not inner.startswith(outer):
        return
    cuts: list[_Cut] = [(source.starts[node.lineno - 1], source.starts[first - 1], "")]
    for line in range(first, last + 1):
        begin = source.starts[line - 1]
        if source.lines[line - 1].startswith(inner):
            cuts.append((begin + len(outer), begin + len(inner), ""))
    tail = source.starts[last], source.starts[node.end_lineno or last]
    yield [*cuts, (*tail, "")] if tail[1] > tail[0] else cuts


def _has_long_text(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno
        for statement in body
        for node in ast.walk(statement)
    )


def _whole_lines(source: Source, node: ast.stmt) -> _Cut:
    return source.starts[node.lineno - 1], source.starts[node.end_lineno or node.lineno], ""


def _conditional(source: Source, node: ast.IfExp) -> Iterator[_Found]:
    question = _question(node.test)
    if question is not None:
        good = node.body if question.is_positive else node.orelse
        text = source.text[_start(source, good) : _end(source, good)]
        cut = (_start(source, node), _end(source, node), text)
        yield question.what, "conditional", source.span(node), [cut]


def _call_default(source: Source, node: ast.Call) -> Iterator[_Found]:
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    match node:
        case ast.Call(func=ast.Attribute(attr="get") as function, args=[key, *_]) if len(node.args) <= 2:
            start = _start(source, node)
            owner = source.text[start : _end(source, function) - len("get")].rstrip().removesuffix(".").rstrip()
            text = f"{owner}[{source.text[_start(source, key) : _end(source, key)]}]"
            yield "get", "get", source.span(node), [(start, _end(source, node), text)]
        case ast.Call(func=ast.Attribute(attr="pop"), args=[kept, default]):
            yield "get", "pop", source.span(node), [(_end(source, kept), _end(source, default), "")]
        case ast.Call(func=ast.Name(id="getattr"), args=[_, kept, default]):
            yield "get", "getattr", source.span(node), [(_end(source, kept), _end(source, default), "")]


def _handlers(source: Source, node: ast.Try) -> Iterator[_Found]:
    for handler in node.handlers:
        if handler.type is None or not _caught(handler.type) & GUARDABLE:
            continue
        if _form_of_exit(handler.body) is None and not isinstance(handler.body[0], ast.Pass):
            continue
        guard = source.extent(handler)
        if len(node.handlers) == 1:
            yield from (("except", "except", guard, cuts) for cuts in _unwrapped(source, node, node.body))
        elif handler.body[0].lineno != handler.lineno:
            end = source.starts[handler.end_lineno or handler.lineno]
            yield "except", "handler", guard, [(source.starts[handler.lineno - 1], end, "")]


def _caught(kinds: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(kinds) if isinstance(node, ast.Name)}


# ---------------------------------------------------------------- text


def _start(source: Source, node: ast.expr | ast.stmt) -> int:
    span = source.span(node) if isinstance(node, ast.expr) else source.extent(node)
    return source.offset(span.start_line, span.start_column)


def _end(source: Source, node: ast.expr | ast.stmt) -> int:
    span = source.span(node) if isinstance(node, ast.expr) else source.extent(node)
    return source.offset(span.end_line, span.end_column)


def _text(source: Source, span: Span) -> str:
    return source.text[
        source.offset(span.start_line, span.start_column) : source.offset(span.end_line, span.end_column)
    ]


def _applied(source: Source, cuts: list[_Cut]) -> bytes | None:
    """The file after the cuts, None where it would not parse or would not change what it means."""
    text = source.text
    for start, end, replacement in sorted(cuts, reverse=True):
        text = text[:start] + replacement + text[end:]
    try:
        is_same = ast.dump(ast.parse(text)) == ast.dump(source.tree)
    except SyntaxError:
        return None
    return None if is_same else source.bom + text.encode(source.encoding)
