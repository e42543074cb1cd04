"""Guard: `if x is None: continue` before the statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Refusal
from codemods.selfdebug.exits import leave_before, refuse_finally, require_loop

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site


class ContinueLoop(Guard):
    """Goes on with the next turn of the loop before the statement where the condition does not hold."""

    family = Family.CONTINUE
    summary = "go on with the next turn of the loop"
    tests = CONDITIONS
    examples = (
        Example(
            "def links(page):\n"
            "\tout = [ ]\n"
            "\tfor card in page:\n"
            '\t\tout.append(‹«card.find("a")»["href"]›)\t# tab before\n'
            "\treturn out\n",
            "def links(page):\n"
            "\tout = [ ]\n"
            "\tfor card in page:\n"
            '\t\ta = card.find("a")\n'
            "\t\tif a is None:\n"
            "\t\t\tcontinue\n"
            '\t\tout.append(a["href"])\t# tab before\n'
            "\treturn out\n",
        ),
        Example(
            "for disk in disks: total += «disk.size» # bytes\n",
            "for disk in disks:\n    if disk.size is None:\n        continue\n    total += disk.size # bytes\n",
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "not in the body of a loop"),
        Refusal("for x in y: pass\nelse:\n    ‹«x».y›()\n", "not in the body of a loop"),
        Refusal("for u in us:\n    out.append([‹«v».name› for v in u])\n", "repeatedly"),
        Refusal("for u in us:\n    if u is None: continue\n    ‹«u».save›()\n", "already guarded"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        require_loop(site)
        refuse_finally(site)
        return leave_before(site, parameters, cst.Continue())
