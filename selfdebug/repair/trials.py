"""What the tests say of one patch: the failing ones first, from memory, then the whole suite with the file on disk."""

from __future__ import annotations

from dataclasses import replace

from selfdebug.model import Outcome, Patch, PytestRun, Tier, Trial, Verdict
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import MAX_SCREENED, Group, node_ids
from selfdebug.stages.validate import judge, regressions
from selfdebug.trace import mapping as record


def judged(bench: Bench, patch: Patch, group: Group, which: str) -> Trial:
    """Try a patch; one that makes the failing tests pass is written in place, and stays if the suite accepts it."""
    candidate = patch.candidate
    with bench.step("try", f"{which}: {candidate.guard} at {candidate.file}:{candidate.expression.start_line}") as step:
        trial = _tried(bench, patch, group)
        if trial.verdict is Verdict.PLAUSIBLE:
            trial = _verified(bench, trial, group)
        record.trial(step, trial)
    return trial


def _tried(bench: Bench, patch: Patch, group: Group) -> Trial:
    screened = group[:MAX_SCREENED]
    warm = bench.screen(screened, node_ids(group), {patch.file: patch.after})
    if warm is not None:
        trial = judge(patch, screened, warm, Tier.WARM)
        if trial.verdict in (Verdict.PLAUSIBLE, Verdict.INEFFECTIVE):
            return trial
    run = bench.run(node_ids(group), {patch.file: patch.after})
    trial = judge(patch, screened, run, Tier.FRESH)
    if trial.verdict is not Verdict.INCONCLUSIVE or bench.settings.dry_run:
        return trial
    # The tests read the file from disk, or in a process of their own: only an edit in place can tell.
    before = bench.read(patch.file)
    bench.write(patch.file, patch.after)
    try:
        return judge(patch, screened, bench.run(node_ids(group)), Tier.IN_PLACE)
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
            record.confirmed(step, trial, suite, node_ids(group))
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
    if trial.tier is not Tier.WARM or trial.patch is None or set(node_ids(group)) <= suite.passed:
        return None
    fresh = judge(trial.patch, group[:MAX_SCREENED], bench.run(node_ids(group)), Tier.IN_PLACE)
    return None if fresh.verdict is Verdict.PLAUSIBLE else fresh.detail


def without(bench: Bench, patch: Patch, group: Group) -> PytestRun | None:
    """The failing tests once more without the patch that is kept; None where they do not read it from memory."""
    run = bench.run(node_ids(group), {patch.file: patch.before})
    return run if patch.file in run.served else None


def _problem(bench: Bench, suite: PytestRun, group: Group) -> str | None:
    """What speaks against a patch after the whole suite ran with it, or None."""
    if not suite.ended:
        return "the whole suite does not end with this patch"
    outcomes = dict(suite.outcomes)
    targets = node_ids(group)
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
