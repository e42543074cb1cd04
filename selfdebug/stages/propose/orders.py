"""What each guard of the registry is asked for at one receiver: conditions, classes, defaults, each with its cost."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from codemods.selfdebug.base import About, DefaultRole, DefaultUse, Family, Guard, Test
from codemods.selfdebug.dereferences import Operation
from codemods.selfdebug.registry import guards
from selfdebug.model import FaultKind, Receiver, Site
from selfdebug.stages.propose import ranking
from selfdebug.stages.propose.choices import Choices
from selfdebug.stages.propose.classes import CLASS_WIDENING
from selfdebug.stages.propose.namesakes import hides_class_value
from selfdebug.stages.propose.records import Evidence, LocatedSite, Order

# The conditions that can tell the bad value of a kind of fault from the good ones, the exact one first.
_TESTS = {
    FaultKind.MISSING_KEY: (Test.HAS_KEY, Test.NO_EXCEPTION),
    FaultKind.INDEX_RANGE: (Test.IN_RANGE, Test.TRUTHY, Test.NO_EXCEPTION),
    FaultKind.ZERO_DIVISION: (Test.NON_ZERO, Test.NO_EXCEPTION),
    FaultKind.UNBOUND_LOCAL: (Test.NO_EXCEPTION,),
    FaultKind.UNDEFINED_NAME: (Test.NO_EXCEPTION,),
    FaultKind.MISSING_ATTRIBUTE: (Test.NOT_SENTINEL, Test.IS_INSTANCE, Test.HAS_ATTRIBUTE, Test.NO_EXCEPTION),
    FaultKind.WRONG_TYPE: (
        Test.NOT_SENTINEL,
        Test.IS_INSTANCE,
        Test.HAS_ATTRIBUTE,
        Test.CALLABLE,
        Test.AWAITABLE,
        Test.NO_EXCEPTION,
    ),
    FaultKind.UNPACK_COUNT: (Test.IN_RANGE, Test.NO_EXCEPTION),
    FaultKind.EMPTY: (Test.NO_EXCEPTION,),
    FaultKind.OTHER: (Test.NO_EXCEPTION,),
}
_OF_OPERATION = {Test.CALLABLE: Operation.CALL, Test.AWAITABLE: Operation.AWAIT}
# Which families may act without a condition of their own, so that nothing is hidden that the fault is not about.
_UNCONDITIONAL = {
    FaultKind.UNBOUND_LOCAL: {Family.INITIALISATION, Family.HANDLER},
    FaultKind.UNDEFINED_NAME: {Family.NAME},
    FaultKind.MISSING_ATTRIBUTE: {Family.NAME, Family.INITIALISATION, Family.LOOKUP_DEFAULT, Family.HANDLER},
    FaultKind.WRONG_TYPE: {Family.COERCION, Family.HANDLER},
    FaultKind.EMPTY: {Family.LOOKUP_DEFAULT, Family.HANDLER},
}
_AS_SEEN = 9  # a value of the wrong class is made one of the class that works: nothing of it is lost
_OWN = 5  # an object that lacks an attribute of its own was not initialised
# Two defaults a guard come first; each further one waits, so that no guard starves the next.
_FURTHER_DEFAULT = 2
# A value that is turned away on purpose is let through by these; the others would turn away more, or catch it.
_LETTING_THROUGH = frozenset({Family.CONDITION_PREFIX, Family.EARLY_RETURN, Family.CONTINUE, Family.SUBSTITUTION})
_WIDENING = ("condition-or", "guard-widen")
# These ask about all elements before they are used.
_GOING_THROUGH = frozenset({"elements-return", "elements-raise", "elements-widen"})


def orders(site: LocatedSite, receiver: Receiver, evidence: Evidence) -> Iterator[Order]:
    """Everything that may be tried at one receiver of a site, in no particular order."""
    kind = site.location.kind
    statement = _statement(site)
    found = Choices(site, receiver, evidence, statement)
    is_used_later = found.is_used_later()
    for guard, test in itertools.product(guards().values(), _tests(kind)):
        if test not in guard.tests or not _may_act(guard, test, kind) or not _is_for(guard, test, site, statement):
            continue
        if not _is_about(guard, receiver) or (guard.family is Family.NAME and found.classes.has_worked(test)):
            continue
        if _OF_OPERATION.get(test, receiver.operation) != receiver.operation:
            continue
        if guard.id in _GOING_THROUGH and found.is_used_up():
            continue
        base = ranking.guard_cost(guard, test, receiver, statement, kind) - found.loans.bonus(guard.family)
        base += ranking.mistake_cost(guard, evidence.exception)
        base -= ranking.substitution_bonus(guard, is_used_later)
        base += _OWN if test is Test.HAS_ATTRIBUTE and receiver.code == "self" else 0
        form = found.loans.form(guard.family)
        for classes in found.classes.of(guard, test):
            cost = base - (_AS_SEEN if found.classes.converts_as_seen(guard, classes) else 0)
            if guard.default_use is not DefaultUse.REQUIRED:
                yield Order(guard, test, classes, None, cost + found.cost_of_none(guard), form)
            if guard.default_use is not DefaultUse.NONE:
                for place, default in enumerate(found.of(guard, test)):
                    late = max(0, place - 1) * _FURTHER_DEFAULT + ranking.falsy_cost(guard, default)
                    yield Order(guard, test, classes, default, cost + default.cost + late, default.donor or form)


def _is_for(guard: Guard, test: Test, site: LocatedSite, statement: ast.stmt | None) -> bool:
    """Whether a guard helps at such a place.

    On the way of a value, another value in its place helps, or not to store it where the class has one already; at the
    condition of a `raise`, what lets the value through.
    """
    if site.site is Site.CONDITION:
        is_let_through = test is Test.NOT_NONE and guard.family in _LETTING_THROUGH
        return (is_let_through and guard.id not in _WIDENING) or guard.id == CLASS_WIDENING
    if guard.id == CLASS_WIDENING:
        return False
    if site.site in (Site.CRASH, Site.CALLER):
        return True
    if guard.family is Family.WRAP:
        return hides_class_value(statement, site.source.tree)
    return guard.default_role is DefaultRole.RECEIVER and guard.default_use is DefaultUse.REQUIRED


def _is_about(guard: Guard, receiver: Receiver) -> bool:
    """Whether the guard takes the receiver for what it is: the bad value, or the container of such values."""
    of_elements = receiver.operation == Operation.ELEMENTS
    return guard.about in (About.EITHER, About.ELEMENTS if of_elements else About.VALUE)


def _tests(kind: FaultKind) -> tuple[Test, ...]:
    if kind.is_none:
        return (Test.NOT_NONE, Test.TRUTHY, Test.NO_EXCEPTION)
    return _TESTS.get(kind, ())


def _may_act(guard: Guard, test: Test, kind: FaultKind) -> bool:
    return test is not Test.NO_EXCEPTION or guard.family in _UNCONDITIONAL.get(kind, {Family.HANDLER})


def _statement(site: LocatedSite) -> ast.stmt | None:
    span = site.location.statement
    return next(
        (
            node
            for node in ast.walk(site.source.tree)
            if isinstance(node, ast.stmt) and site.source.extent(node) == span
        ),
        None,
    )
