"""Guard: `try: ... except ValueError: continue` around one statement of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.exceptions import handled
from codemods.selfdebug.exits import refuse_finally, require_loop

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_VALUE = Parameters(None, Test.NO_EXCEPTION, ("ValueError",))


class TryContinue(Guard):
    """Catches the one exception around the one statement and goes on with the next turn of the loop."""

    family = Family.HANDLER
    summary = "go on with the next turn of the loop where the statement raises"
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "for row in rows:\n    key, value = «row.split('=')»\n    found[key] = value\n",
            "for row in rows:\n    try:\n        key, value = row.split('=')\n    except ValueError:\n"
            "        continue\n    found[key] = value\n",
            _VALUE,
        ),
    )
    refusals = (
        Refusal("key, value = «row.split('=')»\n", "not in the body of a loop", _VALUE),
        Refusal("for row in rows:\n    if int(«row»): pass\n", "more than one statement", _VALUE),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        require_loop(site)
        refuse_finally(site)
        return handled(site, parameters, cst.Continue)
