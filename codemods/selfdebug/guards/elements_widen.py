"""Guard: `if not xs or any(x is None for x in xs):` for the guard just above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import About, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.element_conditions import some_element
from codemods.selfdebug.exits import widened_above

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ElementsWiden(Guard):
    """Lets the guard just above the statement act where some element of the container cannot be used."""

    family = Family.CONDITION_PREFIX
    lateness = 2
    summary = "widen the guard just above to unusable elements"
    tests = frozenset({Test.NOT_NONE, Test.IS_INSTANCE})
    about = About.EITHER
    examples = (
        Example(
            "def path(parts):\n    if not parts: return 0  # no\n    return '/'.join(«parts»)\n",
            "def path(parts):\n    if not parts or any(not isinstance(part, str) for part in parts): return 0  # no\n"
            "    return '/'.join(parts)\n",
            Parameters(None, Test.IS_INSTANCE, ("str",)),
        ),
    )
    refusals = (
        Refusal("def f(xs):\n    return sum(«xs»)\n", "no guard just above"),
        Refusal("def f(x):\n    if x: return 1\n    return ‹«x».y›\n", "no argument of its own"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return widened_above(site, some_element(site, parameters))
