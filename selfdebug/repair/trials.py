"""What the tests say of one patch: the failing ones first, from memory, then the whole suite with the file on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from selfdebug.model import Outcome, Patch, PytestRun, Tier, Trial, Verdict, When
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import MAX_SCREENED, Group, node_ids
from selfdebug.repair.side_by_side import Ask
from selfdebug.stages.validate import judge, regressions
from selfdebug.trace import mapping as record

_SHORT = 0.5
"""Tests are run ahead of the suite in a process of their own where that takes at most this share of its time."""
_DOUBTS = 3
"""So many tests that fail with a patch are run without it, too, to see whether they fail for it."""
_WORTHWHILE = 2.0
"""Seconds of tests from which on it is worth one more run of the suite to know what each test runs."""
_LEAST_SECONDS = 30.0
_PATIENCE = 10
"""Failing tests may take so many seconds with a patch, and so many times those of the first run, before it counts as
one that never ends. One loop without an end would cost the whole time limit otherwise."""


def screened(bench: Bench, patch: Patch, group: Group, which: str, forked: Ask) -> Trial:
    """What the failing tests say of a patch, in a fork first; nothing of it stays on disk."""
    candidate = patch.candidate
    with bench.step("try", f"{which}: {candidate.guard} at {candidate.file}:{candidate.expression.start_line}") as step:
        trial = _tried(bench, patch, group, forked)
        if trial.verdict is Verdict.PLAUSIBLE:
            trial = _outlasted(bench, trial, group) or _ahead_of_suite(bench, trial, _reaching(bench, trial, group))
        record.trial(step, trial)
    return trial


def looked_at_again(bench: Bench, trial: Trial, group: Group) -> Trial:
    """What the tests that turned other patches down say of a plausible one, which was tried before they did."""
    newly = [node for node in _reaching(bench, trial, group) if node in bench.reach.breakers]
    return _recorded(bench, _outlasted(bench, trial, group) or _ahead_of_suite(bench, trial, newly))


def verified(bench: Bench, trial: Trial, group: Group) -> Trial:
    """What the whole suite says of a plausible patch, which is in place afterwards if there is nothing against it."""
    return _recorded(bench, _verified(bench, trial, group))


def _recorded(bench: Bench, trial: Trial) -> Trial:
    if trial.verdict is not Verdict.PLAUSIBLE:
        with bench.step("try", f"{trial.candidate.guard} once more: the whole suite is against it") as step:
            record.trial(step, trial)
    return trial


def _reaching(bench: Bench, trial: Trial, group: Group) -> list[str]:
    """The tests that are worth asking ahead of the suite: they run the code that the patch changes, and are cheap."""
    assert trial.patch is not None  # a plausible trial has its patch
    return [node for node in bench.tests_reaching(trial.patch) if node not in node_ids(group)]


def _ahead_of_suite(bench: Bench, trial: Trial, tests: Sequence[str]) -> Trial:
    """What some tests that passed before say of a plausible patch."""
    assert trial.patch is not None  # a plausible trial has its patch
    broken = _broken(bench, trial.patch, tests)
    if broken is None:
        return trial
    bench.reach.turned_down_by(broken)
    return replace(trial, verdict=Verdict.REGRESSED, detail=_regressed(broken))


def _outlasted(bench: Bench, trial: Trial, group: Group) -> Trial | None:
    """The trial turned down, where a test of the group that went on failing with an earlier patch does so with this."""
    assert trial.patch is not None  # a plausible trial has its patch
    sources = {trial.patch.file: trial.patch.after}
    members = {failure.node_id for failure in group}
    tests = [node for node in bench.reach.outlasting if node in members]
    forked = bench.screen_some(tests, sources) if tests else None
    for node in tests:
        if forked is not None and node in forked.failed and node in bench.run((node,), sources).failed:
            return replace(trial, verdict=Verdict.REGRESSED, detail=f"{node} still fails")
    return None


def _broken(bench: Bench, patch: Patch, tests: Sequence[str]) -> str | None:
    """The first of these tests that fails with the patch and, run in the same way, passes with what was accepted."""
    sources = {patch.file: patch.after}
    forked = bench.screen_some(tests, sources) if tests else None
    if forked is not None:
        broken = _failing_for_it(forked, lambda node: bench.screen_some((node,), bench.not_accepted))
        if broken is not None:
            return broken
        met = dict(forked.outcomes)
        tests = [node for node in tests if node not in met]
    suite_seconds = bench.reach.suite_seconds
    if not tests or suite_seconds < _WORTHWHILE or bench.reach.seconds_of(tests) > _SHORT * suite_seconds:
        return None
    fresh = bench.run(tests, sources)
    return (
        _failing_for_it(fresh, lambda node: bench.run((node,), bench.not_accepted))
        if patch.file in fresh.served
        else None
    )


def _failing_for_it(run: PytestRun, unpatched: Callable[[str], PytestRun | None]) -> str | None:
    for node in run.failed[:_DOUBTS]:
        control = unpatched(node)
        if control is not None and node in control.passed:
            return node
    return None


def _regressed(node: str) -> str:
    return f"{node} passed before and fails with this patch"


def _tried(bench: Bench, patch: Patch, group: Group, forked: Ask) -> Trial:
    screened = group[:MAX_SCREENED]
    quick = bench.asked(forked)
    if quick is not None:
        trial = judge(patch, screened, quick, quick.tier)
        if trial.verdict in (Verdict.PLAUSIBLE, Verdict.INEFFECTIVE):
            return trial
    limit = _limit(bench, group)
    run = bench.run(node_ids(group), {patch.file: patch.after}, limit=limit)
    trial = judge(patch, screened, run, Tier.FRESH)
    if trial.verdict is not Verdict.INCONCLUSIVE or bench.settings.dry_run:
        return trial
    # The tests read the file from disk, or in a process of their own: only an edit in place can tell.
    before = bench.read(patch.file)
    bench.write(patch.file, patch.after)
    try:
        return judge(patch, screened, bench.run(node_ids(group), limit=limit), Tier.IN_PLACE)
    finally:
        bench.write(patch.file, before)


def _limit(bench: Bench, group: Group) -> float | None:
    """How many seconds the tests of a group may take with a patch; None where they did not run at all so far."""
    if any(failure.when is When.COLLECT for failure in group):
        return None
    return _LEAST_SECONDS + _PATIENCE * bench.runs[0].seconds


def _verified(bench: Bench, trial: Trial, group: Group) -> Trial:
    """Write the patch in place and run the whole suite from disk; put the file back if that shows a regression."""
    assert trial.patch is not None  # a plausible trial has its patch
    before = bench.read(trial.patch.file)
    bench.write(trial.patch.file, trial.patch.after)
    kept = False
    try:
        with bench.step("verify", "a candidate passes; running the whole suite") as step:
            suite = _whole_suite(bench)
            problem = _problem(bench, suite, group) or _unconfirmed(bench, trial, suite, group)
            record.verified(step, suite, [problem] if problem else [])
            record.confirmed(step, trial, suite, node_ids(group))
        kept = problem is None
    finally:
        if not kept:
            bench.write(trial.patch.file, before)
    if problem is not None:
        _learn(bench, suite)
        bench.prepare_screening(group[:MAX_SCREENED], node_ids(group))
        return replace(trial, verdict=Verdict.REGRESSED, detail=problem, run_id=suite.id)
    bench.accept(suite)
    return replace(trial, detail=f"{trial.detail}; the whole suite shows no regression", run_id=suite.id)


def _whole_suite(bench: Bench) -> PytestRun:
    """All tests, from disk; where one that passed before fails and passes alone, it is flaky, and all are run again."""
    suite = bench.run_suite()
    if suite.halted_by is not None and suite.halted_by in bench.run((suite.halted_by,)).passed:
        return bench.run_suite()
    return suite


def _learn(bench: Bench, suite: PytestRun) -> None:
    """After a patch that the suite turned down: let the next ones meet the right tests first."""
    if suite.halted_by is not None:
        bench.reach.turned_down_by(suite.halted_by)
    if bench.reach.calls is None and bench.reach.suite_seconds > _WORTHWHILE:
        with bench.step("verify", "looking at which tests run which functions") as step:
            run = bench.run_suite(calls=True)
            gap = f", which cannot be told here: {run.calls.gap}" if run.calls is not None and run.calls.gap else ""
            step.describe(f"The suite without a patch was run to see which tests run which functions{gap}.")
        if not bench.not_accepted:  # else a guard that only led further may be what makes a test fail
            bench.known = {**dict(run.outcomes), **bench.known}


def _unconfirmed(bench: Bench, trial: Trial, suite: PytestRun, group: Group) -> str | None:
    """What the failing tests say from disk, where they passed in a fork only and the suite does not contain them."""
    is_forked = trial.tier in (Tier.WARM, Tier.PRELOADED)
    if not is_forked or trial.patch is None or set(node_ids(group)) <= suite.passed:
        return None
    fresh = judge(trial.patch, group[:MAX_SCREENED], bench.run(node_ids(group)), Tier.IN_PLACE)
    return None if fresh.verdict is Verdict.PLAUSIBLE else fresh.detail


def without(bench: Bench, patch: Patch, group: Group) -> PytestRun | None:
    """The failing tests once more without the patch that is kept; None where they do not read it from memory.

    In a new process: a fork would not notice what has changed since its server began, and flaky tests with it.
    """
    run = bench.run(node_ids(group), {patch.file: patch.before})
    return run if patch.file in run.served else None


def _problem(bench: Bench, suite: PytestRun, group: Group) -> str | None:
    """What speaks against a patch after the whole suite ran with it, or None."""
    if suite.halted_by is not None:
        return _regressed(suite.halted_by)
    if not suite.ended:
        return "the whole suite does not end with this patch"
    outcomes = dict(suite.outcomes)
    targets = node_ids(group)
    for failure in group:
        if failure.node_id and outcomes.get(failure.node_id) in (Outcome.FAILED, Outcome.ERROR):
            bench.reach.outlasting.append(failure.node_id)
            return f"{failure.node_id} still fails when the whole suite runs"
    suspects = regressions(bench.known, suite, targets)
    unknown = [node for node in suspects if node not in bench.known]
    if unknown:
        before = bench.run(unknown, dict(bench.originals))
        bench.known.update({node: outcome for node, outcome in before.outcomes if node in unknown})
        suspects = regressions(bench.known, suite, targets)
    return _regressed(suspects[0]) if suspects else None
