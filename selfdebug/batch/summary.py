"""What jobs add up to: one patch for each project, one exit code and one sentence for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from selfdebug.batch.combine import combined
from selfdebug.batch.records import BatchResult, JobResult, JobState, ProjectResult, Shard
from selfdebug.errors import ExitCode
from selfdebug.terminal import counted


def put_together(project: str, results: Iterable[JobResult], originals: Mapping[str, bytes]) -> ProjectResult:
    """The patches of one project as one."""
    files, overlaps = combined(results, originals)
    return ProjectResult(project, files, overlaps)


def summed_up(
    planned: Sequence[str],
    results: tuple[JobResult, ...],
    projects: tuple[ProjectResult, ...],
    shard: Shard | None,
    warnings: tuple[str, ...],
) -> BatchResult:
    """The batch as a whole. 0 is for all failures repaired, together, or none there."""
    states = Counter(result.state for result in results)
    code, reason = ExitCode.STILL_FAILING, "partial" if states[JobState.REPAIRED] else "not-repaired"
    if states[JobState.LOST] or (shard is None and len(results) < len(planned)):
        reason = "incomplete"
    elif not planned:
        code, reason = ExitCode.PASS, "nothing-failed"
    elif all(result.state is JobState.REPAIRED for result in results):
        is_whole = all(not project.overlaps and (not project.check or project.check.is_sound) for project in projects)
        code, reason = (ExitCode.PASS, "repaired") if is_whole else (ExitCode.STILL_FAILING, "overlap")
    sentence = _sentence(len(planned), len(results), states, shard)
    return BatchResult(int(code), reason, sentence, tuple(planned), results, projects, shard, warnings)


def interrupted(batch: BatchResult) -> BatchResult:
    """The same for a batch that was ended early."""
    sentence = f"Interrupted: {len(batch.results)} of {len(batch.planned)} jobs have ended"
    sentence += "; the same command goes on with the others." if batch.results else "."
    return replace(batch, exit_code=int(ExitCode.INTERRUPTED), exit_reason="interrupted", sentence=sentence)


def _sentence(planned: int, ended: int, states: Mapping[JobState, int], shard: Shard | None) -> str:
    if not planned:
        return "No failure was found, so there is nothing to repair."
    part = f" of shard {shard}" if shard is not None else ""
    lost = f", {states[JobState.LOST]} lost" if states.get(JobState.LOST) else ""
    repaired, left = states.get(JobState.REPAIRED, 0), states.get(JobState.NOT_REPAIRED, 0)
    return f"{counted(ended, 'job')}{part}: {repaired} repaired, {left} not repaired{lost}."
