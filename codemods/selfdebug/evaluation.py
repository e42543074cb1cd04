"""How the evaluation of one expression depends on what is around it: always, under a condition, repeatedly, later.

Walking from a node up to its statement gives one step a parent. A step says under which condition the parent evaluates
the child, and what it has evaluated before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

import libcst as cst


class Reach(StrEnum):
    """When the parent evaluates the child."""

    ALWAYS = "always"
    IF_TRUE = "if-true"
    IF_FALSE = "if-false"
    OTHERWISE = "otherwise"  # later, repeatedly, or under a condition that cannot be written down


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The step from `child` up to `parent`; `condition` is set for IF_TRUE and IF_FALSE."""

    parent: cst.CSTNode
    child: cst.CSTNode
    reach: Reach
    condition: cst.BaseExpression | None = None

    @property
    def earlier(self) -> list[cst.CSTNode]:
        """What the parent evaluates before the child."""
        parent = self.parent
        if isinstance(parent, cst.Assign | cst.AnnAssign) and self.child is not parent.value:
            return [parent.value] if parent.value else []
        if isinstance(parent, cst.Assign | cst.NamedExpr | cst.Attribute | cst.For):  # targets are bound afterwards
            return []
        if isinstance(parent, cst.BaseComp | cst.CompFor) and not _is_deferred(parent, self.child):
            return []  # the first iterable comes before the element and the target, which are written before it
        if isinstance(parent, cst.IfExp):
            return [] if self.child is parent.test else [parent.test]
        if isinstance(parent, cst.Call) and self.child is not parent.func and isinstance(parent.func, cst.Attribute):
            children = [parent.func.value, *parent.args]  # the look-up of the method itself may come later
            return children[: next((i for i, node in enumerate(children) if node is self.child), 0)]
        return _before(parent, self.child)


def _before(parent: cst.CSTNode, child: cst.CSTNode) -> list[cst.CSTNode]:
    return list(takewhile(lambda node: node is not child, parent.children))


def steps(parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode) -> Iterator[Step]:
    """The steps from `node` up to the statement that evaluates it."""
    while not isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.ExceptHandler | cst.MatchCase):
        parent = parents[node]
        yield _step(parent, node)
        node = parent


def _step(parent: cst.CSTNode, child: cst.CSTNode) -> Step:
    if isinstance(parent, cst.BooleanOperation) and child is parent.right:
        reach = Reach.IF_TRUE if isinstance(parent.operator, cst.And) else Reach.IF_FALSE
        return Step(parent, child, reach, parent.left)
    if isinstance(parent, cst.IfExp) and child is not parent.test:
        return Step(parent, child, Reach.IF_TRUE if child is parent.body else Reach.IF_FALSE, parent.test)
    if isinstance(parent, cst.Assert) and child is parent.msg:
        return Step(parent, child, Reach.IF_FALSE, parent.test)
    return Step(parent, child, Reach.OTHERWISE if _is_deferred(parent, child) else Reach.ALWAYS)


def _is_deferred(parent: cst.CSTNode, child: cst.CSTNode) -> bool:
    if isinstance(parent, cst.Comparison):
        return child is not parent.left and child is not parent.comparisons[0]
    if isinstance(parent, cst.BaseComp):
        return child is not parent.for_in
    if isinstance(parent, cst.CompFor):  # the first iterable is evaluated at once, by the code around
        return child is not parent.iter
    if isinstance(parent, cst.Lambda):
        return child is parent.body
    if isinstance(parent, cst.For):
        return child is not parent.iter
    return isinstance(parent, cst.While | cst.Annotation | cst.AsName | cst.ExceptHandler | cst.MatchCase)
