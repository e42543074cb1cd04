"""Failures with one cause are one repair: they are grouped by where and how they crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from selfdebug.model import Failure

Group = tuple[Failure, ...]

MAX_SCREENED = 20
"""So many tests of a group are run for each candidate; the whole suite tells of the others."""


def groups(failures: Iterable[Failure]) -> list[Group]:
    """The failures by crash site (to the expression, where that is known) and exception type, in order of appearance.

    A test that fails in several phases counts at its first one: a teardown after a failed call is its consequence.
    Of many members those come first that are least alike: they stand for the others until the whole suite is run.
    """
    found: dict[tuple[object, ...], dict[str | None, Failure]] = {}
    seen: set[str] = set()
    for failure in failures:
        if failure.node_id is not None and failure.node_id in seen:
            continue
        seen.add(failure.node_id or "")
        leaf = failure.crash
        frame = leaf.deepest_source or leaf.deepest
        site = (frame.file, frame.line, frame.span) if frame else (failure.node_id,)
        found.setdefault((*site, leaf.exception.type), {})[failure.node_id] = failure
    return [_spread(tuple(members.values())) for members in found.values()]


def _spread(group: Group) -> Group:
    """All members, the first of each test function before the second ones, and those of all classes in turn."""
    if len(group) <= MAX_SCREENED:
        return group
    met: Counter[str] = Counter()
    turns: list[tuple[int, int, int]] = []
    for number, failure in enumerate(group):
        function = (failure.node_id or "").partition("[")[0]
        holder = function.rpartition("::")[0] + "::"
        met[holder] += not met[function]
        turns.append((met[function], met[holder], number))
        met[function] += 1
    return tuple(group[number] for _, _, number in sorted(turns))


def node_ids(group: Group) -> tuple[str, ...]:
    """What to run for a group; for a conftest that cannot be imported, the tests of its folder."""
    named = (failure.node_id.removesuffix("conftest.py") or "." for failure in group if failure.node_id)
    return tuple(dict.fromkeys(named))[:MAX_SCREENED]
