"""Guard: `if x is None: x = D` for a parameter `x=None`, before the function first uses it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import (
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    RefusedError,
    Test,
)
from codemods.selfdebug.conditions import condition_for
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.edits import assignment, conditional, insert_at_unit
from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.scopes import bound_by, mentioned, parameter_defaults
from codemods.selfdebug.source import Level, Statement
from codemods.selfdebug.units import line_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class SubstituteParameter(Guard):
    """Gives a parameter whose own default is None another value for the whole function, as one writes `x=None` for."""

    family = Family.SUBSTITUTION
    summary = "give the parameter its default before the function first uses it"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.RECEIVER
    lateness = -3
    tests = frozenset({Test.NOT_NONE})
    examples = (
        Example(
            "def f(tags=None):\n    '''Use tags.'''\n    n = 0\n    if tags and n: n = 1\n"
            "    for tag in «tags»: use(tag)\n",
            "def f(tags=None):\n    '''Use tags.'''\n    n = 0\n    if tags is None:\n        tags = ()\n"
            "    if tags and n: n = 1\n    for tag in tags: use(tag)\n",
            Parameters("()"),
        ),
        Example(
            "def memo(cache: dict = None):\n    def inner(k):\n        return ‹«cache»[k]›\n    return inner\n",
            "def memo(cache: dict = None):\n    if cache is None:\n        cache = {}\n"
            "    def inner(k):\n        return cache[k]\n    return inner\n",
            Parameters("{}"),
        ),
    )
    refusals = (
        Refusal("def f(tags):\n    for tag in «tags»: pass\n", "default is None", Parameters("()")),
        Refusal("def f(tags=None):\n    for tag in «tags.all»: pass\n", "no name", Parameters("()")),
        Refusal("for tag in «tags»: pass\n", "default is None", Parameters("()")),
        Refusal("def f(x=None):\n    x = g(x)\n    return ‹«x».y›\n", "bound anew", Parameters("()")),
        Refusal("def f(x=None): print(1); return ‹«x».y›\n", "own line", Parameters("()")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        condition = condition_for(site, parameters)
        if not isinstance(site.receiver, cst.Name):
            raise RefusedError("the receiver is no name")
        name = site.receiver.value
        statement = _first_use(site, name)
        unit = line_unit(site.source, statement, whole=False)
        if unit.levels[-1].owner is not statement.owner:
            raise RefusedError("the statement does not start its own line")
        subject = cst.Name(name)
        given = assignment(name, default_for(site, parameters))
        return insert_at_unit(unit, [conditional(condition.negative(subject), [given])])


def _first_use(site: Site, name: str) -> Statement:
    """The first statement of the function that mentions its parameter."""
    for depth in range(len(site.statement.levels) - 1, -1, -1):
        level = site.statement.levels[depth]
        function = level.owner
        if not isinstance(function, _Function):
            continue
        if name in bound_by(function.body):
            raise RefusedError("the name is bound anew in the function")
        if name in _none_by_default(function):
            index = next(index for index, node in enumerate(level.siblings) if name in mentioned(node))
            return Statement((*site.statement.levels[:depth], Level(function, level.block, index)))
        if name in bound_by([function.args]):
            break
    raise RefusedError("it is no parameter whose default is None")


def _none_by_default(function: _Function) -> frozenset[str]:
    return frozenset(name for name, value in parameter_defaults(function) if is_none(value))
