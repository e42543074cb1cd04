"""The next place that crashes in the same way as the one before, in another function or file: it gets the same guard.

Such places are changed together: each of them is a turn of the loop that tries the guard of the last one first, and
goes on at once where that leads to the next.
"""

from __future__ import annotations

from selfdebug.model import Candidate, FaultLocation
from selfdebug.repair.diagnosing import Case
from selfdebug.repair.outcome import Work


def model_for(work: Work, case: Case) -> Candidate | None:
    """The candidate of the turn before, where that was about such a crash, too; None for a crash of another kind."""
    patches = work.tentative or work.kept
    if not work.attempts or not patches:
        return None
    turn, last = work.attempts[-1], patches[-1]
    is_of_turn = turn.kept is last or any(trial.patch is last for trial in turn.trials)
    return last.candidate if is_of_turn and _is_alike(turn.diagnosis.location, case.diagnosis.location) else None


def is_like(candidate: Candidate, model: Candidate) -> bool:
    """Whether a candidate does at its place what the model does at another."""
    return (candidate.guard, candidate.test, candidate.default, candidate.classes, candidate.site) == (
        model.guard,
        model.test,
        model.default,
        model.classes,
        model.site,
    )


def _is_alike(one: FaultLocation, other: FaultLocation) -> bool:
    """Whether the same value is bad at both places, or another one that is used in the same way."""
    if one.kind is not other.kind or not one.receivers or not other.receivers:
        return False
    first, second = one.receivers[0], other.receivers[0]
    is_same_use = (first.operation, first.name) == (second.operation, second.name)
    return first.code == second.code or is_same_use
