"""Which guard is taken where nothing was observed: the first that does not refuse, in the order of the families."""

from __future__ import annotations

from codemods.selfdebug.base import DefaultUse, Edit, Family, Guard, Parameters, RefusedError, Target
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source


def first_fitting(
    source: Source, target: Target, guard: str | None = None, default: str | None = None
) -> tuple[Guard, Edit]:
    """The guard (only the one called `guard`, if given) and its edit. Raises RefusedError with every guard's reason."""
    reasons: list[str] = []
    for candidate in _candidates(guard, default):
        try:
            return candidate, source.apply(target, candidate, Parameters(default=default))
        except RefusedError as error:
            reasons.append(f"{candidate.id}: {error}")
    raise RefusedError("; ".join(reasons))


def _candidates(guard: str | None, default: str | None) -> list[Guard]:
    if guard is not None:
        return [guards()[guard]]
    fitting = [each for each in guards().values() if default is None or each.default_use is not DefaultUse.NONE]
    return sorted(fitting, key=default_rank)


def default_rank(guard: Guard) -> tuple[int, bool, str]:
    """By family, the guard named like it first."""
    return list(Family).index(guard.family), not guard.id.startswith(guard.family.value), guard.id
