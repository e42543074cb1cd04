"""Guard: `if x is not None and x.ready:`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Refusal
from codemods.selfdebug.conditions import bind, condition_for
from codemods.selfdebug.precedence import operand_of_and
from codemods.selfdebug.questions import question_around
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site


class ConditionPrefix(Guard):
    """Puts the condition and `and` before the part of a condition that needs it: without the receiver it is false."""

    family = Family.CONDITION_PREFIX
    summary = "put the condition and `and` before a question: false without the receiver"
    tests = CONDITIONS
    examples = (
        Example(
            "if ‹«person.age» >= 18› and not person.away:\n    pass\n",
            "if person.age is not None and person.age >= 18 and not person.away:\n    pass\n",
        ),
        Example(
            "def f(person):\n    if ‹«person.get('age')» >= 18›: return 1\n",
            "def f(person):\n    if (age := person.get('age')) is not None and age >= 18: return 1\n",
        ),
        Example(
            "def f(person):\n    return ‹«person».age› == 18\n",
            "def f(person):\n    return person is not None and person.age == 18\n",
        ),
        Example("while not ‹«node».done›: pass\n", "while node is not None and not node.done: pass\n"),
        Example(
            "names = [u.name for u in users if ‹«u.mail».lower›() == 'x']\n",
            "names = [u.name for u in users if u.mail is not None and u.mail.lower() == 'x']\n",
        ),
    )
    refusals = (
        Refusal("x = ‹«user».name›\n", "no part of a condition"),
        Refusal("if user and ‹«user».name›: pass\n", "already guarded"),
        Refusal("if f(y) == ‹«find()».name›: pass\n", "before what stands before"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        question = question_around(site)
        bound = bind(site, condition_for(site, parameters), question)
        right = operand_of_and(bare(bound.body(question)))
        return site.replaced(question, cst.BooleanOperation(operand_of_and(bound.positive), cst.And(), right))
