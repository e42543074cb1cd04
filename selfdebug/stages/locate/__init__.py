"""From a traceback frame to the statement that raised and the receivers in it that can have raised that exception.

A receiver is accepted only when its use fits the message (an attribute of that name, an operand on the side that was
None, ...) and its expression can have the reported class at all; columns, where the interpreter gives them, put the
accepted ones in order. Nothing that fits means no location: unknown is better than a guess.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.dereferences import Dereference, Operation, dereferences
from codemods.selfdebug.source import Clause, Source, line_range
from codemods.selfdebug.spans import Span, text_at
from selfdebug.model import ExceptionRecord, FaultKind, FaultLocation, Frame, Receiver
from selfdebug.stages.locate.rules import RULES

MISTAKES = frozenset({"AttributeError", "TypeError", "NameError", "UnboundLocalError", "SyntaxError", "ImportError"})
"""Exceptions that tell of a mistake in the program itself: catching one that came out of a call would only hide it."""


@dataclass(frozen=True, slots=True)
class Unlocated:
    """The frame cannot be tied to a statement and a receiver; `reason` is one sentence."""

    reason: str


def locate(frame: Frame, exception: ExceptionRecord, source: Source) -> FaultLocation | Unlocated:
    """The fault location of `exception` at `frame`, or why there is none."""
    assert frame.file is not None and frame.line is not None  # only project frames are located
    statements = list(_statements_at(source, frame))
    if not statements:
        return Unlocated(f"line {frame.line} of {frame.file} holds no statement: the file has changed since")
    reasons: list[str] = []
    weaker: FaultLocation | None = None
    for statement in statements:
        try:
            found = dereferences(source, statement)
        except (RefusedError, TargetNotFoundError) as error:
            reasons.append(str(error))
            continue
        kind, receivers, is_generic = _receivers(found, frame.span, exception)
        if _is_deliberate(statement, source, frame, exception):
            kind, receivers = FaultKind.DELIBERATE_RAISE, ()
        span = source.extent(statement)
        code = _own_code(source, statement)
        location = FaultLocation(frame.file, frame.line, frame.function, kind, span, code, receivers)
        if kind is FaultKind.DELIBERATE_RAISE or (receivers and not is_generic):
            return location
        if weaker is None or (receivers and not weaker.receivers):
            weaker = location
    return weaker or Unlocated(
        f"the statement at {frame.file}:{frame.line} cannot be taken apart: {'; '.join(reasons)}"
    )


def locate_call(frame: Frame, source: Source) -> FaultLocation | Unlocated:
    """The call at a caller's frame through which the exception came, with its arguments as receivers."""
    assert frame.file is not None and frame.line is not None  # only project frames are located
    for statement in _statements_at(source, frame):
        try:
            found = dereferences(source, statement)
        except (RefusedError, TargetNotFoundError) as error:
            return Unlocated(str(error))
        passed = [use for use in found if use.operation is Operation.ARGUMENT and not use.is_literal]
        exact = [use for use in passed if use.expression == frame.span] or passed
        if exact:
            span = source.extent(statement)
            return FaultLocation(
                frame.file,
                frame.line,
                frame.function,
                FaultKind.NONE_ARGUMENT,
                span,
                text_at(source.lines, span),
                tuple(
                    Receiver(use.expression, use.receiver, use.code, "argument", use.operation.value, use.name)
                    for use in exact
                ),
            )
    return Unlocated(f"{frame.file}:{frame.line} passes no argument that could be None")


def _statements_at(source: Source, frame: Frame) -> Iterator[Clause]:
    """The statements and `case` clauses whose own code covers the frame's line (or its columns), innermost first."""
    line = frame.line or 0
    found: list[tuple[int, Clause]] = []
    todo: list[tuple[int, ast.AST]] = [(0, source.tree)]
    while todo:
        depth, node = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                if _first_line(child) <= line <= (child.end_lineno or child.lineno):
                    found.append((depth, child))
                    todo.append((depth + 1, child))
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                if isinstance(child, ast.match_case) and child.guard is not None:
                    first, last = child.pattern.lineno, child.guard.end_lineno or child.guard.lineno
                    found.extend([(depth, child)] if first <= line <= last else [])
                todo.append((depth, child))
    own = [(depth, node) for depth, node in found if line <= _last_own_line(node)]
    own.sort(key=lambda entry: (-entry[0], not _holds(source, entry[1], frame.span), source.extent(entry[1])))
    for _, node in own:
        yield node


def _first_line(node: Clause) -> int:
    return line_range(node)[0]


def _last_own_line(node: Clause) -> int:
    """The last line of a compound statement's or clause's header, or of a simple statement."""
    first_own, last = line_range(node)
    body: list[ast.stmt] = [child for child in getattr(node, "body", ()) if isinstance(child, ast.stmt)]
    if not body or isinstance(node, ast.Try | ast.TryStar):
        return last
    first = _first_line(body[0])
    start = first_own if isinstance(node, ast.match_case) else node.lineno
    return first if first == start else max(start, first - 1)


