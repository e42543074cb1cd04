"""The condition that led to a deliberate `raise`, and the value that it turned away.

A function that raises on purpose may be right, and then its caller is at fault; or its condition is too strict, and
then the value has to be let through above the `raise`: `if value is not None and not isinstance(value, str):`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.facts import LEAVES
from codemods.selfdebug.source import Level, Source, Statement
from codemods.selfdebug.spans import text_at
from codemods.selfdebug.units import is_elif
from selfdebug.model import FaultKind, FaultLocation, Observation, Receiver

_QUESTIONS = ("isinstance", "issubclass", "callable", "hasattr", "len", "type")
_VALUES = ast.Name | ast.Attribute | ast.Subscript | ast.Call


def deciding_condition(location: FaultLocation, source: Source) -> FaultLocation | None:
    """The `if` that led to the `raise` at a location: the one around it, or the first of those that let others pass.

    Its receivers are the values that it asks about, but for one of which it asks whether it is None: that one is turned
    away on purpose.
    """
    statement = _deciding(source, source.statement_at(location.statement))
    if statement is None or not isinstance(statement.node, ast.If):
        return None
    test = statement.node.test
    receivers = tuple(dict.fromkeys(_receiver(source, node) for node in _asked(test)))
    if not receivers:
        return None
    return FaultLocation(
        location.file,
        statement.node.lineno,
        location.function,
        FaultKind.NONE_ARGUMENT,
        source.extent(statement.node),
        text_at(source.lines, source.span(test)),
        receivers,
    )


def turned_away(location: FaultLocation, observations: Sequence[Observation]) -> FaultLocation | None:
    """The condition with what is known of the values: those that were None, else those of a class of their own.

    None where nothing was seen of them.
    """
    seen = {
        receiver: [each.value for each in observations if each.in_failure and each.is_of(location, receiver)]
        for receiver in location.receivers
    }
    missing = tuple(receiver for receiver, values in seen.items() if any(value.is_none for value in values))
    if missing:
        return replace(location, receivers=missing)
    known = tuple(receiver for receiver, values in seen.items() if values)
    return replace(location, kind=FaultKind.WRONG_TYPE, receivers=known) if known else None


def _deciding(source: Source, raising: Statement) -> Statement | None:
    level, parent = raising.levels[-1], raising.parent
    if level.index:
        return _first_that_lets_pass(raising)
    if parent is None or not isinstance(parent.node, ast.If):
        return None
    if level.block == "orelse":
        while is_elif(source, parent) and parent.parent is not None:
            parent = parent.parent
    return parent


def _first_that_lets_pass(raising: Statement) -> Statement | None:
    """The first of the `if`s right above a `raise` each of which lets some values leave before it."""
    first, level = None, raising.levels[-1]
    for index in range(level.index - 1, -1, -1):
        node = level.siblings[index]
        if not (isinstance(node, ast.If) and isinstance(node.body[-1], LEAVES)):
            break
        first = Statement((*raising.levels[:-1], Level(level.owner, level.block, index)))
    return first


def _asked(test: ast.expr) -> Iterator[ast.expr]:
    """The values that a condition asks something about."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            yield from _asked(test.operand)
        case ast.BoolOp():
            for value in test.values:
                yield from _asked(value)
        case ast.Compare(comparators=[right]) if is_none(right) or is_none(test.left):
            return
        case ast.Compare():
            for value in (test.left, *test.comparators):
                yield from _asked(value)
        case ast.Call(func=ast.Name(id=name), args=[value, *_]) if name in _QUESTIONS:
            yield from _asked(value)
        case _ if isinstance(test, _VALUES):
            yield test


def _receiver(source: Source, node: ast.expr) -> Receiver:
    span = source.span(node)
    return Receiver(span, span, text_at(source.lines, span), "condition", "name", "")
