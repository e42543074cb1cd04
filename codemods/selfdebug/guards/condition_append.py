"""Guard: `x.a if ready and x is not None else D`, and the same for the `if` right above a statement."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.conditions import ahead, bind, condition_for
from codemods.selfdebug.evaluation import Reach
from codemods.selfdebug.precedence import operand_of_and
from codemods.selfdebug.sites import bare, expression_at, replaced_in
from codemods.selfdebug.units import header_unit

if TYPE_CHECKING:
    from codemods.selfdebug.conditions import Condition
    from codemods.selfdebug.sites import Change, Rewrite, Site
    from codemods.selfdebug.source import Statement


class ConditionAppend(Guard):
    """Adds the condition to the one that already decides about the dereference, so that its alternative is taken.

    That is the conditional expression around it, or the `if` of which the statement is the first (and, without an
    `else`, the only) one.
    """

    family = Family.CONDITION_PREFIX
    summary = "add the condition to the one around: its other branch is taken"
    tests = CONDITIONS
    examples = (
        Example(
            "x = 'Dear ' + (‹«order.customer».name› if order.paid else 'friend')\n",
            "x = 'Dear ' + (order.customer.name if order.paid and order.customer is not None else 'friend')\n",
        ),
        Example(
            "def f(u):\n    return ‹«find(u)».name› if a or b else ''\n",
            "def f(u):\n    return found.name if (a or b) and (found := find(u)) is not None else ''\n",
        ),
        Example(
            "if a:\n    pass\nelif user:  # known\n    ‹«user.boss».greet›()\nelse:\n    greet()\n",
            "if a:\n    pass\nelif user and user.boss is not None:  # known\n"
            "    user.boss.greet()\nelse:\n    greet()\n",
        ),
        Example(
            "if sku: price = ‹«PRICES»[sku]›\n",
            "if sku and sku in PRICES: price = PRICES[sku]\n",
            Parameters(test=Test.HAS_KEY),
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "no condition around"),
        Refusal("x = ‹«user».name› if a and user is not None else ''\n", "already guarded"),
        Refusal("x = f(lambda: ‹«user».name›) if a else ''\n", "no condition around"),
        Refusal("if a:\n    ‹«user».save›()\n    done()\n", "later statements"),
        Refusal("def f():\n    if a: ‹«find()».save›()\n", "a new name"),
        Refusal("if a:\n    b()\n    ‹«user».save›()\nelse:\n    c()\n", "no condition around"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        condition = condition_for(site, parameters)
        for step in site.path:
            if isinstance(step.parent, cst.IfExp) and step.child is step.parent.body:
                return _in_expression(site, condition, step.parent)
            if step.reach is not Reach.ALWAYS:
                break
        else:
            return _in_statement(site, condition)
        raise RefusedError("there is no condition around the dereference alone")


def _in_expression(site: Site, condition: Condition, choice: cst.IfExp) -> Rewrite:
    bound = bind(site, condition, choice.body)
    test = cst.BooleanOperation(operand_of_and(choice.test), cst.And(), operand_of_and(bound.positive))
    changes: dict[cst.CSTNode, Change] = {choice.test: lambda _: test}
    if bound.name is not None:
        changes[choice.body] = lambda _: bound.body(choice.body)
    return site.changed_each(changes)


def _in_statement(site: Site, condition: Condition) -> Rewrite:
    parent = site.statement.parent
    last = site.statement.levels[-1]
    if parent is None or not isinstance(parent.node, ast.If) or last.block != "body" or last.index:
        raise RefusedError("there is no condition around the dereference alone")
    if len(parent.node.body) > 1 and not parent.node.orelse:
        raise RefusedError("later statements would be skipped too")
    before = ahead(site, condition)
    if before.name is not None:
        raise RefusedError("the condition would have to bind a new name for the body")
    return _in_header(site, parent, parent.node.test, before.positive)


def _in_header(site: Site, parent: Statement, test: ast.expr, positive: cst.BaseExpression) -> Rewrite:
    unit = header_unit(site.source, parent)
    old = expression_at(unit, site.source.span(test))
    joined = cst.BooleanOperation(operand_of_and(bare(old)), cst.And(), operand_of_and(positive))
    return replaced_in(unit, old, joined)