def _own_code(source: Source, statement: Clause) -> str:
    """The statement's text without the statements in it."""
    span = source.extent(statement)
    last = _last_own_line(statement)
    if last >= span.end_line:
        return text_at(source.lines, span)
    return text_at(source.lines, Span(span.start_line, span.start_column, last + 1, 0)).rstrip()


def _holds(source: Source, node: Clause, span: Span | None) -> bool:
    return span is not None and source.extent(node).contains(span)


def _is_deliberate(statement: Clause, source: Source, frame: Frame, exception: ExceptionRecord) -> bool:
    """Whether the statement is a `raise` that was carried out, not one whose expression crashed."""
    if not isinstance(statement, ast.Raise):
        return False
    if frame.span is not None:
        return frame.span == source.extent(statement)
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return raised is None or ast.unparse(raised).rsplit(".", 1)[-1] == exception.short_type


def _receivers(
    found: tuple[Dereference, ...], span: Span | None, exception: ExceptionRecord
) -> tuple[FaultKind, tuple[Receiver, ...], bool]:
    """The kind of fault, the receivers that fit, and whether only a generic rule was found to fit."""
    if exception.short_type == "AssertionError":
        return FaultKind.ASSERTION, (), False
    for rule in RULES:
        match = rule.pattern.search(exception.message)
        if exception.short_type not in rule.exceptions or match is None:
            continue
        kind = rule.kind_for_none if _bad_type(match) in ("NoneType", "None") else rule.kind
        accepted = [use for use in found if not _is_impossible(use, kind) and rule.accepts(use, match)]
        if accepted:
            return kind, tuple(_in_order(accepted, found, span)), rule.is_generic
    if exception.short_type in MISTAKES:
        return FaultKind.OTHER, (), True
    calls = [use for use in found if use.operation in (Operation.CALL, Operation.SUBSCRIPT)]
    return FaultKind.OTHER, tuple(_in_order(calls, found, span)) if calls else (), True


def _is_impossible(use: Dereference, kind: FaultKind) -> bool:
    return kind.is_none and use.is_literal


def _bad_type(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    if "left" in groups:
        return "NoneType" if "NoneType" in (groups["left"], groups["right"]) else groups["right"]
    return groups.get("type")


def _in_order(accepted: list[Dereference], found: tuple[Dereference, ...], span: Span | None) -> Iterator[Receiver]:
    ranked = sorted(accepted, key=lambda use: (_distance(use, span), use.operation is not Operation.ELEMENTS))
    best = _distance(ranked[0], span)[0]
    near = [use for use in ranked if span is None or best > _CLOSE or _distance(use, span)[0] <= _CLOSE]
    is_told = best < _CLOSE or (best == _CLOSE and len(near) == 1)
    evidence = "columns" if is_told else "only-candidate" if len(accepted) == 1 else "message"
    seen: set[tuple[Span, Span]] = set()
    for use in near:
        expression, receiver, code = _container(use, found)
        if (expression, receiver) not in seen:
            seen.add((expression, receiver))
            yield Receiver(expression, receiver, code, evidence, use.operation.value, use.name)


def _container(use: Dereference, found: tuple[Dereference, ...]) -> tuple[Span, Span, str]:
    """For `d.pop(k)` the receiver is `d` and the expression the whole call; otherwise as the use says."""
    if use.operation is Operation.CALL and use.name.endswith(".pop"):
        owner = next((o for o in found if o.operation is Operation.ATTRIBUTE and o.expression == use.receiver), None)
        if owner is not None:
            return use.expression, owner.receiver, owner.code
    return use.expression, use.receiver, use.code


_CLOSE = 3


def _distance(use: Dereference, span: Span | None) -> tuple[int, int]:
    """How far a use lies from the columns of the frame: 0 is the very expression, above `_CLOSE` is elsewhere."""
    if span is None:
        return (_CLOSE + 1, 0)
    size = (use.expression.end_line - use.expression.start_line) * 1000 + abs(
        use.expression.end_column - use.expression.start_column
    )
    ends_alike = (use.expression.end_line, use.expression.end_column) == (span.end_line, span.end_column)
    if use.expression == span:  # of a sort, the key is the likelier culprit than the list
        return (0, 0 if use.operation is Operation.SORT_KEY else size)
    if use.receiver == span:
        return (1, size)
    if ends_alike and use.expression.contains(span):
        return (2, size)
    if use.operation in _LOOSE and (span.contains(use.expression) or use.expression.contains(span)):
        return (_CLOSE, size)
    return (_CLOSE + 1, size)


# The interpreter reports these at the enclosing call, target or clause, not at the expression itself.
_LOOSE = frozenset(
    {
        Operation.UNPACK,
        Operation.STAR,
        Operation.DOUBLE_STAR,
        Operation.ITERATE,
        Operation.ASYNC_ITERATE,
        Operation.CONTEXT,
        Operation.ARGUMENT,
        Operation.SORT_KEY,
        Operation.ELEMENT,
        Operation.ELEMENTS,
        Operation.FORMAT,
        Operation.OPERAND,
        Operation.COMPARE,
        Operation.CONTAINS,
        Operation.INDEX,
    }
)
