"""Guard: `d.get(k, D)` for `d.get(k)` or `d[k]`."""

from __future__ import annotations

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
from codemods.selfdebug.defaults import default_for, with_last_argument
from codemods.selfdebug.edits import replace_statement
from codemods.selfdebug.extent import refuse_stored, refuse_stored_into
from codemods.selfdebug.precedence import alone
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_METHODS = frozenset({"get", "pop"})
_FUNCTIONS = {"next": 1, "getattr": 2}


class LookupDefault(Guard):
    """Gives the look-up itself a default: `get`, `pop`, `next`, `getattr` get a last argument, `d[k]` becomes a `get`.

    For `del d[k]` it is `d.pop(k, None)`. A key that is there with the value None still gives None.
    """

    family = Family.LOOKUP_DEFAULT
    summary = "give the look-up a default"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RECEIVER
    tests = frozenset({Test.NOT_NONE, Test.HAS_KEY})
    examples = (
        Example(
            "match ‹«event.get('kind')».lower›():\n    case _: pass\n",
            "match event.get('kind', '').lower():\n    case _: pass\n",
            Parameters("''"),
        ),
        Example("n = ‹«PRICES»[ sku ]› * 2\n", "n = PRICES.get(sku, 0) * 2\n", Parameters("0", Test.HAS_KEY)),
        Example("x = ‹«cache»[a, b]›\n", "x = cache.get((a, b))\n", Parameters("None", Test.HAS_KEY)),
        Example("del ‹«cache»[key]›  # gone\n", "cache.pop(key, None)  # gone\n", Parameters(test=Test.HAS_KEY)),
        Example("first = ‹«next(rows)».name›\n", "first = next(rows, NONE).name\n", Parameters("NONE")),
    )
    refusals = (
        Refusal("x = ‹«d.get(k, 1)».y›\n", "already", Parameters("0")),
        Refusal("x = ‹«d[k]».y›\n", "no look-up", Parameters("0")),
        Refusal("‹«d»[k]› = 1\n", "assigned to", Parameters("0", Test.HAS_KEY)),
        Refusal("‹«d»[k]›[j] += 1\n", "discarded", Parameters("{}", Test.HAS_KEY)),
        Refusal("x = ‹«d»[k]›\n", "needs a default", Parameters(test=Test.HAS_KEY)),
        Refusal("x = ‹«d»[1:2]›\n", "no key", Parameters("0", Test.HAS_KEY)),
        Refusal("x = ‹«d.get(*k)».y›\n", "arguments", Parameters("0")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if parameters.test is Test.HAS_KEY and isinstance(site.expression, cst.Subscript):
            return _get_instead(site, site.expression, parameters)
        call = site.expression if parameters.test is Test.HAS_KEY else site.receiver
        if not isinstance(call, cst.Call):
            raise RefusedError("the receiver is no look-up")
        _check_call(call)
        default = default_for(site, parameters)
        return site.changed(call, call.with_changes(args=with_last_argument(call.args, default)))


def _check_call(call: cst.Call) -> None:
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value in _METHODS:
        wanted = 1
    elif isinstance(func, cst.Name) and func.value in _FUNCTIONS:
        wanted = _FUNCTIONS[func.value]
    else:
        raise RefusedError("the receiver is no look-up that takes a default")
    if any(arg.star or arg.keyword for arg in call.args) or not call.args:
        raise RefusedError("the arguments of the look-up do not say where a default goes")
    if len(call.args) > wanted:
        raise RefusedError("the look-up already has a default")


def _get_instead(site: Site, node: cst.Subscript, parameters: Parameters) -> Rewrite:
    key = _key(node)
    if isinstance(site.parent(node), cst.Del):
        return _pop_instead(site, node, key)
    refuse_stored(site, node)
    refuse_stored_into(site, node)
    default = default_for(site, parameters)
    arguments = [cst.Arg(key)]
    if not (isinstance(default, cst.Name) and default.value == "None"):
        arguments.append(cst.Arg(alone(default)))
    call = cst.Call(cst.Attribute(node.value, cst.Name("get")), arguments)
    return site.replaced(node, call)


def _pop_instead(site: Site, node: cst.Subscript, key: cst.BaseExpression) -> Rewrite:
    call = cst.Call(cst.Attribute(node.value, cst.Name("pop")), [cst.Arg(key), cst.Arg(cst.Name("None"))])

    def make(statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        assert isinstance(statement, cst.SimpleStatementLine)
        return [statement.with_changes(body=[cst.Expr(call)])]

    return replace_statement(site, make)


def _key(node: cst.Subscript) -> cst.BaseExpression:
    parts = [element.slice for element in node.slice]
    keys = [part.value for part in parts if isinstance(part, cst.Index) and not part.star]
    if len(keys) != len(parts):
        raise RefusedError("a slice is no key")
    if len(keys) > 1 or isinstance(node.slice[0].comma, cst.Comma):
        return cst.Tuple([cst.Element(bare(key)) for key in keys])
    return alone(keys[0])
