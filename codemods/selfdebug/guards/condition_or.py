"""Guard: `if x is None or x.ready:`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Refusal
from codemods.selfdebug.conditions import bind, condition_for
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.questions import question_around
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site


class ConditionOr(Guard):
    """Puts the opposite of the condition and `or` before a question: without the receiver it is true."""

    family = Family.CONDITION_PREFIX
    lateness = 1
    summary = "put the opposite condition and `or` before a question: true without the receiver"
    tests = CONDITIONS
    examples = (
        Example("if ‹«limit» > 3›:\n    pass\n", "if limit is None or limit > 3:\n    pass\n"),
        Example(
            "assert a and ‹«limit».ok›, 'no'\n",
            "assert a and (limit is None or limit.ok), 'no'\n",
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "no part of a condition"),
        Refusal("if user is None or ‹«user».name›: pass\n", "already guarded"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        question = question_around(site)
        bound = bind(site, condition_for(site, parameters), question)
        right = operand_of_or(bare(bound.body(question)))
        return site.replaced(question, cst.BooleanOperation(operand_of_or(bound.negative), cst.Or(), right))
