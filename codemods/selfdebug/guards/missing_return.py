"""Guard: `return x` at the end of a function that computes its result and does not give it back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import (
    About,
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    RefusedError,
)
from codemods.selfdebug.edits import line, replace_statement
from codemods.selfdebug.runs import surely_bound_before
from codemods.selfdebug.scopes import bound_by, own_nodes
from codemods.selfdebug.sites import require_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemods.selfdebug.sites import Rewrite, Site


class MissingReturn(Guard):
    """Gives back what the last statement of a function computes; the receiver is that value.

    With a name of the function as the default, the function returns it after its last statement.
    """

    family = Family.INITIALISATION
    summary = "return the value that the function computes"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RESULT
    lateness = 1
    moves_body = True
    about = About.RESULT
    examples = (
        Example("def double(x):\n    «x * 2»  # twice\n", "def double(x):\n    return x * 2  # twice\n"),
        Example(
            "def total(rows):\n    result = «sum(rows)»  # all\n",
            "def total(rows):\n    result = sum(rows)  # all\n    return result\n",
        ),
        Example(
            "def total(rows):\n    result = 0\n    for row in «rows»:\n        result += row\n",
            "def total(rows):\n    result = 0\n    for row in rows:\n        result += row\n    return result\n",
            Parameters("result"),
        ),
    )
    refusals = (
        Refusal("«x * 2»\n", "not inside a function"),
        Refusal("def f(x):\n    y = «x * 2»\n    g()\n", "not the last"),
        Refusal("def f(x):\n    if x:\n        y = «x * 2»\n", "not the last"),
        Refusal("def f(x):\n    yield x\n    y = «x * 2»\n", "generator"),
        Refusal("def __init__(self, x):\n    y = «x * 2»\n", "__init__"),
        Refusal("def f(x):\n    y = ‹«x».a›\n", "whole value"),
        Refusal("def f(x):\n    y = z = «x * 2»\n", "whole value"),
        Refusal("def f(x):\n    x.y = «x * 2»\n", "whole value"),
        Refusal("def f(x):\n    return «x * 2»\n", "whole value"),
        Refusal("def f(x):\n    g(«x»)\n", "no name of the function", Parameters("1")),
        Refusal("def f(x):\n    for y in «x»:\n        z = y\n", "surely has a value", Parameters("z")),
        Refusal("def f(x):\n    y = 1\n    if x:\n        return y\n    raise «x»\n", "raises", Parameters("y")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        function = require_function(site)
        if site.statement.node is not function.body[-1]:
            raise RefusedError("it is not the last statement of its function")
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function)):
            raise RefusedError("a generator gives its values by yield")
        if function.name == "__init__":
            raise RefusedError("__init__ returns no value")
        if parameters.default is not None:
            given = cst.Return(cst.Name(_own_name(site, function, parameters.default)))
            return replace_statement(site, lambda statement: [statement, line(given)])
        holder = site.holder
        if isinstance(holder, cst.Expr) and holder.value is site.receiver:
            return site.changed(holder, cst.Return(site.receiver, semicolon=holder.semicolon))
        name = _assigned_name(site)

        def make(statement: cst.BaseStatement) -> Sequence[cst.BaseStatement]:
            return [statement, line(cst.Return(cst.Name(name)))]

        return replace_statement(site, make)


def _own_name(site: Site, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    if name not in bound_by([function.args, *function.body]):
        raise RefusedError("the default is no name of the function")
    if isinstance(site.statement.node, ast.Raise):
        raise RefusedError("the last statement raises")
    if name not in surely_bound_before(site.statement):
        raise RefusedError("it is not certain that the name surely has a value there")
    return name


def _assigned_name(site: Site) -> str:
    """The only name that the statement gives the receiver to."""
    match site.holder:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is site.receiver:
            return name
        case cst.AnnAssign(target=cst.Name(value=name), value=value) if value is site.receiver:
            return name
    raise RefusedError("it is not the whole value of the statement")
