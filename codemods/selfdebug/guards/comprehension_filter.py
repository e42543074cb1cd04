"""Guard: `[f(x.a) for x in xs if x.a is not None]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Refusal, RefusedError
from codemods.selfdebug.conditions import Bound, bind, condition_for
from codemods.selfdebug.precedence import operand_of_and, operand_of_or

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Change, Rewrite, Site


class ComprehensionFilter(Guard):
    """Leaves out the elements of a comprehension for which the condition does not hold."""

    family = Family.FILTER
    summary = "leave the element out of the comprehension"
    tests = CONDITIONS
    examples = (
        Example(
            "x = [\n    ‹«u.mail».lower›()          # in capitals\n    for u in us\n"
            "    if u.name != 'root'     # never\n]\n",
            "x = [\n    u.mail.lower()          # in capitals\n    for u in us\n"
            "    if u.name != 'root' and u.mail is not None     # never\n]\n",
        ),
        Example(
            "x = {u.id: ‹«u.mail».lower›() for u in us}\n",
            "x = {u.id: u.mail.lower() for u in us if u.mail is not None}\n",
        ),
        Example(
            "def f(us):\n    return sum(‹«find(u)».size› for u in us)\n",
            "def f(us):\n    return sum(found.size for u in us if (found := find(u)) is not None)\n",
        ),
        Example(
            "x = [t for t in ts for g in ‹«t».groups› if g]\n",
            "x = [t for t in ts if t is not None for g in t.groups if g]\n",
        ),
    )
    refusals = (
        Refusal("x = ‹«u».name›\n", "not in a comprehension"),
        Refusal("x = [u for u in ‹«us».all›]\n", "not in a comprehension"),
        Refusal("x = [‹«u».name› for u in us if u]\n", "already guarded"),
        Refusal("x = [u for u in us if ‹«u».name›]\n", "condition-prefix"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        loop, outer = _loop_and_part(site)
        bound = bind(site, condition_for(site, parameters), outer)
        changes: dict[cst.CSTNode, Change] = {loop: lambda updated: _filtered(updated, bound)}
        if bound.name is not None:
            changes[outer] = lambda _: bound.body(outer)
        return site.changed_each(changes)


def _loop_and_part(site: Site) -> tuple[cst.CompFor, cst.BaseExpression]:
    """The loop that gets the condition, and the part of the comprehension that holds the receiver."""
    for step in site.path:
        parent, child = step.parent, step.child
        if isinstance(parent, cst.CompFor):
            above = site.parent(parent)
            if child is not parent.iter:
                raise RefusedError("the receiver is in a condition already: condition-prefix does the same")
            if isinstance(above, cst.CompFor):
                return above, parent.iter
        elif isinstance(parent, cst.BaseComp) and child is not parent.for_in:
            loop = parent.for_in
            while loop.inner_for_in is not None:
                loop = loop.inner_for_in
            assert isinstance(child, cst.BaseExpression)
            return loop, child
    raise RefusedError("the receiver is not in a comprehension")


def _filtered(loop: cst.CSTNode, bound: Bound) -> cst.CompFor:
    assert isinstance(loop, cst.CompFor)
    test = operand_of_and(bound.positive)
    if not loop.ifs:
        new = cst.CompIf(operand_of_or(bound.positive), whitespace_before=cst.SimpleWhitespace(" "))
        return loop.with_changes(ifs=[new])
    *others, last = loop.ifs
    joined = cst.BooleanOperation(operand_of_and(last.test), cst.And(), test)
    return loop.with_changes(ifs=[*others, last.with_changes(test=joined)])
