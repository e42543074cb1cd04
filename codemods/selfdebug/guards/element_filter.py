"""Guard: `sum(x for x in xs if x is not None)` for `sum(xs)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import About, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.elements import item_name, over_elements

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_STR = Parameters(None, Test.IS_INSTANCE, ("str",))


class ElementFilter(Guard):
    """Leaves out the elements for which the condition does not hold, where a container is summed, joined or sorted."""

    family = Family.FILTER
    summary = "leave out the elements that cannot be used"
    tests = frozenset({Test.NOT_NONE, Test.IS_INSTANCE})
    about = About.ELEMENTS
    examples = (
        Example(
            "total = sum(«prices»)  # all\n", "total = sum(price for price in prices if price is not None)  # all\n"
        ),
        Example(
            "x = max(«self.sizes», default=0)\n",
            "x = max((size for size in self.sizes if size is not None), default=0)\n",
        ),
        Example("x = ', '.join(«xs»)\n", "x = ', '.join(item for item in xs if isinstance(item, str))\n", _STR),
    )
    refusals = (
        Refusal("x = sum(y for y in «ys»)\n", "no argument of its own"),
        Refusal("x = sum(«[a for a in b]»)\n", "already"),
        Refusal("x = sum(*«ys»)\n", "no argument of its own"),
        Refusal("x = ', '.join(«xs»)\n", "no class", Parameters(None, Test.IS_INSTANCE)),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        name = item_name(site)
        if parameters.test is Test.NOT_NONE:
            condition = f"{name} is not None"
        elif parameters.classes:
            classes = ", ".join(parameters.classes)
            condition = f"isinstance({name}, {classes if len(parameters.classes) == 1 else f'({classes})'})"
        else:
            raise RefusedError("no class to test for")
        kept = cst.ensure_type(cst.parse_expression(f"({name} for {name} in _ if {condition})"), cst.GeneratorExp)
        return over_elements(site, kept)
