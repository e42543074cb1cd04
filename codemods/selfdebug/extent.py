"""How much of an expression a conditional expression takes under its wing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.conditions import bind, condition_for
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.evaluation import Reach
from codemods.selfdebug.precedence import alone, operand_of_or
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site

_STOPS = cst.Yield | cst.NamedExpr | cst.StarredElement


def chain(site: Site) -> cst.BaseExpression:
    """The dereference with the attributes, calls, subscripts and `await` that follow it: `x.a.b()` for `x.a`."""
    node = site.expression
    while True:
        parent = site.parent(node)
        follows = (
            (isinstance(parent, cst.Attribute) and parent.value is node)
            or (isinstance(parent, cst.Call) and parent.func is node)
            or (isinstance(parent, cst.Subscript) and parent.value is node)
            or isinstance(parent, cst.Await)
        )
        if not follows:
            return node
        assert isinstance(parent, cst.BaseExpression)
        node = parent


def whole_value(site: Site) -> cst.BaseExpression:
    """The outermost expression that is evaluated whenever the dereference is."""
    best = node = site.expression
    for step in site.steps_from(node):
        if step.reach is not Reach.ALWAYS or isinstance(step.parent, _STOPS):
            break
        if isinstance(step.parent, cst.CompFor):
            break
        if isinstance(step.parent, cst.BaseExpression) and not isinstance(step.parent, cst.BaseString):
            best = step.parent
    return best


def conditional(site: Site, parameters: Parameters, outer: cst.BaseExpression) -> Rewrite:
    """`outer if condition else default`. Raises RefusedError where the value is not read or cannot be replaced."""
    if isinstance(site.parent(outer), cst.Expr):
        raise RefusedError("nobody reads the value of this expression statement")
    refuse_stored(site, outer)
    refuse_stored_into(site, outer)
    default = default_for(site, parameters)
    refuse_alternative(site, default)
    condition = condition_for(site, parameters)
    bound = bind(site, condition, outer)
    if bound.name is not None and bare(default).deep_equals(bare(condition.subject)):
        default = cst.Name(bound.name)  # as it is, and made no second time
    body = operand_of_or(bare(bound.body(outer)))
    return site.replaced(outer, cst.IfExp(test=operand_of_or(bound.positive), body=body, orelse=alone(default)))


def refuse_stored(site: Site, node: cst.BaseExpression) -> None:
    """Raise RefusedError where `node` is stored to or deleted, not read."""
    parent = site.parent(node)
    is_target = (
        isinstance(parent, cst.AssignTarget | cst.Del)
        or (isinstance(parent, cst.AugAssign | cst.For | cst.CompFor | cst.AnnAssign) and parent.target is node)
        or (isinstance(parent, cst.Element) and _is_stored(site, parent))
    )
    if is_target:
        raise RefusedError("the expression is assigned to or deleted, not read")


def refuse_alternative(site: Site, default: cst.BaseExpression) -> None:
    """Raise RefusedError where the receiver falls back to the same default already."""
    receiver = site.receiver
    last: cst.BaseExpression | None = None
    if isinstance(receiver, cst.IfExp):
        last = receiver.orelse
    elif isinstance(receiver, cst.BooleanOperation) and isinstance(receiver.operator, cst.Or):
        last = receiver.right
    if last is not None and bare(last).deep_equals(bare(default)):
        raise RefusedError("the receiver already falls back to this default")


def refuse_discarded(site: Site) -> None:
    """Raise RefusedError where a default for the receiver would be stored to and forgotten."""
    refuse_stored(site, site.receiver)
    if site.expression is not site.receiver:
        refuse_stored_into(site, site.receiver)


def refuse_stored_into(site: Site, node: cst.BaseExpression) -> None:
    """Raise RefusedError where an item or attribute of `node` is stored or deleted: in a default it would be lost."""
    parent = site.parent(node)
    if isinstance(parent, cst.Attribute | cst.Subscript) and parent.value is node:
        try:
            refuse_stored(site, parent)
        except RefusedError as error:
            raise RefusedError("what is stored into a default is discarded") from error


def _is_stored(site: Site, element: cst.CSTNode) -> bool:
    tuple_ = site.parent(element)
    owner = site.parent(tuple_)
    if isinstance(owner, cst.Element):
        return _is_stored(site, owner)
    return isinstance(owner, cst.AssignTarget | cst.Del) or (
        isinstance(owner, cst.For | cst.CompFor) and owner.target is tuple_
    )
