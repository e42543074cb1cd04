"""Plausible patches side by side: what each of them does in the tests, which one comes first, how the others differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codemods.selfdebug.base import Test
from selfdebug.model import Alternative, Candidate, Firing, Outcome, Patch, Pin, Trial
from selfdebug.repair.behaviour import Behaviour, Stage, edited_functions, observed_behaviour
from selfdebug.repair.bench import Bench
from selfdebug.repair.comparison import difference
from selfdebug.repair.grouping import Group, node_ids
from selfdebug.repair.pins import firings, has_unread_default, pinned

_OR = "or-default"
_EMPTY = frozenset({"{}", "[]", "set()", "''", "b''", "()", "0", "0.0", "False"})


@dataclass(frozen=True, slots=True)
class Contender:
    """A plausible patch, the step of the trace that judged it, and what it does in the tests (None: not recorded)."""

    trial: Trial
    patch: Patch
    step: str | None
    behaviour: Behaviour | None


@dataclass(frozen=True, slots=True)
class Contest:
    """Contenders for one repair, the recommended one first."""

    stage: Stage
    contenders: tuple[Contender, ...]

    def without(self, left: Contender) -> Contest:
        """The contest after one has turned out to break something."""
        return Contest(self.stage, tuple(each for each in self.contenders if each is not left))


def contest(bench: Bench, group: Group, found: Sequence[tuple[Trial, str | None]]) -> Contest:
    """Record what each of the plausible trials does, and put the one to keep first.

    They come in the order of their ranking, which stays but for three things: one with which a test of the same files
    fails comes last, one without a default comes before those whose default nobody reads, and what leaves an empty
    value alone comes before an `or` that met one.
    """
    patches = [trial.patch for trial, _ in found if trial.patch is not None]
    stage = Stage(group, (*node_ids(group), *bench.passing_beside(group)), edited_functions(patches))
    contenders = [
        Contender(trial, trial.patch, step, observed_behaviour(bench, stage, trial.patch))
        for trial, step in found
        if trial.patch is not None
    ]
    ranked = sorted(contenders, key=lambda each: _breaks(bench, each))
    return Contest(stage, tuple(_with_empty_kept(_without_needless_default(bench, stage, ranked))))


def evidence(bench: Bench, stage: Stage, contender: Contender) -> tuple[tuple[Pin, ...], tuple[Firing, ...] | None]:
    """What the tests hold of a patch, and how often its guard acts in them."""
    if contender.behaviour is None:
        return (), None
    return pinned(bench, stage, contender.behaviour), firings(bench, stage, contender.behaviour)


def alternatives(contest: Contest, kept: Contender | None = None) -> tuple[Alternative, ...]:
    """The contenders other than the kept one (by default the recommended one), those that show a difference first."""
    kept = kept or contest.contenders[0]
    others = [each for each in contest.contenders if each is not kept]
    found = [_alternative(kept, each) for each in others]
    return tuple(sorted(found, key=lambda each: each.is_same))


def compared(kept: Contender, other: Contender, name: str = "the kept patch") -> str:
    """In what another patch differs from one, in one sentence; empty when no test shows a difference."""
    if kept.behaviour is None or other.behaviour is None:
        return "What it does was not compared: the tests could not be run with recorders."
    return difference(kept.behaviour, other.behaviour, name)


def _alternative(kept: Contender, other: Contender) -> Alternative:
    sentence = compared(kept, other)
    return Alternative(
        other.patch, sentence or "No test shows a difference between this and the kept patch.", not sentence
    )


def _breaks(bench: Bench, contender: Contender) -> bool:
    failed = contender.behaviour.run.failed if contender.behaviour is not None else ()
    return any(bench.known.get(node) is Outcome.PASSED for node in failed)


def _without_needless_default(bench: Bench, stage: Stage, ranked: Sequence[Contender]) -> list[Contender]:
    """A value that nobody reads is an answer to a question that nobody asks: what leaves it out says the same."""
    first = ranked[0]
    plain = [
        each
        for each in ranked[1:]
        if each.patch.candidate.default is None and _place(each) == _place(first) and not _breaks(bench, each)
    ]
    is_needless = first.behaviour is not None and has_unread_default(bench, stage, first.behaviour) if plain else False
    return [plain[0], *(each for each in ranked if each is not plain[0])] if is_needless else list(ranked)


def _with_empty_kept(ranked: list[Contender]) -> list[Contender]:
    """`x or {}` puts another dict in the place of an empty one, which whoever gave it may go on filling."""
    first = ranked[0]
    if first.patch.candidate.guard != _OR or not _met_empty(first):
        return ranked
    exact = [each for each in ranked[1:] if _is_exact(each.patch.candidate, first.patch.candidate)]
    return [*exact[:1], *(each for each in ranked if each not in exact[:1])]


def _is_exact(one: Candidate, other: Candidate) -> bool:
    same = (one.file, one.receiver, one.default) == (other.file, other.receiver, other.default)
    return same and one.guard != _OR and one.test == Test.NOT_NONE


def _met_empty(contender: Contender) -> bool:
    """Whether a test gave the function an empty value for the receiver."""
    calls = contender.behaviour.calls if contender.behaviour is not None else ()
    name = contender.patch.candidate.receiver_code
    return any(given == name and value.repr in _EMPTY for call in calls for given, value in call.arguments)


def _place(contender: Contender) -> tuple[object, ...]:
    candidate = contender.patch.candidate
    return candidate.file, candidate.site, candidate.receiver
