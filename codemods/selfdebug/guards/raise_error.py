"""Guard: `if x is None: raise ValueError(...)` before the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.selfdebug.base import (
    CONDITIONS,
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
)
from codemods.selfdebug.exits import leave_before, raise_of

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class RaiseError(Guard):
    """Raises the exception given as default before the statement where the condition does not hold."""

    family = Family.RAISE
    summary = "raise the exception that callers expect"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.EXCEPTION
    tests = CONDITIONS
    examples = (
        Example(
            "def f(user):\n    return ‹«user».name›\n",
            "def f(user):\n    if user is None:\n        raise ValueError('no user')\n    return user.name\n",
            Parameters("ValueError('no user')"),
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "no exception", Parameters("1 + 1")),
        Refusal("x = [‹«u».name› for u in us]\n", "repeatedly", Parameters("ValueError")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return leave_before(site, parameters, raise_of(site, parameters))
