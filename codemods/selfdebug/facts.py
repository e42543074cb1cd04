"""What the code around a receiver already makes sure of, so that a guard is not put there twice.

Facts are the conditions of enclosing statements, conditional expressions and comprehensions, and of earlier statements
that leave the block otherwise. A fact counts only while nothing in between binds the receiver anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Test
from codemods.selfdebug.evaluation import Reach, Step
from codemods.selfdebug.expressions import parsed

if TYPE_CHECKING:
    from codemods.selfdebug.conditions import Condition
    from codemods.selfdebug.sites import Site

LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break
"""The statements that leave a block."""

Fact = tuple[ast.expr, bool]
"""A condition and what is known of it: true or false."""


def already_known(site: Site, condition: Condition) -> bool:
    """Whether the condition holds at the site whatever happens."""
    subject = parsed(site.code(condition.subject))
    inside = list(_facts_inside(site, condition.subject))
    wanted = _Wanted(condition.test, subject, condition, _true_parts(inside))
    return any(wanted.follows_from(fact, truth) for fact, truth in [*inside, *_facts_around(site, subject)])


def _true_parts(facts: Sequence[Fact]) -> frozenset[str]:
    """The dumps of everything that is true, the opposites of what is false, and the operands of an `and`."""
    parts = set()
    for fact, truth in facts:
        known = fact if truth else ast.UnaryOp(ast.Not(), fact)
        parts.add(ast.dump(known))
        if isinstance(known, ast.BoolOp) and isinstance(known.op, ast.And):
            parts.update(ast.dump(value) for value in known.values)
    return frozenset(parts)


class _Wanted:
    """The condition as ast dumps, to be compared with facts."""

    def __init__(self, test: Test, subject: ast.expr, condition: Condition, known: frozenset[str]) -> None:
        self.test = test
        self.known = known
        self.subject = ast.dump(subject)
        code = f"({ast.unparse(subject)})"
        holds, fails = map(parsed, condition.about(code))
        self.holds, self.fails = ast.dump(holds), ast.dump(fails)
        is_exact = isinstance(holds, ast.Compare) and isinstance(holds.ops[0], ast.Eq)
        self.least = None if is_exact else _least_length(holds, True, self.subject)

    def follows_from(self, fact: ast.expr, truth: bool) -> bool:
        if isinstance(fact, ast.UnaryOp) and isinstance(fact.op, ast.Not):
            return self.follows_from(fact.operand, not truth) or (not truth and ast.dump(fact) == self.fails)
        if isinstance(fact, ast.BoolOp) and isinstance(fact.op, ast.And) is truth:
            return any(self.follows_from(value, truth) for value in fact.values)
        if isinstance(fact, ast.BoolOp):  # of a false `and` whose other operands are true, the last one is false
            left = [value for value in fact.values if ast.dump(value) not in self.known]
            return not truth and len(left) == 1 and self.follows_from(left[0], truth)
        return any(self._is_answer(form, truth) for form in (fact, _Unbound().visit(_copy(fact))))

    def _is_answer(self, fact: ast.expr, truth: bool) -> bool:
        dump = ast.dump(fact)
        if dump == (self.holds if truth else self.fails):
            return True
        if self.test is Test.IN_RANGE:
            return self._is_long_enough(fact, truth)
        if self.test is not Test.NOT_NONE or not truth:
            return False
        return dump == self.subject or self._asks_class(fact)

    def _is_long_enough(self, fact: ast.expr, truth: bool) -> bool:
        """Whether so many items are known of as the condition wants at least; an exact length is told by its text."""
        known = _least_length(fact, truth, self.subject)
        return known is not None and self.least is not None and known >= self.least

    def _asks_class(self, fact: ast.expr) -> bool:
        if not (isinstance(fact, ast.Call) and isinstance(fact.func, ast.Name) and fact.args):
            return False
        return fact.func.id == "isinstance" and ast.dump(fact.args[0]) == self.subject


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.NotEq: ast.Eq}
_MORE: dict[type[ast.cmpop], int] = {ast.GtE: 0, ast.Gt: 1, ast.Eq: 0}
"""How many more than the number that it names a comparison of a length promises."""


def _least_length(fact: ast.expr, truth: bool, subject: str) -> int | None:
    """How many items the subject, an ast dump, has at least if a comparison of its length is so; None: no telling."""
    match fact:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[asked]),
            ops=[operator],
            comparators=[ast.Constant(value=int(number))],
        ) if ast.dump(asked) == subject:
            more = _MORE.get(type(operator) if truth else _OPPOSITES.get(type(operator), ast.cmpop))
            return None if more is None else number + more
    return None


class _Unbound(ast.NodeTransformer):
    """`(name := value)` read as `name`."""

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        return ast.Name(node.target.id, ast.Load())


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _facts_inside(site: Site, node: cst.BaseExpression) -> Iterator[Fact]:
    for step in site.steps_from(node):
        for condition, truth in _conditions_of(step):
            yield parsed(site.code(condition)), truth


def _conditions_of(step: Step) -> Iterator[tuple[cst.BaseExpression, bool]]:
    parent = step.parent
    if step.condition is not None:
        yield step.condition, step.reach is Reach.IF_TRUE
    elif isinstance(parent, cst.BaseComp) and step.reach is Reach.OTHERWISE:
        loop: cst.CompFor | None = parent.for_in
        while loop is not None:
            yield from ((each.test, True) for each in loop.ifs)
            loop = loop.inner_for_in
    elif isinstance(parent, cst.CompFor):
        for each in parent.ifs:
            if each is step.child:
                break
            yield each.test, True


def _facts_around(site: Site, subject: ast.expr) -> Iterator[Fact]:
    for level in reversed(site.statement.levels):
        for sibling in reversed(level.siblings[: level.index]):
            yield from _facts_after(sibling, subject)
            if rebinds([sibling], subject):
                return
        owner = level.owner
        if isinstance(owner, ast.If | ast.While) and level.block == "body":
            yield owner.test, True
        elif isinstance(owner, ast.If) and level.block == "orelse":
            yield owner.test, False
        elif isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return


def _facts_after(node: ast.AST, subject: ast.expr) -> Iterator[Fact]:
    if isinstance(node, ast.Assert):
        yield node.test, True
    elif isinstance(node, ast.If) and not node.orelse:
        last = node.body[-1]
        if isinstance(last, LEAVES) or (isinstance(last, ast.Assign) and _assigns(last, subject)):
            yield node.test, False


def _assigns(node: ast.Assign, subject: ast.expr) -> bool:
    return any(ast.unparse(target) == ast.unparse(subject) for target in node.targets)


def rebinds(nodes: Sequence[ast.AST], subject: ast.expr) -> bool:
    """Whether the statements store to the subject or to what it hangs on."""
    stems = {
        ast.unparse(each) for each in ast.walk(subject) if isinstance(each, ast.Name | ast.Attribute | ast.Subscript)
    }
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(getattr(each, "ctx", None), ast.Store | ast.Del) and ast.unparse(each) in stems:
                return True
    return False
