"""Guard: `(x if x is not None else D).name`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultRole, DefaultUse, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.conditions import bind, condition_for
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.extent import refuse_alternative, refuse_discarded
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ReceiverDefault(Guard):
    """Gives the receiver itself a default, so that the dereference works on it; other falsy receivers stay."""

    family = Family.EXPRESSION_DEFAULT
    lateness = 1
    summary = "use a default in place of the receiver"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.RECEIVER
    tests = frozenset({Test.NOT_NONE, Test.TRUTHY, Test.IS_INSTANCE, Test.NON_ZERO})
    examples = (
        Example(
            "x = ‹«user.name».lower›()\n",
            "x = (user.name if user.name is not None else '').lower()\n",
            Parameters("''"),
        ),
        Example(
            "def f(post):\n    for tag in «post.get('tags')»: pass\n",
            "def f(post):\n    for tag in tags if (tags := post.get('tags')) is not None else (): pass\n",
            Parameters("()"),
        ),
    )
    refusals = (
        Refusal("‹«user».name› = 1\n", "discarded", Parameters("NOBODY")),
        Refusal("x = «user» if user is not None else A\n", "already guarded", Parameters("A")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        receiver = site.receiver
        refuse_discarded(site)
        default = default_for(site, parameters)
        refuse_alternative(site, default)
        bound = bind(site, condition_for(site, parameters), receiver)
        body = operand_of_or(bare(bound.body(receiver)))
        return site.replaced(receiver, cst.IfExp(test=operand_of_or(bound.positive), body=body, orelse=default))
