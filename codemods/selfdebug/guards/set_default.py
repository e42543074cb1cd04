"""Guard: `d[k] = d.get(k, 0) + 1` for `d[k] += 1`, and `d.setdefault(k, []).append(x)` for `d[k].append(x)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultUse, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.edits import assignment, replace_statement
from codemods.selfdebug.precedence import alone, at_least, binding
from codemods.selfdebug.purity import may_ask_again, may_repeat
from codemods.selfdebug.scopes import fresh_name
from codemods.selfdebug.sites import bare
from codemods.selfdebug.subscripts import subscript

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_COUNT = Parameters("0", Test.HAS_KEY)
_LIST = Parameters("[]", Test.HAS_KEY)
_OPERATORS: dict[type[cst.BaseAugOp], Callable[[], cst.BaseBinaryOp]] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.BitOrAssign: cst.BitOr,
    cst.BitAndAssign: cst.BitAnd,
}


class SetDefault(Guard):
    """Starts what a missing key collects: a count, a list, an inner mapping. What is there is changed as before.

    The new value is stored under the key, so this fits what grows in place, not what is only read.
    """

    family = Family.LOOKUP_DEFAULT
    summary = "start the missing item with a default and store it"
    default_use = DefaultUse.REQUIRED
    tests = frozenset({Test.HAS_KEY})
    examples = (
        Example(
            "for w in words:\n    ‹«seen»[ w ]› += 1  # once more\n",
            "for w in words:\n    seen[ w ] = seen.get(w, 0) + 1  # once more\n",
            _COUNT,
        ),
        Example("‹«rows»[key]›.append(x)\n", "rows.setdefault(key, []).append(x)\n", _LIST),
        Example(
            "def f(d, a, b):\n    ‹«d.setdefault(a, {})»[b]› += 1\n",
            "def f(d, a, b):\n    found = d.setdefault(a, {})\n    found[b] = found.get(b, 0) + 1\n",
            _COUNT,
        ),
        Example("‹«d»[a]›[b] = 1\n", "d.setdefault(a, {})[b] = 1\n", Parameters("{}", Test.HAS_KEY)),
    )
    refusals = (
        Refusal("x = ‹«d»[k]›\n", "only read", _COUNT),
        Refusal("x = ‹«d»[k]›.size\n", "only read", _LIST),
        Refusal("‹«d»[k()]› += 1\n", "evaluated twice", _COUNT),
        Refusal("class A:\n    ‹«d()»[k]› += 1\n", "attribute of the class", _COUNT),
        Refusal("‹«d»[k]› //= 1\n", "operator", _COUNT),
        Refusal("‹«d»[1:2]›.append(x)\n", "one key", _LIST),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        container, key = subscript(site)
        default = default_for(site, parameters)
        holder = site.holder
        if isinstance(holder, cst.AugAssign) and holder.target is site.expression:
            return _added(site, holder, key, default)
        if not _grows(site):
            raise RefusedError("the item is only read, so nothing is to be stored")
        return site.replaced(site.expression, cst.Call(_method(container, "setdefault"), _arguments(key, default)))


def _added(site: Site, holder: cst.AugAssign, key: cst.BaseExpression, default: cst.BaseExpression) -> Rewrite:
    operator = _OPERATORS.get(type(holder.operator))
    if operator is None:
        raise RefusedError("no operator for which a start is known")
    if not may_ask_again(bare(key)):
        raise RefusedError("the key would have to be evaluated twice")
    name = None if may_repeat(site.receiver) else _new_name(site)
    container = cst.Name(name) if name else site.receiver
    former = cst.Call(_method(container, "get"), _arguments(key, default))
    sum_ = cst.BinaryOperation(former, operator(), holder.value)
    value = at_least(holder.value, binding(sum_) + 1)
    target = cst.ensure_type(holder.target, cst.Subscript).with_changes(value=container)
    assign = cst.Assign([cst.AssignTarget(target)], sum_.with_changes(right=value))

    def make(statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        line = cst.ensure_type(statement, cst.SimpleStatementLine)
        added = line.with_changes(body=[assign.with_changes(semicolon=holder.semicolon)])
        return [assignment(name, bare(site.receiver)), added] if name else [added]

    return replace_statement(site, make)


def _new_name(site: Site) -> str:
    if isinstance(site.block_scope, ast.ClassDef):
        raise RefusedError("a name bound here would become an attribute of the class")
    return fresh_name(site.block_scope, site.source.tree, site.receiver)


def _grows(site: Site) -> bool:
    """Whether the item is changed where it is: by a method that adds to it, or by storing into it."""
    parent = site.parent(site.expression)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in ("append", "extend", "insert", "add", "update", "appendleft", "setdefault")
    if isinstance(parent, cst.Subscript) and parent.value is site.expression:
        above = site.parent(parent)
        return isinstance(above, cst.AssignTarget) or (isinstance(above, cst.AugAssign) and above.target is parent)
    return False


def _method(container: cst.BaseExpression, name: str) -> cst.Attribute:
    return cst.Attribute(container, cst.Name(name))


def _arguments(key: cst.BaseExpression, default: cst.BaseExpression) -> list[cst.Arg]:
    return [cst.Arg(alone(key)), cst.Arg(alone(default))]
