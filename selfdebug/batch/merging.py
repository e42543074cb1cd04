"""The reports of several batches (the shards of a CI matrix) as one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from selfdebug.batch.document import Originals
from selfdebug.batch.records import BatchResult, JobResult, JobState
from selfdebug.batch.summary import put_together, summed_up
from selfdebug.errors import InputError
from selfdebug.terminal import counted

_ORDER = (JobState.REPAIRED, JobState.NOT_REPAIRED, JobState.LOST)


def merged(batches: Sequence[tuple[BatchResult, Originals]]) -> tuple[BatchResult, Originals]:
    """One batch of all jobs: a job that several have counts as the best of them.

    Raises InputError where two batches started from different contents of a file that both change.
    """
    originals = _originals([each for _, each in batches])
    results = _best_of_each(batches)
    planned = tuple(dict.fromkeys(job for batch, _ in batches for job in batch.planned))
    ordered = tuple(results[job] for job in dict.fromkeys((*planned, *results)) if job in results)
    for result in ordered:
        _check_edits(result, originals)
    projects = tuple(
        put_together(
            name,
            [result for result in ordered if result.job.project == name],
            {file: data for (project, file), data in originals.items() if project == name},
        )
        for name in dict.fromkeys(result.job.project for result in ordered)
    )
    warnings = [warning for batch, _ in batches for warning in (*batch.warnings, *_odd(batch, planned))]
    if len(ordered) < len(planned):
        of_all = f"{len(planned) - len(ordered)} of {counted(len(planned), 'job')}"
        warnings.append(f"In no report: {of_all}; a shard is missing, or was interrupted.")
    return summed_up(planned, ordered, projects, None, tuple(dict.fromkeys(warnings))), originals


def _best_of_each(batches: Sequence[tuple[BatchResult, Originals]]) -> dict[str, JobResult]:
    results: dict[str, JobResult] = {}
    for batch, _ in batches:
        for result in batch.results:
            known = results.get(result.job.id)
            if known is None or _ORDER.index(result.state) < _ORDER.index(known.state):
                results[result.job.id] = result
    return results


def _originals(carried: Sequence[Originals]) -> dict[tuple[str, str], bytes]:
    found: dict[tuple[str, str], bytes] = {}
    for originals in carried:
        for (project, file), data in originals.items():
            if found.setdefault((project, file), data) != data:
                raise InputError(
                    f"The reports are of different states of {file} in {project}, so they cannot be merged."
                )
    return found


def _check_edits(result: JobResult, originals: Originals) -> None:
    """The edits must be of the contents that are there."""
    for change in result.changes:
        data = originals.get((result.job.project, change.file))
        if data is None or sha256(data).hexdigest() != change.sha256:
            raise InputError(f"A report has edits of {change.file} without the content that they belong to.")


def _odd(batch: BatchResult, planned: Sequence[str]) -> tuple[str, ...]:
    """Shards of one state of a project know of the same failures, unless some come and go."""
    if set(batch.planned) == set(planned) or batch.shard is None:
        return ()
    return (f"Shard {batch.shard} saw other failures than the others did: some tests fail only now and then.",)
