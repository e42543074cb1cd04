"""Whether a condition was true, as far as the recorded values of its parts tell."""

from __future__ import annotations

import ast

from codemods.selfdebug.expressions import is_none
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.quest import Evidence


def truth(evidence: Evidence, test: ast.expr, spot: Spot) -> bool | None:
    """Whether a condition was true, by recorded values; None when they do not tell."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = truth(evidence, operand, spot)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _comparison(evidence, (left, operator, right), spot)
        case ast.BoolOp(op=operation, values=operands):
            truths = [truth(evidence, operand, spot) for operand in operands]
            stops = isinstance(operation, ast.Or)
            return stops if stops in truths else None if None in truths else not stops
    held = evidence.value(test, spot)
    return None if held is None or held.is_missing else _is_true(held.type, held.text)


def _comparison(evidence: Evidence, parts: tuple[ast.expr, ast.cmpop, ast.expr], spot: Spot) -> bool | None:
    left, operator, right = parts
    one, other = evidence.value(left, spot), evidence.value(right, spot)
    if one is None or other is None:
        return None
    if isinstance(operator, ast.Is | ast.IsNot) and is_none(right):
        return one.is_none is isinstance(operator, ast.Is)
    is_whole = not one.text.startswith("<") and not one.text.endswith("...")
    if isinstance(operator, ast.Eq | ast.NotEq) and is_whole:
        return (one.text == other.text) is isinstance(operator, ast.Eq)
    return None


def _is_true(kind: str, text: str) -> bool | None:
    if kind == "NoneType":
        return False
    if kind in ("bool", "int", "float", "str", "bytes", "list", "tuple", "dict", "set", "frozenset"):
        return text not in ("False", "0", "0.0", "-0.0", "''", "b''", "[]", "()", "{}", "set()", "frozenset()")
    return None
