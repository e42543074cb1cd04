"""Guard: `try: ... except ValueError: return D` around one statement that is no `return`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import (
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    RefusedError,
    Test,
)
from codemods.selfdebug.exceptions import handled
from codemods.selfdebug.exits import return_of

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_VALUE = Parameters("0", Test.NO_EXCEPTION, ("ValueError",))


class TryReturn(Guard):
    """Catches the one exception around the one statement and leaves the function, where nothing is left to do without.

    It also hides the same exception raised anywhere below the statement, so other guards are better where they fit.
    """

    family = Family.HANDLER
    summary = "return where the statement raises"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RESULT
    tests = frozenset({Test.NO_EXCEPTION})
    lateness = 3
    examples = (
        Example(
            "def f(text):\n    key, value = «text.split('=')»  # k=v\n    return key + value\n",
            "def f(text):\n    try:\n        key, value = text.split('=')  # k=v\n    except ValueError:\n"
            "        return 0\n    return key + value\n",
            _VALUE,
        ),
        Example(
            "def f(d):\n    g(‹«d»['k']›)\n    h()\n",
            "def f(d):\n    try:\n        g(d['k'])\n    except KeyError:\n        return\n    h()\n",
            Parameters(None, Test.NO_EXCEPTION, ("KeyError",)),
        ),
    )
    refusals = (
        Refusal("def f(t):\n    return int(«t»)\n", "try-around", _VALUE),
        Refusal("x = int(«t»)\n", "not inside a function", _VALUE),
        Refusal("def f(t):\n    for x in «t»: pass\n", "more than one statement", _VALUE),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if isinstance(site.holder, cst.Return):
            raise RefusedError("the statement returns already: try-around does the same")
        exit_ = return_of(site, parameters)
        return handled(site, parameters, lambda: exit_)
