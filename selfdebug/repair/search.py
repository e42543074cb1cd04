"""The candidates of one case, judged one after the other by the failing tests, and what became of each."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from selfdebug.model import Candidate, Patch, Tier, Trial, Verdict
from selfdebug.repair.alike import is_like
from selfdebug.repair.bench import Bench
from selfdebug.repair.candidates import rounds
from selfdebug.repair.diagnosing import Case
from selfdebug.repair.grouping import MAX_SCREENED, node_ids
from selfdebug.repair.progress import progress
from selfdebug.repair.side_by_side import Ask
from selfdebug.repair.trials import screened

_MOST_PLAUSIBLE = 5
_MOST_FURTHER = 16
_SECONDS = 2.0
"""After the first plausible candidate, so many candidates and seconds go into finding others; so many are enough."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plausible trial and the step of the trace that made it."""

    trial: Trial
    step: str | None


@dataclass(slots=True)
class Search:
    """Judges at most `budget` candidates; `trials` holds the refused ones, too.

    `is_complete` says that none is left. Where the guard of the `model`, which led here from a place that crashed in
    the same way, leads on to a further one, nothing else is tried.
    """

    bench: Bench
    case: Case
    budget: int
    model: Candidate | None = None
    trials: list[Trial] = field(default_factory=list)
    tried: int = 0
    is_complete: bool = False

    def plausible(self) -> Iterator[list[Found]]:
        """What makes the failing tests pass: each first one with those of the next candidates that do so, too."""
        judged = self._judged()
        for first in judged:
            if first.trial.verdict is Verdict.PLAUSIBLE:
                yield [first, *self._further(first, judged)]

    def settle(self, trial: Trial, instead: Trial) -> None:
        """Remember what the whole suite said of a trial."""
        self.trials[self.trials.index(trial)] = instead

    @property
    def leads_on(self) -> bool:
        """Whether the guard of the model, tried first, has moved the crash on."""
        if self.model is None or self.tried != 1:
            return False
        trial = next(trial for trial in self.trials if trial.verdict is not Verdict.REFUSED)
        return is_like(trial.candidate, self.model) and progress([trial], self.case.group) is not None

    def _judged(self) -> Iterator[Found]:
        for patch, forked in self._begun():
            if self.tried == self.budget:
                self.bench.warnings.append(f"The limit of {self.bench.settings.max_candidates} candidates was reached.")
                return
            if patch.candidate.is_hard_coded and progress(self.trials, self.case.group) is not None:
                return  # a second guard is better than the answer itself
            self.tried += 1
            trial = screened(self.bench, patch, self.case.group, f"candidate {self.tried}", forked)
            self.trials.append(trial)
            yield Found(trial, self.bench.recorder.last("try"))
            if self.leads_on:
                return
        self.is_complete = True

    def _begun(self) -> Iterator[tuple[Patch, Ask]]:
        group = self.case.group
        for patches in rounds(self.bench, self.case, self.trials, self.model):
            yield from self.bench.screen(group[:MAX_SCREENED], node_ids(group), patches)

    def _further(self, first: Found, judged: Iterator[Found]) -> Iterator[Found]:
        """The other plausible ones of comparable rank; none where each trial is a start of pytest."""
        if first.trial.tier is not Tier.WARM:
            return
        until, left = time.monotonic() + _SECONDS, _MOST_PLAUSIBLE - 1
        for found in itertools.islice(judged, _MOST_FURTHER):
            if found.trial.verdict is Verdict.PLAUSIBLE and not found.trial.candidate.is_hard_coded:
                yield found
                left -= 1
            if not left or found.trial.tier is not Tier.WARM or time.monotonic() > until:
                return
