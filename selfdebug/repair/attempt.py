"""One turn of the loop: the plausible patches for a crash site are compared, the best that the suite accepts stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selfdebug.model import Alternative, Attempt, Candidate, Declined, Firing, Pin, Trial, Verdict
from selfdebug.repair.bench import Bench
from selfdebug.repair.choice import Option, Question, Skip, Stop
from selfdebug.repair.contest import Contender, Contest, alternatives, compared, contest, evidence
from selfdebug.repair.diagnosing import Case
from selfdebug.repair.grouping import MAX_SCREENED, Group, node_ids
from selfdebug.repair.search import Found, Search
from selfdebug.repair.trials import looked_at_again, verified, without
from selfdebug.trace import mapping as record


@dataclass(frozen=True, slots=True)
class _Kept:
    contender: Contender
    trial: Trial
    pins: tuple[Pin, ...]
    firings: tuple[Firing, ...] | None
    alternatives: tuple[Alternative, ...]


def attempt(bench: Bench, number: int, case: Case, budget: int, model: Candidate | None = None) -> Attempt:
    """Try the candidates for a diagnosis, most likely first, and keep the best of those that the whole suite accepts.

    What does the same as the `model` comes first. At most `budget` candidates are run. The kept patch is on disk (in
    memory on a dry run) when this returns.
    """
    bench.prepare_screening(case.group[:MAX_SCREENED], node_ids(case.group))
    search = Search(bench, case, budget, model)
    for found in search.plausible():
        decided = _decided(bench, search, found)
        if isinstance(decided, Declined):
            return Attempt(number, case.diagnosis, tuple(search.trials), None, declined=decided)
        if decided is not None:
            _record(bench, case, decided)
            trials, patch = tuple(search.trials), decided.contender.patch
            return Attempt(number, case.diagnosis, trials, patch, decided.pins, decided.firings, decided.alternatives)
    trials, leads_on = tuple(search.trials), search.leads_on
    return Attempt(number, case.diagnosis, trials, None, is_complete=search.is_complete, leads_on=leads_on)


def _decided(bench: Bench, search: Search, found: Sequence[Found]) -> _Kept | Declined | None:
    """The first of the plausible patches, best or chosen one first, that the whole suite accepts."""
    group = search.case.group
    with bench.step("compare", f"comparing {len(found)} plausible patches") as step:
        contestants = contest(bench, group, [(each.trial, each.step) for each in found])
        record.compared(step, [each.patch for each in contestants.contenders], alternatives(contestants))
    note = ""
    while contestants.contenders:
        chosen = _chosen(bench, search.case, contestants, note)
        if isinstance(chosen, Declined):
            return chosen
        done = _judged(bench, group, contestants, chosen)
        if isinstance(done, _Kept):
            search.settle(chosen.trial, done.trial)
            return done
        search.settle(chosen.trial, done)
        note = f"{chosen.patch.candidate.guard}: {done.detail}."
        contestants = contestants.without(chosen)
    return None


def _judged(bench: Bench, group: Group, contestants: Contest, chosen: Contender) -> _Kept | Trial:
    """A patch that the whole suite accepts, with its evidence, or the trial that says what is against it."""
    trial = looked_at_again(bench, chosen.trial, group)
    if trial.verdict is not Verdict.PLAUSIBLE:
        return trial
    with bench.step("vary", "looking at what the tests hold of the patch"):
        pins, firings = evidence(bench, contestants.stage, chosen)
    trial = verified(bench, chosen.trial, group)
    if trial.verdict is not Verdict.PLAUSIBLE:
        return trial
    return _Kept(chosen, trial, pins, firings, alternatives(contestants, chosen))


def _chosen(bench: Bench, case: Case, contestants: Contest, note: str) -> Contender | Declined:
    """The recommended patch, or the one that a person takes."""
    first = contestants.contenders[0]
    if bench.choose is None:
        return first
    options = []
    for each in contestants.contenders:
        pins, firings = evidence(bench, contestants.stage, each)
        options.append(Option(each.trial, pins, firings, "" if each is first else compared(first, each, "[1]")))
    answer = bench.choose(Question(case.diagnosis, tuple(options), note))
    match answer:
        case Skip():
            return Declined.SKIPPED
        case Stop():
            return Declined.STOPPED
    if answer.for_all:
        bench.choose = None
    return contestants.contenders[answer.index]


def _record(bench: Bench, case: Case, kept: _Kept) -> None:
    patch = kept.contender.patch
    bench.side_by_side.dismiss()
    with bench.step("keep", f"keeping {patch.candidate.guard}") as step:
        record.kept(step, patch, kept.contender.step)
        record.unpatched(step, node_ids(case.group), without(bench, patch, case.group))
    with bench.step("pin", "what the tests hold of the patch") as step:
        record.pinned(step, kept.pins, kept.firings, node_ids(case.group))
