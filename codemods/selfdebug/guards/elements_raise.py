"""Guard: `if any(x is None for x in xs): raise ValueError(...)` before the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import (
    About,
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    Test,
)
from codemods.selfdebug.element_conditions import some_element
from codemods.selfdebug.exits import leave_where, raise_of

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_GAP = Parameters("ValueError('a gap')")


class ElementsRaise(Guard):
    """Raises the exception given as default where some element of the container cannot be used."""

    family = Family.RAISE
    lateness = 1
    summary = "raise the exception that callers expect where some element cannot be used"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.EXCEPTION
    tests = frozenset({Test.NOT_NONE, Test.IS_INSTANCE})
    about = About.EITHER
    examples = (
        Example(
            "total = sum(«self.prices»)\n",
            "if any(price is None for price in self.prices):\n    raise ValueError('a gap')\n"
            "total = sum(self.prices)\n",
            _GAP,
        ),
    )
    refusals = (
        Refusal("x = sum(«xs»)\n", "no exception", Parameters("1 + 1")),
        Refusal("x = ‹«u».name›\n", "no argument of its own", _GAP),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        exit_ = raise_of(site, parameters)
        return leave_where(site, some_element(site, parameters), exit_)
