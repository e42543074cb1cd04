"""Leaving before a statement: `return`, `continue`, `break` or `raise` where the condition does not hold.

Either an exit of its own is put before the statement, or that which stands just above it is widened.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError, Test
from codemods.selfdebug.conditions import ahead, condition_for
from codemods.selfdebug.defaults import default_apart
from codemods.selfdebug.edits import conditional, line, replace_statement, with_name
from codemods.selfdebug.facts import LEAVES
from codemods.selfdebug.lengths import with_later_uses
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.scopes import own_nodes
from codemods.selfdebug.sites import bare, expression_at, replaced_in, require_function
from codemods.selfdebug.units import header_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.conditions import Condition
    from codemods.selfdebug.sites import Rewrite, Site

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = ast.For | ast.AsyncFor | ast.While


def leave_before(site: Site, parameters: Parameters, exit_: cst.BaseSmallStatement) -> Rewrite:
    """The unit with `if not condition: exit` before the statement. Raises RefusedError where it would change more.

    A sequence that is too short leaves as well where only a later statement needs more of it.
    """
    return leave_where(site, with_later_uses(site, condition_for(site, parameters)), exit_)


def leave_where(site: Site, condition: Condition, exit_: cst.BaseSmallStatement) -> Rewrite:
    """The unit with `if` and the opposite of the condition before the statement, and the exit below it."""
    before = ahead(site, condition)

    def make(statement: cst.BaseStatement) -> Sequence[cst.BaseStatement]:
        guard = conditional(before.negative, [line(exit_)])
        return [*before.hoisted, guard, with_name(statement, condition.subject, before.name)]

    return replace_statement(site, make)


def widened_above(site: Site, condition: Condition) -> Rewrite:
    """The `if ...: return` just above the statement with one more `or`, so that it acts for the opposite, too.

    `x is None` becomes `not x` where the condition is the truth of the same receiver. Raises RefusedError.
    """
    above = _guard_above(site)
    before = ahead(site, condition)
    if before.name is not None:
        raise RefusedError("the guard above would have to bind a new name")
    unit = header_unit(site.source, site.statement.beside(site.statement.levels[-1].index - 1))
    test = expression_at(unit, site.source.span(above.test))
    if condition.test is Test.TRUTHY and site.code(bare(site.receiver)) + " is None" == ast.unparse(above.test):
        return replaced_in(unit, test, before.negative)
    left, right = operand_of_or(bare(test)), operand_of_or(before.negative)
    return replaced_in(unit, test, cst.BooleanOperation(left, cst.Or(), right))


def _guard_above(site: Site) -> ast.If:
    level = site.statement.levels[-1]
    above = level.siblings[level.index - 1] if level.index else None
    if not isinstance(above, ast.If) or above.orelse or not isinstance(above.body[-1], LEAVES):
        raise RefusedError("there is no guard just above the statement")
    return above


def return_of(site: Site, parameters: Parameters) -> cst.Return:
    """The `return` of the default, bare without one.

    Raises RefusedError where it may not stand or would mean something else.
    """
    check_return(site, parameters.default)
    return cst.Return(default_apart(site, parameters) if parameters.default is not None else None)


def raise_of(site: Site, parameters: Parameters) -> cst.Raise:
    """The `raise` of the default. Raises RefusedError where that is no exception."""
    error = default_apart(site, parameters)
    refuse_no_exception(error)
    return cst.Raise(error)


def refuse_no_exception(error: cst.BaseExpression) -> None:
    """Raise RefusedError for what is surely no exception."""
    if not isinstance(error, cst.Call | cst.Name | cst.Attribute):
        raise RefusedError("the default is no exception")


def check_return(site: Site, default: str | None) -> None:
    """Raise RefusedError where a `return` of the default may not stand or would mean something else."""
    function = require_function(site)
    refuse_finally(site)
    has_value = default is not None and default.strip() != "None"
    own = list(own_nodes(function))
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own)
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in own)
    if yields and default is not None and isinstance(function, ast.AsyncFunctionDef):
        raise RefusedError("an asynchronous generator returns no value")
    if yields and has_value and not returns:
        raise RefusedError("this generator returns no value")
    if has_value and function.name == "__init__":
        raise RefusedError("__init__ returns no value")


def refuse_finally(site: Site) -> None:
    """Raise RefusedError inside a `finally`, where leaving would swallow an exception on its way."""
    for level in reversed(site.statement.levels):
        if level.block == "finalbody":
            raise RefusedError("leaving a finally block would swallow exceptions")
        if isinstance(level.owner, _SCOPES):
            return


def require_loop(site: Site) -> None:
    """Raise RefusedError outside the body of a loop of the same function."""
    for level in reversed(site.statement.levels):
        if isinstance(level.owner, _LOOPS) and level.block == "body":
            return
        if isinstance(level.owner, _SCOPES):
            break
    raise RefusedError("the statement is not in the body of a loop")
