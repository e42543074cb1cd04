"""Guard: `(x.a if x is not None else D).b()`, over the dereference alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import (
    CONDITIONS,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    RefusedError,
)
from codemods.selfdebug.extent import chain, conditional

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ConditionalInner(Guard):
    """Gives a default for the dereference alone, so that what follows it works on the default."""

    family = Family.EXPRESSION_DEFAULT
    lateness = 1
    summary = "use a default in place of the dereference alone"
    default_use = DefaultUse.REQUIRED
    tests = CONDITIONS
    examples = (
        Example(
            "name = ‹«user».name›.lower()\n",
            "name = (user.name if user is not None else '').lower()\n",
            Parameters("''"),
        ),
    )
    refusals = (
        Refusal("name = ‹«user».name›\n", "nothing follows", Parameters("''")),
        Refusal("‹«user».tags›[0] = 1\n", "discarded", Parameters("{}")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if chain(site) is site.expression:
            raise RefusedError("nothing follows the dereference: conditional-expression is the same")
        return conditional(site, parameters, site.expression)
