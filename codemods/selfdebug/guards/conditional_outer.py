"""Guard: `f(x.a) + 1 if x is not None else D`, over the whole value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import (
    CONDITIONS,
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
from codemods.selfdebug.extent import chain, conditional, whole_value

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ConditionalOuter(Guard):
    """Gives a default for the outermost expression that is always evaluated together with the dereference."""

    family = Family.EXPRESSION_DEFAULT
    summary = "use a default in place of the whole value"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.RESULT
    tests = CONDITIONS
    examples = (
        Example(
            "def cost(sku, qty):\n    return ‹«PRICES»[sku]› * qty if qty else 0\n",
            "def cost(sku, qty):\n    return (PRICES[sku] * qty if sku in PRICES else None) if qty else 0\n",
            Parameters("None", Test.HAS_KEY),
        ),
        Example(
            "x = max(1, len(‹«user».name›))\n",
            "x = max(1, len(user.name)) if user is not None else 0\n",
            Parameters("0"),
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "conditional-expression is the same", Parameters("0")),
        Refusal("x = f(y) + ‹«find(y)».name›\n", "before what stands before", Parameters("0")),
        Refusal("x = f(user) + ‹«user.boss».name›\n", "may change the receiver", Parameters("0")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        outer = whole_value(site)
        if outer in (chain(site), site.expression):
            raise RefusedError("the dereference is the whole value: conditional-expression is the same")
        return conditional(site, parameters, outer)
