"""The commands that look and change nothing: failures, probe, diff."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from selfdebug.cli import options, output
from selfdebug.cli.projects import project
from selfdebug.cli.run import repaired_with_progress
from selfdebug.errors import UsageError
from selfdebug.model import Diagnosis, EditedFile, Failure, Frame
from selfdebug.repair import probe_failure
from selfdebug.reports import evidence
from selfdebug.reports.documents import dumps
from selfdebug.reports.formats.text import diagnosis_lines, diff_lines
from selfdebug.reports.run_document import probe_document
from selfdebug.stages.failures import read_log_stream
from selfdebug.stages.failures.document import document
from selfdebug.terminal import Paint, Tone, counted, one_line, progress
from selfdebug.workspace.changes import changes_of

LAST = "last"


# ---------------------------------------------------------------- failures


@click.command()
@options.log_argument
@options.root_option
@options.log_root_option
@options.json_option
@options.color_option
def failures(log: str | None, root: Path | None, log_root: str | None, as_json: bool, color: str) -> int:
    """Show what can be read out of a captured LOG: tests, exceptions, and their deepest frames in the project.

    Nothing is run; the log may come from another machine (--log-root). LOG is a file; without one, or with -, it is
    standard input.
    """
    if log is None and sys.stdin.isatty():
        raise UsageError("Give the LOG to read, or pipe one in: pytest | selfdebug failures")
    with progress(sys.stderr) as show_event, options.opened_log(log or "-", show_event) as file:
        found = read_log_stream(file, project(root), log_root)
    if as_json:
        output.write(dumps(document(found)))
        return 0
    paint = output.paint(color)
    for failure in found.failures:
        output.write_prose("\n".join(_failure_lines(failure, paint)) + "\n\n")
    for note in found.notes:
        output.write_prose(f"Note: {one_line(note)}")
    output.write(f"{counted(len(found.failures), 'failure')} found.\n")
    return 0


def _failure_lines(failure: Failure, paint: Paint) -> Iterator[str]:
    phase = "" if failure.when.value == "call" else f" ({failure.when.value})"
    yield f"{paint('FAILED', Tone.BAD, Tone.STRONG)} {one_line(failure.node_id or 'a test without a name')}{phase}"
    yield f"  {one_line(str(failure.exception))}"
    yield f"  deepest in the project: {_where(failure.deepest, paint)}"
    if failure.deepest_source is not failure.deepest:
        yield f"  deepest outside the tests: {_where(failure.deepest_source, paint)}"
    for cause in failure.causes:
        yield f"  caused by {one_line(cause.exception.type)} at {_where(cause.deepest, paint)}"
    for member in failure.group:
        yield f"  holds {one_line(member.exception.type)} at {_where(member.deepest, paint)}"


def _where(frame: Frame | None, paint: Paint) -> str:
    if frame is None or frame.place is None:
        return "none"
    function = f" in {one_line(frame.function)}" if frame.function else ""
    return f"{paint(one_line(str(frame.place)), Tone.PLACE)}{function}"


# ---------------------------------------------------------------- probe


@click.command()
@options.log_argument
@options.project_options
@options.pytest_options
@options.json_option
@options.color_option
def probe(log: str | None, root: Path | None, config_file: Path | None, as_json: bool, color: str, **given: Any) -> int:
    """Look at the running program where it fails: the values in the failing statement, then everything as before."""
    settings = options.settings(root, config_file, given)
    data = options.read_log(log)
    with progress(sys.stderr) as show_event:
        report = probe_failure(settings, data, show_event)
    if as_json:
        output.write(dumps(probe_document(report)))
    else:
        paint = output.paint(color)
        paragraphs = ["\n".join(_probe_lines(diagnosis, paint)) for diagnosis in report.diagnoses]
        ends = [one_line(report.sentence), *(paint(f"Warning: {each}", Tone.WARNING) for each in report.warnings)]
        paragraphs += ["\n".join(paint.folded(end)) for end in ends]
        output.write("\n\n".join(paragraphs) + "\n")
    return report.exit_code


def _probe_lines(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    for caught in diagnosis.caught:
        yield from (row for line in evidence.lines_of(caught) for row in paint.folded(paint(line, Tone.FAINT)))
    yield from ("", *diagnosis_lines(diagnosis, paint)) if diagnosis.caught else diagnosis_lines(diagnosis, paint)
    if diagnosis.observations:
        yield ""
        yield "Values in the statement:"
    for seen in diagnosis.observations:
        mark = paint(" <- failed here", Tone.BAD) if seen.in_failure else ""
        value = f"{one_line(seen.expression)} = {evidence.shown_value(seen.value)}"
        yield from paint.folded(f"  {seen.span.start_line}: {value}{mark}")


# ---------------------------------------------------------------- diff


@click.command()
@options.log_argument
@options.project_options
@options.pytest_options
@options.repair_options
@click.option(
    "--run",
    "run_id",
    is_flag=False,
    flag_value=LAST,
    metavar="[RUN]",
    help="What that kept run changed, by default the last one; nothing is run.",
)
@options.color_option
def diff(
    log: str | None, root: Path | None, config_file: Path | None, run_id: str | None, color: str, **given: Any
) -> int:
    """Show the patch that `selfdebug run` would make, or (with --run) the one that a run has made; write nothing.

    Without --run it is the same as run --dry-run --format diff, in colour on a terminal.
    """
    if run_id is not None:
        changes = changes_of(project(root), None if run_id == LAST else run_id)
        _show_diff(changes.files, color)
        output.say(f"Run {changes.run_id}: its files as they are now, against those before it.")
        return 0
    settings = replace(options.settings(root, config_file, given), dry_run=True)
    repaired = repaired_with_progress(settings, options.read_log(log))
    _show_diff(repaired.diffs, color)
    output.say(repaired.sentence)
    return repaired.exit_code


def _show_diff(files: Sequence[EditedFile], color: str) -> None:
    """Coloured for a person, else the exact bytes."""
    paint = output.paint(color)
    if paint.enabled:
        text = evidence.readable_diff(files)
        output.write("".join(f"{line}\n" for line in diff_lines(text, paint)) if text else "")
    else:
        output.write(evidence.whole_diff(files))
