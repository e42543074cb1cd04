"""Guard: `x.a.b() if x is not None else D`, over the dereference and what follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import CONDITIONS, DefaultUse, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.extent import chain, conditional

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ConditionalExpression(Guard):
    """Gives the dereference, with the attributes, calls and subscripts that follow it, only where the condition holds.

    Elsewhere the value is the default. A receiver that is a call is bound to a name on the way.
    """

    family = Family.EXPRESSION_DEFAULT
    summary = "use a default in place of the dereference and what follows it"
    default_use = DefaultUse.REQUIRED
    tests = CONDITIONS
    examples = (
        Example(
            "def city(self):\n    return ‹«self.address».city›.title()\n",
            "def city(self):\n    return self.address.city.title() if self.address is not None else ''\n",
            Parameters("''"),
        ),
        Example(
            "def emit(self, event):\n    answer = ‹«self.hooks.get(event)»(1)›  # once\n    return answer\n",
            "def emit(self, event):\n"
            "    answer = hook(1) if (hook := self.hooks.get(event)) is not None else None  # once\n"
            "    return answer\n",
            Parameters("None"),
        ),
        Example(
            "total = 1 + ‹«shop».size›\n",
            "total = 1 + (shop.size if shop is not None else 0)\n",
            Parameters("0"),
        ),
        Example(
            "price = ‹«PRICES»[sku]›\n",
            "price = PRICES[sku] if sku in PRICES else 0\n",
            Parameters("0", Test.HAS_KEY),
        ),
        Example(
            "first = ‹«rows»[0]›\n", "first = rows[0] if len(rows) > 0 else None\n", Parameters("None", Test.IN_RANGE)
        ),
        Example("mean = ‹total / «n»›\n", "mean = total / n if n != 0 else 0\n", Parameters("0", Test.NON_ZERO)),
        Example(
            "n = ‹«shape».area›()\n",
            "n = shape.area() if isinstance(shape, (Circle, Box)) else 0\n",
            Parameters("0", Test.IS_INSTANCE, ("Circle", "Box")),
        ),
        Example(
            "n = len(‹«row.size»›)\n",
            "n = len(row.size if row.size is not MISSING else 0)\n",
            Parameters("0", Test.NOT_SENTINEL, ("MISSING",)),
        ),
        Example(
            "async def f(hook):\n    return ‹await «hook(1)»›\n",
            "async def f(hook):\n    return await found if inspect.isawaitable((found := hook(1))) else found\n",
            Parameters("hook(1)", Test.AWAITABLE),
        ),
    )
    refusals = (
        Refusal("‹«user».save›()\n", "nobody reads", Parameters("None")),
        Refusal("‹«user».name› = 1\n", "assigned to", Parameters("None")),
        Refusal("x = user.name if user is not None else ‹«user».name›\n", "default"),
        Refusal("x = ‹«user».name› if user is not None else ''\n", "already guarded", Parameters("''")),
        Refusal("class A:\n    x = ‹«find()».name›\n", "attribute of the class", Parameters("''")),
        Refusal("x = (f(y), ‹«y».name›)\n", "no expression", Parameters("1 +")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return conditional(site, parameters, chain(site))
