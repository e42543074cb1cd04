"""Guard: one more `or` in the `if ...: return` just above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.conditions import condition_for
from codemods.selfdebug.exits import widened_above

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class GuardWiden(Guard):
    """Lets the guard just above the statement act for the receiver too.

    `x is None` becomes `not x` where the condition is the truth of the same receiver; otherwise an `or` is added.
    """

    family = Family.CONDITION_PREFIX
    summary = "widen the guard just above by one more `or`"
    tests = CONDITIONS
    examples = (
        Example(
            "def f(a):\n    if a is None:\n        return 0\n    return ‹«a.b».c›\n",
            "def f(a):\n    if a is None or a.b is None:\n        return 0\n    return a.b.c\n",
        ),
        Example(
            "def f(a):\n    if a is None: return 0\n    return ‹«a»[0]›\n",
            "def f(a):\n    if not a: return 0\n    return a[0]\n",
            Parameters(test=Test.TRUTHY),
        ),
    )
    refusals = (
        Refusal("def f(a):\n    return ‹«a».b›\n", "no guard just above"),
        Refusal("def f(a):\n    if c: return 0\n    return ‹«g(a)».b›\n", "a new name"),
        Refusal("def f(a):\n    if c or a is None: return 0\n    return ‹«a».b›\n", "already guarded"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return widened_above(site, condition_for(site, parameters))
