"""`--output [FORMAT=]FILE`: reports that go into files, beside what goes to standard output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from selfdebug.cli import output
from selfdebug.errors import SelfdebugError, UsageError
from selfdebug.model import Repair
from selfdebug.reports import failed_run, format_names, format_of_file, render
from selfdebug.reports.base import View

output_option = click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write the report into FILE too, in FORMAT or what its suffix says; repeatable, one run for all.",
)


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Where a report goes and in which format."""

    format_name: str
    path: Path


def report_files(words: Sequence[str], named: str = "text") -> tuple[ReportFile, ...]:
    """What the values of `--output` ask for; raises UsageError before a run that could not be reported.

    `named` is the format of standard output, which a file without a telling suffix gets where it was asked for.
    """
    return tuple(_report_file(word, named if named != "text" else None) for word in words)


def _report_file(word: str, named: str | None) -> ReportFile:
    name, equals, rest = word.partition("=")
    if equals and name in format_names():
        chosen, path = name, Path(rest)
    else:
        path = Path(word)
        chosen = format_of_file(path.name) or named or _unknown(word)
    if not path.name or path.is_dir():
        raise UsageError(f"--output {word} names no file.")
    if not path.parent.is_dir():
        raise UsageError(f"--output {word}: there is no folder {path.parent}.")
    return ReportFile(chosen, path)


def _unknown(word: str) -> str:
    known = ", ".join(format_names())
    raise UsageError(f"--output {word}: the suffix tells no format; write FORMAT={word} with one of {known}.")


@contextmanager
def early_end_reported(files: Sequence[ReportFile]) -> Iterator[None]:
    """Let the files say why, too, where an error ends the run before there is anything else to tell."""
    try:
        yield
    except SelfdebugError as error:
        write_reports(files, failed_run(error.exit_code, error.reason, str(error)))
        raise


def write_reports(files: Sequence[ReportFile], repair: Repair) -> None:
    """Write each report, without colour; raises SelfdebugError with the reason for the first that cannot be written."""
    for file in files:
        output.write_to(file.path, render(file.format_name, repair, View(width=100)))
