"""From a diagnosis to candidates: every guard of the registry at every site and receiver, most likely right first.

A candidate is an order for a guard; nothing is rewritten until `apply_candidate` carries it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from codemods.selfdebug.base import Test
from selfdebug.model import Candidate, FaultKind, Receiver, Site, Spot
from selfdebug.stages.propose import ranking
from selfdebug.stages.propose.applying import apply_candidate
from selfdebug.stages.propose.births import birth_sites
from selfdebug.stages.propose.expectations import Expectations, read_expectations, test_frame
from selfdebug.stages.propose.mine import Mine
from selfdebug.stages.propose.orders import orders
from selfdebug.stages.propose.records import Evidence, LocatedSite, Order
from selfdebug.stages.propose.together import IN_ONE_EDIT, spots_like

__all__ = [
    "Evidence",
    "Expectations",
    "LocatedSite",
    "Mine",
    "apply_candidate",
    "birth_sites",
    "propose",
    "read_expectations",
    "test_frame",
]


def propose(sites: Sequence[LocatedSite], evidence: Evidence) -> Iterator[Candidate]:
    """The candidates in the order in which they should be tried."""
    entries: list[tuple[int, LocatedSite, Receiver, Order, tuple[Spot, ...]]] = []
    for depth, site in enumerate(sites):
        receivers = [
            receiver
            for receiver in site.location.receivers
            if site.site not in (Site.CALLER, Site.CONDITION)
            or site.location.kind is not FaultKind.NONE_ARGUMENT
            or any(seen.shows_none(site.location, receiver) for seen in evidence.observations)
        ]
        for index, receiver in enumerate(receivers):
            base = ranking.site_cost(site.site, depth) + ranking.receiver_cost(index)
            base += ranking.protocol_cost(site.site, site.location) - ranking.sign_bonus(site.signs)
            also = spots_like(site, receiver) if site.site is Site.CRASH and not index else ()
            for order in orders(site, receiver, evidence):
                entries.append((base + order.cost, site, receiver, order, ()))
                if also and order.guard.family in IN_ONE_EDIT:
                    entries.append((base + order.cost + ranking.TOGETHER, site, receiver, order, also))
    entries.sort(key=lambda entry: entry[0])
    for number, (_, site, receiver, order, also) in enumerate(entries, 1):
        yield replace(_candidate(number, site, receiver, order), also=also)


def _candidate(number: int, site: LocatedSite, receiver: Receiver, order: Order) -> Candidate:
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
        classes=order.classes,
        is_hard_coded=default is not None and default.is_answer,
        donor=order.donor,
        imports=_imports(order),
    )


def _imports(order: Order) -> tuple[str, ...]:
    """What the condition and the default need to be imported."""
    needed = (
        "import inspect" if order.test is Test.AWAITABLE else None,
        order.default.needs if order.default else None,
    )
    return tuple(each for each in needed if each is not None)
