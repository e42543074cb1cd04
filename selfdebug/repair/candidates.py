"""The edits that are proposed for a diagnosed failure, some at a time, most likely first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.source import Source
from selfdebug.model import Candidate, FaultKind, FaultLocation, Patch, Site, Trial
from selfdebug.repair.alike import is_like
from selfdebug.repair.bench import Bench
from selfdebug.repair.diagnosing import Case
from selfdebug.repair.quota import Quota, by_turn
from selfdebug.stages.propose import (
    Evidence,
    apply_candidate,
    birth_sites,
    propose,
    read_expectations,
    test_frame,
)
from selfdebug.stages.propose.missing_returns import missing_returns
from selfdebug.stages.validate import refused
from selfdebug.trace import mapping as record

_FIRST_ROUND = 8
_ROUND = 24


@dataclass
class _Round:
    """What became of the candidates of one round; those that have to wait for the next are `left`, in their order."""

    patches: list[Patch] = field(default_factory=list)
    refusals: list[Trial] = field(default_factory=list)
    left: list[Candidate] = field(default_factory=list)


def rounds(bench: Bench, case: Case, trials: list[Trial], model: Candidate | None = None) -> Iterator[list[Patch]]:
    """The edits of the candidates that fit, some at a time, most likely first; equal edits come once.

    What does the same as the `model`, the guard of a place that crashed in the same way, comes before all. No kind of
    candidate fills a round alone. The refusals of each round are added to `trials`.
    """
    seen: set[tuple[str, bytes]] = set()
    size = _FIRST_ROUND
    candidates = list(_candidates(bench, case))
    if model is not None:
        candidates.sort(key=lambda candidate: not is_like(candidate, model))
    for part in by_turn(candidates):
        waiting = part
        while waiting:
            with bench.step("propose", "collecting candidates") as step:
                made = _round(bench, waiting, seen, size)
                trials.extend(made.refusals)
                record.proposed(
                    step,
                    [patch.candidate for patch in made.patches],
                    [(trial.candidate.guard, trial.detail) for trial in made.refusals],
                )
            yield made.patches
            waiting, size = made.left, _ROUND


def _round(bench: Bench, waiting: Sequence[Candidate], seen: set[tuple[str, bytes]], size: int) -> _Round:
    made, quota = _Round(), Quota()
    for candidate in waiting:
        if len(made.patches) == size or not quota.has_room_for(candidate):
            made.left.append(candidate)
            continue
        edit = _patched(bench, candidate)
        if isinstance(edit, Trial):
            made.refusals.append(edit)
        elif (edit.file, edit.after) not in seen:
            seen.add((edit.file, edit.after))
            quota.take(candidate)
            made.patches.append(edit)
    return made


def untested(bench: Bench, case: Case) -> Patch | None:
    """The first candidate that fits, without running anything: what a dry run over a captured log can say."""
    edits = (_patched(bench, candidate) for candidate in _candidates(bench, case))
    return next((edit for edit in edits if isinstance(edit, Patch)), None)


def _candidates(bench: Bench, case: Case) -> Iterator[Candidate]:
    diagnosis, failure = case.diagnosis, case.group[0]
    returns = missing_returns(diagnosis.origin, bench.source)
    if not case.places:
        return returns
    first = replace(case.places[0], location=diagnosis.location)
    frame = test_frame(failure)
    text, line = (_text(bench, frame.file), frame.line or 0) if frame and frame.file else ("", 0)
    wanted = read_expectations(text, line)
    evidence = Evidence(failure.crash.exception, diagnosis.observations, wanted, bench.mine)
    births = birth_sites(diagnosis.origin, _missed(case), bench.source)
    return itertools.chain(returns, propose((first, *case.places[1:], *births), evidence))


def _missed(case: Case) -> FaultLocation:
    """Where the bad value is asked for: at the crash, or where it led to a `raise` on purpose, at the condition."""
    location = case.diagnosis.location
    conditions = (place.location for place in case.places if place.site is Site.CONDITION)
    return next(conditions, location) if location.kind is FaultKind.DELIBERATE_RAISE else location


def _text(bench: Bench, file: str) -> str:
    source = bench.source(file)
    return source.text if isinstance(source, Source) else ""


def _patched(bench: Bench, candidate: Candidate) -> Patch | Trial:
    source = bench.source(candidate.file)
    if isinstance(source, str):
        return refused(candidate, source)
    try:
        return apply_candidate(candidate, source)
    except (RefusedError, TargetNotFoundError) as error:
        return refused(candidate, str(error))
