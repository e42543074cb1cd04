"""Guard: `if x is None: break` before the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Refusal
from codemods.selfdebug.exits import leave_before, refuse_finally, require_loop

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site


class BreakLoop(Guard):
    """Ends the loop before the statement where the condition does not hold."""

    family = Family.CONTINUE
    lateness = 2
    summary = "end the loop"
    tests = CONDITIONS
    examples = (
        Example(
            "while True:\n    node = ‹«node».next›\n    n += 1\n",
            "while True:\n    if node is None:\n        break\n    node = node.next\n    n += 1\n",
        ),
    )
    refusals = (Refusal("x = ‹«user».name›\n", "not in the body of a loop"),)

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        require_loop(site)
        refuse_finally(site)
        return leave_before(site, parameters, cst.Break())
