"""One candidate, judged by running the tests that it is meant for: a patch and a pytest run in, a trial out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selfdebug.model import Candidate, Failure, Outcome, Patch, PytestRun, Tier, Trial, Verdict, When


def judge(patch: Patch, targets: Sequence[Failure], run: PytestRun, tier: Tier) -> Trial:
    """The verdict of `run`, which ran the tests of `targets` with `patch` applied.

    PLAUSIBLE needs every target to have passed in a session that reached its end with the patched source really in
    use; everything else has a sentence that says what happened instead.
    """
    verdict, detail, next_failure = _verdict(patch, targets, run, tier)
    return Trial(patch.candidate, verdict, tier, run.seconds, detail, patch, run.id, next_failure)


def refused(candidate: Candidate, reason: str) -> Trial:
    """The trial of a candidate whose guard does not fit its place: no test was run."""
    return Trial(candidate, Verdict.REFUSED, Tier.NONE, 0.0, reason)


def regressions(before: Mapping[str, Outcome], after: PytestRun, targets: Sequence[str]) -> tuple[str, ...]:
    """The tests that fail after the patch, were not known to fail before it, and are not its targets."""
    known = {node for node, outcome in before.items() if outcome in (Outcome.FAILED, Outcome.ERROR)}
    return tuple(node for node in after.failed if node not in known and node not in targets)


def _verdict(
    patch: Patch, targets: Sequence[Failure], run: PytestRun, tier: Tier
) -> tuple[Verdict, str, Failure | None]:
    cut = _why_cut(run)
    if cut is not None:
        return Verdict.BROKEN, cut, None
    if tier is not Tier.IN_PLACE and patch.file not in run.served:
        return Verdict.INCONCLUSIVE, f"the tests did not import {patch.file} from memory", None
    failing = [failure for failure in run.failures if any(_is_about(failure, target) for target in targets)]
    if not failing and all(_has_passed(target, run) for target in targets):
        tests = len({target.node_id for target in targets})
        return Verdict.PLAUSIBLE, "the failing test passes" if tests == 1 else f"{tests} failing tests pass", None
    if not failing:
        return Verdict.BROKEN, "a failing test was skipped or not collected with the patch", None
    new = failing[0]
    return Verdict.INEFFECTIVE, _still(targets, new), new


def _why_cut(run: PytestRun) -> str | None:
    """Why a run proves nothing; None for one that does."""
    if run.timed_out:
        return f"the tests did not end within the time limit ({run.seconds:.0f} s)"
    if run.out_of_memory:
        return "the tests need more memory than they are allowed to have (memory-limit)"
    return None if run.ended else "pytest did not reach the end of its session"


def _is_about(failure: Failure, target: Failure) -> bool:
    """Whether a failure of the new run concerns the target: the same test, its module, or a test of that module."""
    new, old = failure.node_id or "", target.node_id or ""
    return new == old or old.startswith(f"{new}::") or (target.when is When.COLLECT and new.startswith(f"{old}::"))


def _has_passed(target: Failure, run: PytestRun) -> bool:
    outcomes = dict(run.outcomes)
    if target.when is not When.COLLECT:
        return outcomes.get(target.node_id or "") is Outcome.PASSED
    # A conftest has no tests of its own: those of its folder are what it kept from running.
    folder, _, name = (target.node_id or "").rpartition("conftest.py")
    prefix = folder if not name and target.node_id else f"{target.node_id}::"
    below = [outcome for node, outcome in run.outcomes if node.startswith(prefix)]
    return Outcome.PASSED in below and not {Outcome.FAILED, Outcome.ERROR} & set(below)


def _still(targets: Sequence[Failure], new: Failure) -> str:
    said = f"{new.exception.short_type}: {new.exception.message}".splitlines()[0][:160]
    is_same = any(is_same_crash(old, new) for old in targets)
    return f"still fails in the same way ({said})" if is_same else f"fails in another way now ({said})"


def is_same_crash(old: Failure, new: Failure) -> bool:
    """Whether two failures raised the same exception at the same code (lines may have moved)."""
    return (
        old.exception.type == new.exception.type
        and old.exception.message == new.exception.message
        and _code(old) == _code(new)
    )


def _code(failure: Failure) -> tuple[str | None, str | None, str | None]:
    frame = failure.deepest
    return (frame.file, frame.function, (frame.code or "").strip()) if frame else (None, None, None)
