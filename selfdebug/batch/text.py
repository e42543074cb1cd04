"""A batch for a person: a line for each job, then the patch of each project."""

from __future__ import annotations

from collections.abc import Iterator

from selfdebug.batch.records import BatchResult, JobResult, JobState, ProjectResult
from selfdebug.reports.evidence import readable_diff
from selfdebug.reports.formats.text import diff_lines
from selfdebug.terminal import Paint, Tone, counted, one_line

_SHOWN = {
    JobState.REPAIRED: ("REPAIRED", Tone.GOOD),
    JobState.NOT_REPAIRED: ("NOT REPAIRED", Tone.BAD),
    JobState.LOST: ("LOST", Tone.WARNING),
}


def lines(batch: BatchResult, paint: Paint) -> Iterator[str]:
    """The report, line by line."""
    for result in batch.results:
        yield from (row for line in _job(result, paint) for row in paint.folded(line))
    for project in batch.projects:
        yield from _project(project, paint)
    for warning in batch.warnings:
        yield from paint.folded(paint(f"Warning: {one_line(warning)}", Tone.WARNING))
    yield from paint.folded(paint(batch.sentence, Tone.GOOD if batch.exit_code == 0 else Tone.BAD))


def _job(result: JobResult, paint: Paint) -> Iterator[str]:
    word, tone = _SHOWN[result.state]
    tries = f", {result.tries} tries" if result.tries > 1 else ""
    yield f"{paint(word, tone, Tone.STRONG)} {one_line(result.job.project)}: {one_line(result.job.cause)}"
    yield f"  {_tests(result.job.node_ids)} ({result.seconds:.1f} s{tries}, job {result.job.id})"
    yield f"  {one_line(result.sentence)}"


def _tests(node_ids: tuple[str, ...]) -> str:
    if not node_ids:
        return "all tests"
    more = f" and {len(node_ids) - 1} more" if len(node_ids) > 1 else ""
    return f"{one_line(node_ids[0])}{more}"


def _project(project: ProjectResult, paint: Paint) -> Iterator[str]:
    if not project.files:
        return
    files = counted(len(project.files), "file")
    yield ""
    yield paint(f"{one_line(project.project)}: a patch of {files}", Tone.STRONG)
    yield from diff_lines(readable_diff(project.files), paint)
    for overlap in project.overlaps:
        where = f"{one_line(overlap.file)}:{overlap.line}"
        left_out = (
            f"Job {overlap.left_out} changes the same statement as job {overlap.kept}, at {where}, in another way; "
            "its patch is left out."
        )
        yield from paint.folded(paint(left_out, Tone.WARNING))
    if project.check is not None:
        yield from paint.folded(paint(project.check.sentence, Tone.GOOD if project.check.is_sound else Tone.BAD))
        yield from (f"  broken by the others: {one_line(node)}" for node in project.check.broken)
    if project.applied:
        yield f"Applied; selfdebug rollback {project.applied} undoes it."
    yield ""
