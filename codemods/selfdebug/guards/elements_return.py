"""Guard: `if any(x is None for x in xs): return D` before the statement."""

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
from codemods.selfdebug.exits import leave_where, return_of

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_NOT_STR = Parameters("None", Test.IS_INSTANCE, ("str",))


class ElementsReturn(Guard):
    """Leaves the function before the statement where some element of the container cannot be used."""

    family = Family.EARLY_RETURN
    lateness = 4
    summary = "return where some element cannot be used"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RESULT
    tests = frozenset({Test.NOT_NONE, Test.IS_INSTANCE})
    about = About.EITHER
    examples = (
        Example(
            "def path(parts):\n    return '/'.join(«parts»)  # all\n",
            "def path(parts):\n    if any(not isinstance(part, str) for part in parts):\n        return None\n"
            "    return '/'.join(parts)  # all\n",
            _NOT_STR,
        ),
        Example(
            "def f(us):\n    return [\n        ‹«u.mail».lower›() for u in us  # mails\n        if u.active\n    ]\n",
            "def f(us):\n    if any(u.mail is None for u in us if u.active):\n        return []\n"
            "    return [\n        u.mail.lower() for u in us  # mails\n        if u.active\n    ]\n",
            Parameters("[]"),
        ),
    )
    refusals = (
        Refusal("def f(x):\n    return ‹«x».y›\n", "no argument of its own"),
        Refusal("def f(xs):\n    return sum(«xs()»)\n", "gone through twice"),
        Refusal("def f(xs):\n    return [‹«g(x)».y› for x in xs]\n", "evaluated twice"),
        Refusal("def f(xs):\n    return [‹«y».z› for x in xs for y in x]\n", "more than one"),
        Refusal("x = sum(«xs»)\n", "not inside a function"),
        Refusal(
            "def f(xs):\n    if any(x is None for x in xs): return\n    return sum(«xs»)\n", "already", Parameters("0")
        ),
        Refusal("def f(xs):\n    return sum(«xs»)\n", "no class", Parameters("0", Test.IS_INSTANCE)),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        exit_ = return_of(site, parameters)
        return leave_where(site, some_element(site, parameters), exit_)
