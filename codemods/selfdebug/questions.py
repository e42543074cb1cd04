"""The part of a condition in which a receiver stands: an operand of `and` or `or`, or a whole test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.evaluation import Reach

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Site


def question_around(site: Site) -> cst.BaseExpression:
    """The innermost operand that holds the dereference and is only asked for its truth.

    A comparison or `not` is a question wherever it stands, for its value is a truth value anyway. Raises RefusedError
    where the receiver stands in no question.
    """
    node = site.expression
    for step in site.steps_from(site.expression):
        if _asks(step.parent, step.child) or (_is_operand(site, step.parent, step.child)):
            return node
        if step.reach is Reach.OTHERWISE and not isinstance(step.parent, cst.Comparison):
            break
        if isinstance(step.parent, cst.BaseExpression):
            node = step.parent
    return _truth_value(site)


def _asks(parent: cst.CSTNode, child: cst.CSTNode) -> bool:
    return (
        isinstance(parent, cst.If | cst.While | cst.CompIf | cst.Assert | cst.IfExp) and parent.test is child
    ) or isinstance(parent, cst.MatchCase)


def _is_operand(site: Site, parent: cst.CSTNode, child: cst.CSTNode) -> bool:
    """Whether `child` is an operand of `and` or `or` of which only the truth is asked."""
    if not isinstance(parent, cst.BooleanOperation):
        return False
    node: cst.CSTNode = parent
    while True:
        above = site.parent(node)
        if _asks(above, node):
            return True
        is_not = isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not)
        if is_not:
            return True
        if not isinstance(above, cst.BooleanOperation):
            return _is_truth_value(child)
        node = above


def _truth_value(site: Site) -> cst.BaseExpression:
    """The outermost comparison or `not` around the dereference."""
    best: cst.BaseExpression | None = site.expression if _is_truth_value(site.expression) else None
    for step in site.steps_from(site.expression):
        if step.reach is Reach.OTHERWISE and not isinstance(step.parent, cst.Comparison):
            break
        if _is_truth_value(step.parent):
            assert isinstance(step.parent, cst.BaseExpression)
            best = step.parent
    if best is None:
        raise RefusedError("the receiver is no part of a condition")
    return best


def _is_truth_value(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Comparison) or (
        isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    )
