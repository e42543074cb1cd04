"""Which receiver on a line is meant: by its source, by a column, by what a traceback underlined, or by the message."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from codemods.selfdebug.base import RefusedError, Target, TargetNotFoundError
from codemods.selfdebug.dereferences import Dereference, Operation, dereferences
from codemods.selfdebug.failed_places import FailedPlace
from codemods.selfdebug.source import Source, line_range

_Fits = Callable[[Dereference, re.Match[str]], bool]


def _by_operation(*operations: Operation) -> _Fits:
    return lambda use, _: use.operation in operations


# What CPython says when the value is None, and the uses that make it say so.
_MESSAGES: tuple[tuple[re.Pattern[str], _Fits], ...] = (
    (
        re.compile(r"'\w+' object has no attribute '(\w+)'"),
        lambda use, match: use.operation is Operation.ATTRIBUTE and use.name == match[1],
    ),
    (re.compile(r"has no len\(\)"), lambda use, _: use.operation is Operation.ARGUMENT and use.name == "len"),
    (re.compile(r"not subscriptable|does not support item"), _by_operation(Operation.SUBSCRIPT)),
    (re.compile(r"is not callable"), _by_operation(Operation.CALL)),
    (re.compile(r"argument of type '\w+' is not"), _by_operation(Operation.CONTAINS)),
    (
        re.compile(r"not iterable|non-iterable"),
        _by_operation(Operation.ITERATE, Operation.UNPACK, Operation.STAR, Operation.ARGUMENT),
    ),
    (re.compile(r"must be a mapping"), _by_operation(Operation.DOUBLE_STAR)),
    (re.compile(r"unsupported operand|can only concatenate|bad operand"), _by_operation(Operation.OPERAND)),
    (re.compile(r"not supported between"), _by_operation(Operation.COMPARE)),
    (re.compile(r"context manager"), _by_operation(Operation.CONTEXT)),
    (re.compile(r"unsupported format string"), _by_operation(Operation.FORMAT)),
    (re.compile(r"used in 'await'"), _by_operation(Operation.AWAIT)),
)


def target_at(source: Source, place: FailedPlace) -> Target:
    """The use of the receiver that is meant at a place.

    A column means the shortest receiver there. Raises TargetNotFoundError when no use fits and RefusedError, naming
    the choices, when several receivers do.
    """
    uses = [use for use in _uses_on(source, place.line) if use.operation is not Operation.NAME and not use.is_literal]
    if place.receiver is not None:
        meant = _normal(place.receiver)
        uses = [use for use in uses if _normal(use.code) == meant]
    if place.column is not None:
        uses = _at_column(uses, place.line, place.column)
    if not uses:
        raise TargetNotFoundError(f"no such receiver is used at line {place.line}")
    uses = _underlined(source, uses, place) or uses
    uses = _fitting(uses, place.message) or uses
    if place.column is not None:
        shortest = min(len(use.code) for use in uses)
        uses = [use for use in uses if len(use.code) == shortest]
    choices = list(dict.fromkeys(use.code for use in uses))
    if len(choices) > 1:
        listed = ", ".join(f"`{choice}`" for choice in choices)
        raise RefusedError(f"line {place.line} has several receivers: {listed}; choose one with --receiver")
    return Target(uses[0].expression, uses[0].receiver)


def _uses_on(source: Source, line: int) -> list[Dereference]:
    """What the innermost statement dereferences whose own code covers the line."""
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    for node in reversed(nodes):  # ast.walk goes level by level, so inner statements come last
        first, last = line_range(node)
        if first <= line <= last:
            uses = [use for use in dereferences(source, node) if use.expression.covers_line(line)]
            if uses:
                return uses
    return []


def _normal(expression: str) -> str:
    """The expression without differences of layout. Raises TargetNotFoundError for what is none."""
    try:
        return ast.dump(ast.parse(f"({expression}\n)", mode="eval"))
    except SyntaxError as error:
        raise TargetNotFoundError(f"`{expression}` is not an expression") from error


def _at_column(uses: list[Dereference], line: int, column: int) -> list[Dereference]:
    """The uses whose receiver starts at the column, else those whose expression does, else those that cover it."""
    place = (line, column)
    tests: tuple[Callable[[Dereference], bool], ...] = (
        lambda use: (use.receiver.start_line, use.receiver.start_column) == place,
        lambda use: (use.expression.start_line, use.expression.start_column) == place,
        lambda use: (
            (use.expression.start_line, use.expression.start_column)
            <= place
            < (use.expression.end_line, use.expression.end_column)
        ),
    )
    return next((found for test in tests if (found := [use for use in uses if test(use)])), [])


def _underlined(source: Source, uses: list[Dereference], place: FailedPlace) -> list[Dereference]:
    if place.carets is None or place.line > len(source.lines):
        return []
    line = source.lines[place.line - 1]
    indentation = len(line) - len(line.lstrip())
    start, end = (indentation + column for column in place.carets)
    return [
        use
        for use in uses
        if (use.expression.start_line, use.expression.start_column) == (place.line, start)
        and (use.expression.end_line, use.expression.end_column) == (place.line, end)
    ]


def _fitting(uses: list[Dereference], message: str) -> list[Dereference]:
    for pattern, fits in _MESSAGES:
        match = pattern.search(message)
        found = [use for use in uses if fits(use, match)] if match else []
        if found:
            return found
    return []
