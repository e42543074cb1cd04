"""Guard: `(x or D).name`."""

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
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.extent import refuse_alternative, refuse_discarded
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class OrDefault(Guard):
    """Puts `or` and a default after the receiver; every falsy receiver is replaced, not only None."""

    family = Family.EXPRESSION_DEFAULT
    summary = "put `or` and a default after the receiver"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.RECEIVER
    tests = frozenset({Test.NOT_NONE, Test.TRUTHY})
    examples = (
        Example(
            "for tag in «post.get('tags')»:\t# optional\n    use(tag)\n",
            "for tag in post.get('tags') or ():\t# optional\n    use(tag)\n",
            Parameters("()"),
        ),
        Example(
            "box = Box( **«spec.get('options')» )\n",
            "box = Box( **(spec.get('options') or {}) )\n",
            Parameters("{}"),
        ),
        Example(
            "text = ‹«raw.get('title')» \\\n    .strip›() \\\n    .lower()\n",
            "text = (raw.get('title') or '') \\\n    .strip() \\\n    .lower()\n",
            Parameters("''"),
        ),
        Example("x = f\"{', '.join(«note.tags»)}\"\n", "x = f\"{', '.join(note.tags or ())}\"\n", Parameters("()")),
        Example(
            "def f(a, b=‹«LIMITS.get('b')» + 1›): pass\n",
            "def f(a, b=(LIMITS.get('b') or 0) + 1): pass\n",
            Parameters("0"),
        ),
    )
    refusals = (
        Refusal("x = ‹(«user» or NOBODY).name›\n", "already", Parameters("NOBODY")),
        Refusal("‹«user».name› = 1\n", "discarded", Parameters("NOBODY")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        receiver = site.receiver
        parent = site.parent(receiver)
        if isinstance(parent, cst.BooleanOperation) and parent.left is receiver:
            raise RefusedError("the receiver already has an alternative")
        refuse_discarded(site)
        default = operand_of_or(default_for(site, parameters))
        refuse_alternative(site, default)
        left = operand_of_or(bare(receiver))
        return site.replaced(receiver, cst.BooleanOperation(left, cst.Or(), default))
