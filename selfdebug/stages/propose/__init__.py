"""From a diagnosis to candidates: every guard of the registry at every site and receiver, most likely right first.

Nothing is rewritten here; a candidate is an order for a guard, and `apply_candidate` carries it out.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codemods.selfdebug.registry import guards

from codemods.selfdebug.base import DefaultUse, Guard, Parameters, Target, Test
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at
from selfdebug.model import Candidate, FaultKind, FaultLocation, Observation, Patch, Receiver, Site
from selfdebug.stages.propose import ranking
from selfdebug.stages.propose.defaults import Default, for_receiver, for_return, for_value
from selfdebug.stages.propose.expectations import Expectations, enclosing_function, read_expectations, test_frame

__all__ = ["LocatedSite", "apply_candidate", "propose", "read_expectations", "test_frame"]


@dataclass(frozen=True, slots=True)
class LocatedSite:
    """A place that may be guarded: how it relates to the crash, where it is, and its parsed file."""

    site: Site
    location: FaultLocation
    source: Source


@dataclass(frozen=True, slots=True)
class _Order:
    """A candidate in the making, with its cost (see `ranking`)."""

    guard: Guard
    test: Test
    default: Default | None
    cost: int


def propose(
    sites: Sequence[LocatedSite], observations: Sequence[Observation], wanted: Expectations
) -> Iterator[Candidate]:
    """The candidates in the order in which they should be tried."""
    entries: list[tuple[int, LocatedSite, Receiver, _Order]] = []
    for depth, site in enumerate(sites):
        for index, receiver in enumerate(_worth_guarding(site, observations)):
            base = ranking.site_cost(site.site, depth) + ranking.receiver_cost(index)
            entries.extend(
                (base + order.cost, site, receiver, order) for order in _orders(site, receiver, observations, wanted)
            )
    entries.sort(key=lambda entry: entry[0])
    for number, (_, site, receiver, order) in enumerate(entries, 1):
        yield _candidate(number, site, receiver, order)


def apply_candidate(candidate: Candidate, source: Source) -> Patch:
    """Carry a candidate out on its file. Raises RefusedError or TargetNotFoundError."""
    guard = guards()[candidate.guard]
    target = Target(candidate.expression, candidate.receiver)
    parameters = Parameters(candidate.default, Test(candidate.test), candidate.classes)
    edit = source.apply(target, guard, parameters)
    after = edit.apply_to(source.data)
    lines = max(source.data[edit.start : edit.end].count(b"\n"), edit.replacement.count(b"\n")) + 1
    return Patch(candidate, candidate.file, source.data, after, lines)


def _worth_guarding(site: LocatedSite, observations: Sequence[Observation]) -> Iterator[Receiver]:
    """The receivers of a site; at a caller only arguments that were seen to be None."""
    for receiver in site.location.receivers:
        if site.site is Site.CRASH or any(
            seen.in_failure
            and seen.value.is_none
            and seen.file == site.location.file
            and seen.span == receiver.receiver
            for seen in observations
        ):
            yield receiver


def _orders(
    site: LocatedSite, receiver: Receiver, observations: Sequence[Observation], wanted: Expectations
) -> Iterator[_Order]:
    statement = _statement(site)
    defaults = {
        ranking.Role.RECEIVER: for_receiver(receiver, site.location, observations, wanted.neutral),
        ranking.Role.VALUE: for_value(
            text_at(site.source.lines, receiver.expression), site.location, observations, wanted.neutral
        ),
        ranking.Role.RESULT: for_return(
            enclosing_function(site.source.tree, site.location.line), wanted.neutral, wanted.answers
        ),
    }
    for guard, test in itertools.product(guards().values(), _tests(site.location.kind)):
        if test not in guard.tests:
            continue
        base = ranking.guard_cost(guard, test, receiver, statement)
        if guard.default_use is not DefaultUse.REQUIRED:
            yield _Order(guard, test, None, base)
        if guard.default_use is not DefaultUse.NONE:
            for default in defaults[ranking.role(guard)]:
                yield _Order(guard, test, default, base + default.cost)


_TESTS = {
    FaultKind.MISSING_KEY: (Test.HAS_KEY, Test.NO_EXCEPTION),
    FaultKind.INDEX_RANGE: (Test.IN_RANGE, Test.NO_EXCEPTION),
    FaultKind.ZERO_DIVISION: (Test.NON_ZERO, Test.NO_EXCEPTION),
    FaultKind.UNBOUND_LOCAL: (Test.NO_EXCEPTION,),
    FaultKind.UNDEFINED_NAME: (Test.NO_EXCEPTION,),
    FaultKind.MISSING_ATTRIBUTE: (Test.IS_INSTANCE, Test.NO_EXCEPTION),
    FaultKind.WRONG_TYPE: (Test.IS_INSTANCE, Test.NO_EXCEPTION),
    FaultKind.UNPACK_COUNT: (Test.NO_EXCEPTION,),
}


def _tests(kind: FaultKind) -> tuple[Test, ...]:
    """The conditions that can tell the bad value of a kind of fault from the good ones, the exact one first."""
    if kind.is_none:
        return (Test.NOT_NONE, Test.TRUTHY, Test.NO_EXCEPTION)
    return _TESTS.get(kind, ())


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


def _candidate(number: int, site: LocatedSite, receiver: Receiver, order: _Order) -> Candidate:
    default = order.default
    return Candidate(
        id=f"candidate-{number}",
        guard=order.guard.id,
        family=order.guard.family.value,
        file=site.location.file,
        site=site.site,
        expression=receiver.expression,
        receiver=receiver.receiver,
        receiver_code=receiver.code,
        default=default.code if default else None,
        default_source=default.reason if default else None,
        test=order.test.value,
        reason=f"{order.guard.summary} ({receiver.evidence})",
    )
