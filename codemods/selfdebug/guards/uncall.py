"""Guard: `x` for `x()` where x is a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, RefusedError, Test

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_CALLABLE = Parameters(None, Test.CALLABLE)


class Uncall(Guard):
    """Takes the value itself where it was called without arguments and is no function: an attribute, a property."""

    family = Family.NAME
    summary = "use the value that was called"
    tests = frozenset({Test.CALLABLE})
    lateness = -3  # it is asked for only where the receiver never was a function
    examples = (
        Example("for item in ‹«order.items»()›: use(item)\n", "for item in order.items: use(item)\n", _CALLABLE),
        Example("x = 1 + (‹«a»( )›)\n", "x = 1 + (a)\n", _CALLABLE),
    )
    refusals = (
        Refusal("x = ‹«f»(1)›\n", "arguments", _CALLABLE),
        Refusal("x = ‹«f».x›\n", "no call", _CALLABLE),
        Refusal("‹«f»()›\n", "do nothing", _CALLABLE),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        del parameters  # nothing is asked
        call = site.expression
        if not isinstance(call, cst.Call):
            raise RefusedError("the dereference is no call")
        if call.args:
            raise RefusedError("the call passes arguments")
        if isinstance(site.parent(call), cst.Expr):
            raise RefusedError("the statement would do nothing")
        return site.replaced(call, call.func)
