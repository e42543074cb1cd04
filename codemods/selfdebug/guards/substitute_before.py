"""Guard: `if x is None: x = D` before the statement."""

from __future__ import annotations

import ast
from itertools import takewhile
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
from codemods.selfdebug.conditions import ahead, condition_for
from codemods.selfdebug.defaults import default_apart
from codemods.selfdebug.edits import assignment, conditional, insert_at_unit, replace_statement, with_name
from codemods.selfdebug.purity import names_in
from codemods.selfdebug.runs import surely_bound_before
from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.units import line_unit

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from codemods.selfdebug.sites import Rewrite, Site
    from codemods.selfdebug.source import Statement


class SubstituteBefore(Guard):
    """Gives the receiver the default before the statement, or a loop around it, where the condition does not hold.

    A local name keeps the default from there on; a call gets a name; an attribute is not written to, for others see it.
    """

    family = Family.SUBSTITUTION
    summary = "give the receiver a default before the statement"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.RECEIVER
    tests = frozenset({Test.NOT_NONE, Test.TRUTHY, Test.IS_INSTANCE, Test.NON_ZERO, Test.CALLABLE})
    examples = (
        Example(
            "def f(tags=None):\n    for tag in «tags»: use(tag)\n",
            "def f(tags=None):\n    if tags is None:\n        tags = ()\n    for tag in tags: use(tag)\n",
            Parameters("()"),
        ),
        Example(
            "def f(post):\n    n = len(«post.get('tags')»)\n",
            "def f(post):\n    tags = post.get('tags')\n    if tags is None:\n        tags = ()\n    n = len(tags)\n",
            Parameters("()"),
        ),
        Example(
            "def f(key, item):\n    return ‹«key»(item)›\n",
            "def f(key, item):\n    if not callable(key):\n        key = getter(key)\n    return key(item)\n",
            Parameters("getter(key)", Test.CALLABLE),
        ),
        Example(
            "def f(key, rows):\n    for row in rows:\n        for item in row:\n            ‹«key»(item)›\n",
            "def f(key, rows):\n    if not callable(key):\n        key = getter(key)\n"
            "    for row in rows:\n        for item in row:\n            key(item)\n",
            Parameters("getter(key)", Test.CALLABLE),
        ),
        Example(
            "def f(key, rows):\n    for row in rows:\n        ‹«key»(row)›\n",
            "def f(key, rows):\n    for row in rows:\n        if not callable(key):\n            key = row.get\n"
            "        key(row)\n",
            Parameters("row.get", Test.CALLABLE),
        ),
    )
    refusals = (
        Refusal("def f(u):\n    return ‹«u.boss».name›\n", "others see", Parameters("''")),
        Refusal("def f():\n    return ‹«CLIENT».name›\n", "not a local name", Parameters("''")),
        Refusal("def f(u):\n    if u is None:\n        u = A\n    return ‹«u».name›\n", "already", Parameters("A")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        condition = condition_for(site, parameters)
        before = ahead(site, condition)
        default = default_apart(site, parameters)
        name = before.name or _local_name(site)
        loop = None if before.hoisted else _loop_to_stand_before(site, name, names_in(default))
        if loop is not None:
            guard = conditional(before.negative, [assignment(name, default)])
            return insert_at_unit(line_unit(site.source, loop, whole=False), [guard])

        def make(statement: cst.BaseStatement) -> Sequence[cst.BaseStatement]:
            guard = conditional(before.negative, [assignment(name, default)])
            return [*before.hoisted, guard, with_name(statement, condition.subject, before.name)]

        return replace_statement(site, make)


def _loop_to_stand_before(site: Site, name: str, used: Set[str]) -> Statement | None:
    """The outermost of the loops around the statement, in each turn of which the guard would do the same."""
    found = None
    for around in takewhile(_is_loop, site.statement.ancestors()):
        if (used | {name}) & bound_by([around.node]) or name not in surely_bound_before(around):
            break
        found = around
    return found


def _is_loop(statement: Statement) -> bool:
    return isinstance(statement.node, ast.For | ast.AsyncFor | ast.While)


def _local_name(site: Site) -> str:
    receiver = site.receiver
    if not isinstance(receiver, cst.Name):
        raise RefusedError("others see what is written to an attribute or item")
    function = site.function
    if function is None:
        raise RefusedError("not a local name of a function")
    declared = {
        name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    local = bound_by([function.args, *function.body]) - declared
    if not names_in(receiver) <= local or receiver.value not in surely_bound_before(site.statement):
        raise RefusedError("not a local name of the function that surely has a value here")
    return receiver.value
