"""Guard: `key=lambda x: (x is None, x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
import libcst.matchers as m

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.conditions import one_line
from codemods.selfdebug.precedence import operand_of_comparison
from codemods.selfdebug.purity import may_repeat
from codemods.selfdebug.scopes import fresh_name
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_FUNCTIONS = m.Name("sorted") | m.Name("min") | m.Name("max")


class SortKey(Guard):
    """Sorts None after everything else: the key becomes a pair of which the first says whether the second is None."""

    family = Family.COERCION
    summary = "sort None last"
    tests = frozenset({Test.NOT_NONE})
    examples = (
        Example(
            "out = «sorted(us, key=lambda u: u.age)»\n",
            "out = sorted(us, key=lambda u: (u.age is None, u.age))\n",
        ),
        Example("out = «sorted(ages)»\n", "out = sorted(ages, key=lambda item: (item is None, item))\n"),
        Example(
            "us.sort(key=lambda u: «u.get('age')», reverse=True)\n",
            "us.sort(key=lambda u: ((age := u.get('age')) is None, age), reverse=True)\n",
        ),
    )
    refusals = (
        Refusal("x = ‹«u».age›\n", "nothing is sorted"),
        Refusal("out = «sorted(us, key=age)»\n", "no lambda"),
        Refusal("out = «sorted(us, key=lambda u: (u.age is None, u.age))»\n", "already"),
        Refusal("out = «max(a, b)»\n", "one argument"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        del parameters  # only None is sorted apart
        call = _sorting_call(site)
        key = next((arg for arg in call.args if arg.keyword and arg.keyword.value == "key"), None)
        if key is not None:
            return _in_key(site, key.value)
        wanted = 0 if isinstance(call.func, cst.Attribute) else 1
        if sum(arg.keyword is None and not arg.star for arg in call.args) != wanted or len(call.args) > wanted:
            raise RefusedError("a key is added only to a sort with one argument")
        name = fresh_name(site.block_scope, site.source.tree, cst.Attribute(cst.Name("_"), cst.Name("item")))
        return site.changed(call, call.with_changes(args=[*call.args, _key_argument(name)]))


def _sorting_call(site: Site) -> cst.Call:
    nodes = [site.expression, *(step.parent for step in site.steps_from(site.expression))]
    for node in nodes:
        if isinstance(node, cst.Call) and (m.matches(node.func, _FUNCTIONS) or _is_sort(node.func)):
            return node
    raise RefusedError("nothing is sorted here")


def _is_sort(func: cst.BaseExpression) -> bool:
    return isinstance(func, cst.Attribute) and func.attr.value == "sort"


def _key_argument(name: str) -> cst.Arg:
    key = cst.parse_expression(f"lambda {name}: ({name} is None, {name})")
    return cst.ensure_type(cst.parse_expression("_(key=_)"), cst.Call).args[0].with_changes(value=key)


def _in_key(site: Site, key: cst.BaseExpression) -> Rewrite:
    if not isinstance(key, cst.Lambda):
        raise RefusedError("the key is no lambda")
    body = bare(key.body)
    if isinstance(body, cst.Tuple) and m.matches(body.elements[0].value, m.Comparison(comparisons=[_IS_NONE])):
        raise RefusedError("the key tells None apart already")
    code = cst.Module([]).code_for_node
    if may_repeat(body):
        again = code(one_line(body))
        pair = f"({again} is None, {again})"
    else:
        name = fresh_name(site.block_scope, site.source.tree, body)
        pair = f"({code(operand_of_comparison(cst.NamedExpr(cst.Name(name), body)))} is None, {name})"
    return site.changed(key.body, cst.parse_expression(pair))


_IS_NONE = m.ComparisonTarget(operator=m.Is(), comparator=m.Name("None"))
