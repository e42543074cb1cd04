"""Guard: `xs[min(i, len(xs) - 1)]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.clamps import clamped

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_RANGE = Parameters(None, Test.IN_RANGE)


class ClampHigh(Guard):
    """Takes the last item where the index is too high.

    Every index that worked gives what it gave; an empty sequence still raises.
    """

    family = Family.COERCION
    summary = "use the last item where the index is too high"
    tests = frozenset({Test.IN_RANGE})
    examples = (
        Example("level = ‹«LEVELS»[ n ]›  # name\n", "level = LEVELS[ min(n, len(LEVELS) - 1) ]  # name\n", _RANGE),
        Example("x = ‹«self.xs»[i + 1]›\n", "x = self.xs[min(i + 1, len(self.xs) - 1)]\n", _RANGE),
    )
    refusals = (
        Refusal("x = ‹«xs»[0]›\n", "constant", _RANGE),
        Refusal("x = ‹«f()»[i]›\n", "evaluated twice", _RANGE),
        Refusal("‹«xs»[i]› = 1\n", "assigned to", _RANGE),
        Refusal("x = ‹«xs»[min(i, len(xs) - 1)]›\n", "already", _RANGE),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        del parameters  # a clamp asks nothing
        return clamped(site, "min({index}, len({container}) - 1)")
