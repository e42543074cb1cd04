"""Guard: `key=lambda x: (x is None, x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import About, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.sort_keys import keyed

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class SortKey(Guard):
    """Sorts None after everything else: the key becomes a pair of which the first says whether the second is None."""

    family = Family.COERCION
    summary = "sort None last"
    tests = frozenset({Test.NOT_NONE})
    about = About.EITHER
    examples = (
        Example(
            "out = «sorted(us, key=lambda u: u.age)»\n",
            "out = sorted(us, key=lambda u: (u.age is None, u.age))\n",
        ),
        Example("out = «sorted(ages)»\n", "out = sorted(ages, key=lambda item: (item is None, item))\n"),
        Example(
            "us.sort(key=lambda u: «u.get('age')», reverse=True)\n",
            "us.sort(key=lambda u: ((age := u.get('age')) is None, age), reverse=True)\n",
        ),
        Example(
            "out = sorted(us, key=«itemgetter(1)»)\n",
            "out = sorted(us, key=lambda item: (item[1] is None, item[1]))\n",
        ),
        Example(
            "out = sorted(us, key=«attrgetter('age')»)\n",
            "out = sorted(us, key=lambda item: (item.age is None, item.age))\n",
        ),
        Example(
            "us.sort(key=«by('age')»)\n", "us.sort(key=lambda item: ((found := by('age')(item)) is None, found))\n"
        ),
        Example("us.sort(key=«age»)\n", "us.sort(key=lambda item: ((found := age(item)) is None, found))\n"),
    )
    refusals = (
        Refusal("x = ‹«u».age›\n", "nothing is sorted"),
        Refusal("out = «sorted(us, key=lambda u: (u.age is None, u.age))»\n", "already"),
        Refusal("out = «max(a, b)»\n", "one argument"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        del parameters  # only None is sorted apart
        return keyed(site, "is")
