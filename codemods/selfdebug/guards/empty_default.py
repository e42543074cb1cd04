"""Guard: `max(xs, default=D)` and `next(rows, D)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultUse, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.defaults import default_for

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_NOTHING = Parameters("None", Test.NO_EXCEPTION)


class EmptyDefault(Guard):
    """Gives `max`, `min` and `next` the value for the case that there is nothing to choose from."""

    family = Family.LOOKUP_DEFAULT
    summary = "give the choice a default for nothing"
    default_use = DefaultUse.REQUIRED
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example("top = ‹«max»(xs, key=size)›  # best\n", "top = max(xs, key=size, default=None)  # best\n", _NOTHING),
        Example("x = ‹«next»(y for y in ys if y)›\n", "x = next((y for y in ys if y), None)\n", _NOTHING),
        Example("x = ‹«next»(rows)›.a\n", "x = next(rows, NONE).a\n", Parameters("NONE", Test.NO_EXCEPTION)),
    )
    refusals = (
        Refusal("x = ‹«max»(a, b)›\n", "one argument", _NOTHING),
        Refusal("x = ‹«max»(a, default=0)›\n", "already", _NOTHING),
        Refusal("x = ‹«next»(a, 0)›\n", "already", _NOTHING),
        Refusal("x = ‹«len»(a)›\n", "no choice", _NOTHING),
        Refusal("x = ‹«a».b›\n", "no choice", _NOTHING),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        call = site.expression
        if not isinstance(call, cst.Call) or site.code(call.func) not in ("max", "min", "next"):
            raise RefusedError("the dereference is no choice among values")
        default = default_for(site, parameters)
        is_next = site.code(call.func) == "next"
        _check(call, is_next)
        first, *others = call.args
        if is_next and isinstance(first.value, cst.GeneratorExp) and not first.value.lpar:
            parentheses = {"lpar": [cst.LeftParen()], "rpar": [cst.RightParen()]}
            first = first.with_changes(value=first.value.with_changes(**parentheses))
        keyword = None if is_next else cst.Name("default")
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        added = cst.Arg(default, keyword=keyword, equal=cst.MaybeSentinel.DEFAULT if is_next else equal)
        *kept, last = [first, *others]
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return site.changed(call, call.with_changes(args=[*kept, last.with_changes(comma=comma), added]))


def _check(call: cst.Call, is_next: bool) -> None:
    plain = [arg for arg in call.args if arg.keyword is None]
    if (is_next and len(plain) > 1) or any(arg.keyword and arg.keyword.value == "default" for arg in call.args):
        raise RefusedError("the choice has a default already")
    if len(plain) != 1 or plain[0].star:
        raise RefusedError("a default goes with one argument only")
