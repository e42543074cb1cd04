"""One turn of the loop: one crash site, what was seen there, the candidates, and the first that the tests accept."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.source import Source
from selfdebug.model import (
    Attempt,
    Candidate,
    Diagnosis,
    Failure,
    FaultKind,
    FaultLocation,
    Frame,
    Outcome,
    Patch,
    PytestRun,
    Site,
    Tier,
    Trial,
    Verdict,
)
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import Group
from selfdebug.repair.origins import traced_origin
from selfdebug.repair.pins import pinned
from selfdebug.stages.diagnose import diagnose
from selfdebug.stages.locate import Unlocated, locate, locate_call
from selfdebug.stages.observe import Observed, observe, with_observed_first
from selfdebug.stages.propose import (
    Evidence,
    LocatedSite,
    apply_candidate,
    birth_sites,
    propose,
    read_expectations,
    test_frame,
)
from selfdebug.stages.validate import is_same_crash, judge, refused, regressions
from selfdebug.trace import mapping as record

_MAX_CALLERS = 2
_MAX_SCREENED = 20
_ROUND = 24


@dataclass(frozen=True, slots=True)
class NotDiagnosed:
    """The failure cannot be worked on; `sentence` says why."""

    sentence: str


def diagnosed(bench: Bench, group: Group, run_tests: bool = True) -> Diagnosis | NotDiagnosed:
    """What went wrong in the first failure of a group, with what a probed run saw (unless nothing may be run)."""
    failure = group[0]
    with bench.step("locate", f"locating {failure.crash.exception.short_type}") as step:
        places = _places(bench, failure)
        if isinstance(places, NotDiagnosed):
            step.describe(places.sentence)
            return places
        location = places[0].location
        record.selected(step, failure, _frame_of(failure, location))
        record.located(step, location)
    if not run_tests:
        return diagnose(failure, location, (), (), ())
    with bench.step("probe", f"probing {location.file}:{location.line}") as step:
        seen = _observed(bench, group, places)
        record.observed(step, seen.observations, seen.caught, seen.refused)
    bench.warnings.extend(seen.refused)
    if seen.run.ended and not seen.run.failures:
        return NotDiagnosed(
            f"{failure.node_id} failed once and passed when run again: the failure is flaky, nothing was changed."
        )
    location = with_observed_first(location, seen.observations)
    chain = traced_origin(bench, location, failure.node_id, seen.run)
    with bench.step("diagnose", "putting the evidence together") as step:
        diagnosis = diagnose(failure, location, seen.observations, seen.caught, chain)
        record.diagnosed(step, diagnosis)
    return diagnosis


def attempt(bench: Bench, number: int, group: Group, diagnosis: Diagnosis, budget: int) -> Attempt:
    """Try the candidates for a diagnosis, most likely first, and keep the first that the whole suite accepts.

    At most `budget` candidates are run. The kept patch is on disk (in memory on a dry run) when this returns.
    """
    bench.prepare_screening(group[:_MAX_SCREENED], _node_ids(group))
    trials: list[Trial] = []
    tried = 0
    for patches in _rounds(bench, group, diagnosis, trials):
        for patch in patches:
            if tried == budget:
                bench.warnings.append(f"The limit of {bench.settings.max_candidates} candidates was reached.")
                return Attempt(number, diagnosis, tuple(trials), None)
            if patch.candidate.is_hard_coded and progress(trials, group) is not None:
                return Attempt(
                    number, diagnosis, tuple(trials), None
                )  # a second guard is better than the answer itself
            tried += 1
            trial = _judged(bench, patch, group, f"candidate {tried}")
            trials.append(trial)
            if trial.verdict is Verdict.PLAUSIBLE:
                with bench.step("keep", f"keeping {patch.candidate.guard}") as step:
                    record.kept(step, patch, bench.recorder.last("try"))
                    record.unpatched(step, _node_ids(group), _without(bench, patch, group))
                with bench.step("pin", "looking at what the tests hold of the patch") as step:
                    pins = pinned(bench, patch, group)
                    record.pinned(step, pins)
                return Attempt(number, diagnosis, tuple(trials), patch, pins)
    return Attempt(number, diagnosis, tuple(trials), None)


def _rounds(bench: Bench, group: Group, diagnosis: Diagnosis, trials: list[Trial]) -> Iterator[list[Patch]]:
    """The edits of the candidates that fit, some at a time, most likely first; equal edits come once.

    The refusals of each round are added to `trials`.
    """
    seen: set[tuple[str, bytes]] = set()
    for candidates in batched(_candidates(bench, group, diagnosis), _ROUND):
        with bench.step("propose", "collecting candidates") as step:
            edits = [_patched(bench, candidate) for candidate in candidates]
            refusals = [edit for edit in edits if isinstance(edit, Trial)]
            patches = {(edit.file, edit.after): edit for edit in reversed(edits) if isinstance(edit, Patch)}
            fresh = [patch for key, patch in reversed(patches.items()) if key not in seen]
            seen.update(patches)
            trials.extend(refusals)
            record.proposed(
                step,
                [patch.candidate for patch in fresh],
                [(trial.candidate.guard, trial.detail) for trial in refusals],
            )
        yield fresh


def batched(candidates: Iterator[Candidate], size: int) -> Iterator[list[Candidate]]:
    """The candidates in lists of at most `size` (itertools.batched is not there before Python 3.12)."""
    while batch := list(itertools.islice(candidates, size)):
        yield batch


def _judged(bench: Bench, patch: Patch, group: Group, which: str) -> Trial:
    candidate = patch.candidate
    with bench.step("try", f"{which}: {candidate.guard} at {candidate.file}:{candidate.expression.start_line}") as step:
        trial = _tried(bench, patch, group)
        if trial.verdict is Verdict.PLAUSIBLE:
            trial = _verified(bench, trial, group)
        record.trial(step, trial)
    return trial


def untested(bench: Bench, group: Group, diagnosis: Diagnosis) -> Patch | None:
    """The first candidate that fits, without running anything: what a dry run over a captured log can say."""
    edits = (_patched(bench, candidate) for candidate in _candidates(bench, group, diagnosis))
    return next((edit for edit in edits if isinstance(edit, Patch)), None)


def progress(trials: Sequence[Trial], group: Group) -> Trial | None:
    """The likeliest trial that moved the crash elsewhere in the project, so that a second guard may finish the work.

    A crash about the class of the default itself is a consequence of the guard, so such trials come last.
    """
    moved = [trial for trial in trials if trial.next_failure is not None and _has_moved(trial.next_failure, group)]
    return min(moved, key=_blames_default, default=None)


def _has_moved(new: Failure, group: Group) -> bool:
    is_crash = new.deepest is not None and new.deepest is new.deepest_source
    is_new = not any(is_same_crash(old, new) for old in group)
    return is_crash and is_new and new.exception.short_type != "AssertionError"


def _blames_default(trial: Trial) -> bool:
    default = trial.candidate.default
    if default is None or trial.next_failure is None:
        return False
    try:
        name = type(ast.literal_eval(default)).__name__
    except (ValueError, SyntaxError):
        return False
    return f"'{name}'" in trial.next_failure.exception.message or f'"{name}"' in trial.next_failure.exception.message


# ---------------------------------------------------------------- locate and observe


def _places(bench: Bench, failure: Failure) -> tuple[LocatedSite, ...] | NotDiagnosed:
    leaf = failure.crash
    frames = [frame for frame in reversed(leaf.project_frames) if bench.settings.include_tests or not frame.is_test]
    if leaf.deepest is None:
        return NotDiagnosed(f"{leaf.exception.short_type} of {failure.node_id} has no frame inside the project.")
    if not frames:
        return NotDiagnosed(
            f"{leaf.exception.short_type} is raised in the test itself ({leaf.deepest.place}), not in the project; "
            "tests are never edited (--include-tests allows it)."
        )
    source = bench.source(frames[0].file or "")
    if isinstance(source, str):
        return NotDiagnosed(source)
    location = locate(frames[0], leaf.exception, source)
    if isinstance(location, Unlocated):
        return NotDiagnosed(location.reason)
    return (LocatedSite(Site.CRASH, location, source), *_callers(bench, frames[1:], location))


def _frame_of(failure: Failure, location: FaultLocation) -> Frame | None:
    frames = reversed(failure.crash.project_frames)
    return next((frame for frame in frames if (frame.file, frame.line) == (location.file, location.line)), None)


def _callers(bench: Bench, frames: Sequence[Frame], location: FaultLocation) -> Iterator[LocatedSite]:
    """The calls that led to the crash: where an argument was the bad value, or the helper raises on purpose."""
    if not (location.kind.is_none or location.kind is FaultKind.DELIBERATE_RAISE):
        return
    met = {(location.file, location.line)}
    for frame in frames:
        source = bench.source(frame.file or "")
        if isinstance(source, str) or (frame.file, frame.line) in met:
            continue
        met.add((frame.file or "", frame.line or 0))
        found = locate_call(frame, source)
        if not isinstance(found, Unlocated):
            yield LocatedSite(Site.CALLER, found, source)
        if len(met) > _MAX_CALLERS:
            return


def _observed(bench: Bench, group: Group, places: Sequence[LocatedSite]) -> Observed:
    node_ids = _node_ids(group)[:1]
    files = {place.location.file: bench.read(place.location.file) for place in places}
    locations = [place.location for place in places]
    return observe(locations, files, lambda sources: bench.run(node_ids, sources, record_probes=True))


def _node_ids(group: Group) -> tuple[str, ...]:
    """What to run for a group; for a conftest that cannot be imported, the tests of its folder."""
    named = (failure.node_id.removesuffix("conftest.py") or "." for failure in group if failure.node_id)
    return tuple(dict.fromkeys(named))[:_MAX_SCREENED]


# ---------------------------------------------------------------- propose and try


def _candidates(bench: Bench, group: Group, diagnosis: Diagnosis) -> Iterator[Candidate]:
    places = _places(bench, group[0])
    if isinstance(places, NotDiagnosed):
        return iter(())
    first = replace(places[0], location=diagnosis.location)
    frame = test_frame(group[0])
    text, line = (_text(bench, frame.file), frame.line or 0) if frame and frame.file else ("", 0)
    evidence = Evidence(group[0].crash.exception, diagnosis.observations, read_expectations(text, line))
    births = birth_sites(diagnosis.origin, diagnosis.location, bench.source)
    return propose((first, *places[1:], *births), evidence)


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


def _tried(bench: Bench, patch: Patch, group: Group) -> Trial:
    screened = group[:_MAX_SCREENED]
    warm = bench.screen(screened, _node_ids(group), {patch.file: patch.after})
    if warm is not None:
        trial = judge(patch, screened, warm, Tier.WARM)
        if trial.verdict in (Verdict.PLAUSIBLE, Verdict.INEFFECTIVE):
            return trial
    run = bench.run(_node_ids(group), {patch.file: patch.after})
    trial = judge(patch, screened, run, Tier.FRESH)
    if trial.verdict is not Verdict.INCONCLUSIVE or bench.settings.dry_run:
        return trial
    # The tests read the file from disk, or in a process of their own: only an edit in place can tell.
    before = bench.read(patch.file)
    bench.write(patch.file, patch.after)
    try:
        return judge(patch, screened, bench.run(_node_ids(group)), Tier.IN_PLACE)
    finally:
        bench.write(patch.file, before)


def _verified(bench: Bench, trial: Trial, group: Group) -> Trial:
    """Write the patch in place and run the whole suite from disk; put the file back if that shows a regression."""
    assert trial.patch is not None  # a plausible trial has its patch
    before = bench.read(trial.patch.file)
    bench.write(trial.patch.file, trial.patch.after)
    kept = False
    try:
        with bench.step("verify", "a candidate passes; running the whole suite") as step:
            suite = bench.run()
            problem = _problem(bench, suite, group) or _unconfirmed(bench, trial, suite, group)
            record.verified(step, suite, [problem] if problem else [])
            record.confirmed(step, trial, suite, _node_ids(group))
        kept = problem is None
    finally:
        if not kept:
            bench.write(trial.patch.file, before)
    if problem is not None:
        return replace(trial, verdict=Verdict.REGRESSED, detail=problem, run_id=suite.id)
    bench.known.update(suite.outcomes)
    return replace(trial, detail=f"{trial.detail}; the whole suite shows no regression", run_id=suite.id)


def _unconfirmed(bench: Bench, trial: Trial, suite: PytestRun, group: Group) -> str | None:
    """What the failing tests say from disk, where they passed in a fork only and the suite does not contain them."""
    if trial.tier is not Tier.WARM or trial.patch is None or set(_node_ids(group)) <= suite.passed:
        return None
    fresh = judge(trial.patch, group[:_MAX_SCREENED], bench.run(_node_ids(group)), Tier.IN_PLACE)
    return None if fresh.verdict is Verdict.PLAUSIBLE else fresh.detail


def _without(bench: Bench, patch: Patch, group: Group) -> PytestRun | None:
    """The failing tests once more without the patch that is kept; None where they do not read it from memory."""
    run = bench.run(_node_ids(group), {patch.file: patch.before})
    return run if patch.file in run.served else None


def _problem(bench: Bench, suite: PytestRun, group: Group) -> str | None:
    """What speaks against a patch after the whole suite ran with it, or None."""
    if not suite.ended:
        return "the whole suite does not end with this patch"
    outcomes = dict(suite.outcomes)
    targets = _node_ids(group)
    for failure in group:
        if failure.node_id and outcomes.get(failure.node_id) in (Outcome.FAILED, Outcome.ERROR):
            return f"{failure.node_id} still fails when the whole suite runs"
    suspects = regressions(bench.known, suite, targets)
    unknown = [node for node in suspects if node not in bench.known]
    if unknown:
        before = bench.run(unknown, dict(bench.originals))
        bench.known.update({node: outcome for node, outcome in before.outcomes if node in unknown})
        suspects = regressions(bench.known, suite, targets)
    return f"{suspects[0]} passed before and fails with this patch" if suspects else None
