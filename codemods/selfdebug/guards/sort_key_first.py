"""Guard: `key=lambda x: (x is not None, x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import About, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.sort_keys import keyed

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class SortKeyFirst(Guard):
    """Sorts None before everything else, as `sort-key` sorts it after."""

    family = Family.COERCION
    summary = "sort None first"
    lateness = 1
    tests = frozenset({Test.NOT_NONE})
    about = About.EITHER
    examples = (
        Example(
            "out = «sorted(us, key=lambda u: u.age)»\n",
            "out = sorted(us, key=lambda u: (u.age is not None, u.age))\n",
        ),
        Example("‹«ages».sort›()\n", "ages.sort(key=lambda item: (item is not None, item))\n"),
    )
    refusals = (
        Refusal("x = ‹«u».age›\n", "nothing is sorted"),
        Refusal("out = «max(us, key=lambda u: (u.age is not None, u.age))»\n", "already"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        del parameters  # only None is sorted apart
        return keyed(site, "is not")
