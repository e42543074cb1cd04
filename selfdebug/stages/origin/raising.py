"""Why a `raise` was reached: the condition around it, and the way of the first value that decided it."""

from __future__ import annotations

import ast
from dataclasses import replace

from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedValue
from selfdebug.stages.origin.control import deciding_values
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.quest import Evidence, Quest
from selfdebug.stages.origin.walk import walk

_UNBOUND = TracedValue(0, "", "<unbound>")


def raised_on_purpose(evidence: Evidence, spot: Spot) -> tuple[Link, ...]:
    """The condition under which a `raise` stands, and the way of the first value that decided it."""
    program, history = evidence.program(spot), evidence.history
    for clause in history.clauses(spot):
        if not isinstance(clause, ast.Raise | ast.Assert):
            continue
        below: ast.AST = clause
        for parent in program.around(clause, history.scope(spot.frame)):
            if isinstance(parent, ast.If) and below is not parent.test:
                return _decided(evidence, spot, clause, parent, below)
            if isinstance(parent, ast.ExceptHandler):
                return _answered(evidence, spot, clause)
            below = parent
    return ()


def _decided(evidence: Evidence, spot: Spot, clause: Clause, condition: ast.If, below: ast.AST) -> tuple[Link, ...]:
    history = evidence.history
    place = next((at for at in history.line_steps(spot.frame, spot.index) if condition in history.clauses(at)), None)
    if place is None:
        return ()
    values = deciding_values(evidence, condition.test, place)
    because = f" ({values})" if values else ""
    was = "false" if below in condition.orelse else "true"
    decider = _decider(evidence, condition.test, place)
    value = evidence.value(decider, place) if decider is not None else None
    quest = Quest(condition.test, place, (), value or _UNBOUND)
    sentence = f"The condition of this if was {was}{because}, so line {getattr(clause, 'lineno', 0)} was executed."
    link = evidence.link(quest, "branch-taken", sentence, spot=place, node=condition.test, clause=condition)
    if value is None or decider is None:
        return (replace(link, value=was.title()),)
    return (link, *walk(evidence, Quest(decider, place, (), value)))


def _decider(evidence: Evidence, test: ast.expr, place: Spot) -> ast.expr | None:
    """The first expression of a condition whose value was recorded."""
    for node in (test, *ast.walk(test)):
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            held = evidence.value(node, place)
            if held is not None and not held.is_missing and held.type not in ("type", "builtin_function_or_method"):
                return node
    return None


def _answered(evidence: Evidence, spot: Spot, clause: Clause) -> tuple[Link, ...]:
    """The exception that led into the `except` clause in which the `raise` stands."""
    steps = spot.frame.steps
    for index in range(spot.index - 1, -1, -1):
        if steps[index].kind == "raise":
            raised = Spot(spot.frame, index)
            place = next(evidence.history.line_steps(spot.frame, index), raised)
            nodes = evidence.history.clauses(place)
            quest = Quest(ast.Name("", ast.Load()), spot, (), TracedValue(0, "exception", steps[index].exception))
            line = getattr(clause, "lineno", 0)
            sentence = f"{steps[index].exception} was raised here, which line {line} answers with another exception."
            return (
                evidence.link(quest, "answered-exception", sentence, spot=place, node=nodes[-1] if nodes else None),
            )
    return ()
