"""Guard: `if x is None: return D` before the statement."""

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
    Test,
)
from codemods.selfdebug.exits import leave_before, return_of

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class EarlyReturn(Guard):
    """Leaves the function before the statement where the condition does not hold, with the default if one is given."""

    family = Family.EARLY_RETURN
    summary = "return before the statement"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RESULT
    tests = CONDITIONS
    examples = (
        Example(
            "def dsn(cfg):\n    return ‹«cfg['db']»['host']›  # host\n",
            "def dsn(cfg):\n    if cfg['db'] is None:\n        return None\n    return cfg['db']['host']  # host\n",
            Parameters("None"),
        ),
        Example(
            "def span(key):\n    lo, hi=«bounds(key)»\n    return hi-lo\n",
            "def span(key):\n"
            "    found = bounds(key)\n"
            "    if found is None:\n"
            "        return 0\n"
            "    lo, hi=found\n"
            "    return hi-lo\n",
            Parameters("0"),
        ),
        Example(
            "def f(x):\n    if a: b(); ‹«x».y›()\n    c()\n",
            "def f(x):\n    if a:\n        b()\n        if x is None:\n            return\n        x.y()\n    c()\n",
        ),
        Example(
            "def cost(sku, qty):\n    return ‹«PRICES»[sku]› * qty if qty else 0\n",
            "def cost(sku, qty):\n"
            "    if qty and sku not in PRICES:\n"
            "        return None\n"
            "    return PRICES[sku] * qty if qty else 0\n",
            Parameters("None", Test.HAS_KEY),
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "not inside a function"),
        Refusal("def f(x):\n    while ‹«x».y›: pass\n", "repeatedly"),
        Refusal("def f(x):\n    if a: pass\n    elif ‹«x».y›: pass\n", "elif"),
        Refusal("async def f(x):\n    yield ‹«x».y›\n", "asynchronous generator", Parameters("0")),
        Refusal("def f(x):\n    try: pass\n    finally:\n        ‹«x».y›()\n", "finally"),
        Refusal("def f(x):\n    if x is None:\n        return\n    return ‹«x».y›\n", "already guarded"),
        Refusal("class A:\n    def __init__(self, x):\n        self.y = ‹«x».y›\n", "__init__", Parameters("0")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return leave_before(site, parameters, return_of(site, parameters))
