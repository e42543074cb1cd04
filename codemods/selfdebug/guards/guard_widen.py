"""Guard: one more `or` in the `if ...: return` just above."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.conditions import ahead, condition_for
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.sites import bare, expression_at, replaced_in
from codemods.selfdebug.units import header_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


class GuardWiden(Guard):
    """Lets the guard just above the statement act for the receiver too.

    `x is None` becomes `not x` where the condition is the truth of the same receiver; otherwise an `or` is added.
    """

    family = Family.CONDITION_PREFIX
    summary = "widen the guard just above by one more `or`"
    tests = CONDITIONS
    examples = (
        Example(
            "def f(a):\n    if a is None:\n        return 0\n    return ‹«a.b».c›\n",
            "def f(a):\n    if a is None or a.b is None:\n        return 0\n    return a.b.c\n",
        ),
        Example(
            "def f(a):\n    if a is None: return 0\n    return ‹«a»[0]›\n",
            "def f(a):\n    if not a: return 0\n    return a[0]\n",
            Parameters(test=Test.TRUTHY),
        ),
    )
    refusals = (
        Refusal("def f(a):\n    return ‹«a».b›\n", "no guard just above"),
        Refusal("def f(a):\n    if c: return 0\n    return ‹«g(a)».b›\n", "a new name"),
        Refusal("def f(a):\n    if c or a is None: return 0\n    return ‹«a».b›\n", "already guarded"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        above = _guard_above(site)
        before = ahead(site, condition_for(site, parameters))
        if before.name is not None:
            raise RefusedError("the guard above would have to bind a new name")
        index = site.statement.levels[-1].index
        unit = header_unit(site.source, site.statement.beside(index - 1))
        test = expression_at(unit, site.source.span(above.test))
        if parameters.test is Test.TRUTHY and site.code(bare(site.receiver)) + " is None" == ast.unparse(above.test):
            return replaced_in(unit, test, before.negative)
        left, right = operand_of_or(bare(test)), operand_of_or(before.negative)
        return replaced_in(unit, test, cst.BooleanOperation(left, cst.Or(), right))


def _guard_above(site: Site) -> ast.If:
    level = site.statement.levels[-1]
    above = level.siblings[level.index - 1] if level.index else None
    if not isinstance(above, ast.If) or above.orelse or not isinstance(above.body[-1], _LEAVES):
        raise RefusedError("there is no guard just above the statement")
    return above
