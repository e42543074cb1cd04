"""Rounds of candidates in which no kind of candidate keeps the others waiting, however many of its kind there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from selfdebug.model import Candidate

_OF_FAMILY = 8
_OF_GUARD = 3
"""In one round, so many of a family at one place, and so many defaults for one guard with one condition there."""


@dataclass
class Quota:
    """Counts the candidates of one round."""

    _taken: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def has_room_for(self, candidate: Candidate) -> bool:
        """Whether the candidate may be in this round."""
        family, guard = _kinds(candidate)
        return self._taken[family] < _OF_FAMILY and self._taken[guard] < _OF_GUARD

    def take(self, candidate: Candidate) -> None:
        """Count a candidate that is in this round."""
        self._taken.update(_kinds(candidate))


def by_turn(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """The candidates that may share rounds: a default that is the test's own answer comes after all others."""
    parts = [[each for each in candidates if each.is_hard_coded is last] for last in (False, True)]
    return [part for part in parts if part]


def _kinds(candidate: Candidate) -> tuple[tuple[object, ...], tuple[object, ...]]:
    place = (candidate.file, candidate.expression.start_line)
    return (*place, candidate.family), (*place, candidate.receiver, candidate.guard, candidate.test)
