"""Keys of sorts that tell None apart: a pair of which the first says whether the second is None."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.conditions import one_line
from codemods.selfdebug.elements import new_item
from codemods.selfdebug.precedence import operand_of_comparison
from codemods.selfdebug.purity import is_constant, is_named, may_repeat
from codemods.selfdebug.scopes import fresh_name
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_FUNCTIONS = frozenset({"sorted", "min", "max"})


def keyed(site: Site, asks: str) -> Rewrite:
    """The unit with a key that sorts None last (`asks` is `is`) or first (`is not`). Raises RefusedError."""
    call = _sorting_call(site)
    key = next((arg for arg in call.args if arg.keyword and arg.keyword.value == "key"), None)
    if key is not None:
        return site.changed(key.value, _told_apart(site, key.value, asks))
    wanted = 0 if isinstance(call.func, cst.Attribute) else 1
    if sum(arg.keyword is None and not arg.star for arg in call.args) != wanted or len(call.args) > wanted:
        raise RefusedError("a key is added only to a sort with one argument")
    name = new_item(site, "item")
    added = cst.ensure_type(cst.parse_expression(f"_(key=lambda {name}: ({name} {asks} None, {name}))"), cst.Call)
    return site.changed(call, call.with_changes(args=[*call.args, *added.args]))


def _sorting_call(site: Site) -> cst.Call:
    nodes = [site.expression, *(step.parent for step in site.steps_from(site.expression))]
    for node in nodes:
        if isinstance(node, cst.Call) and (is_named(node.func, _FUNCTIONS) or _is_sort(node.func)):
            return node
    raise RefusedError("nothing is sorted here")


def _is_sort(func: cst.BaseExpression) -> bool:
    return isinstance(func, cst.Attribute) and func.attr.value == "sort"


def _told_apart(site: Site, key: cst.BaseExpression, asks: str) -> cst.BaseExpression:
    """The lambda that gives the pair: over the body of `key`, or over what the function `key` gives."""
    if isinstance(key, cst.Lambda):
        return key.with_changes(body=_pair(site, bare(key.body), asks))
    name = new_item(site, "item")
    body = _read(key, name) or cst.Call(key, [cst.Arg(cst.Name(name))])
    shell = cst.ensure_type(cst.parse_expression(f"lambda {name}: 0"), cst.Lambda)
    return shell.with_changes(body=_pair(site, body, asks))


def _read(key: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    """What `itemgetter(1)` and `attrgetter('age')` read of the item `name`."""
    code = cst.Module([]).code_for_node
    match key:
        case cst.Call(func=func, args=[cst.Arg(value=what, star="", keyword=None)]):
            getter = code(func).rpartition(".")[2]
            if getter == "itemgetter" and is_constant(what):
                return cst.parse_expression(f"{name}[{code(what)}]")
            if getter == "attrgetter" and isinstance(what, cst.SimpleString):
                return cst.parse_expression(f"{name}.{what.raw_value}")
    return None


def _pair(site: Site, body: cst.BaseExpression, asks: str) -> cst.BaseExpression:
    if isinstance(body, cst.Tuple) and _asks_about_none(body.elements[0].value):
        raise RefusedError("the key tells None apart already")
    code = cst.Module([]).code_for_node
    if may_repeat(body):
        again = code(one_line(body))
        return cst.parse_expression(f"({again} {asks} None, {again})")
    name = fresh_name(site.block_scope, site.source.tree, body)
    bound = code(operand_of_comparison(cst.NamedExpr(cst.Name(name), body)))
    return cst.parse_expression(f"({bound} {asks} None, {name})")


def _asks_about_none(node: cst.BaseExpression) -> bool:
    asked = node.comparisons if isinstance(node, cst.Comparison) else ()
    return any(isinstance(each.operator, cst.Is | cst.IsNot) and is_named(each.comparator, ("None",)) for each in asked)
