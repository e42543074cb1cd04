"""`--output [FORMAT=]FILE` of run, ci and batch: reports in files, beside what goes to standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from selfdebug.cli import output
from selfdebug.errors import SelfdebugError, UsageError
from selfdebug.model import Repair
from selfdebug.reports import failed_run, format_names, format_of_file, render

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


def report_files(
    words: Sequence[str], named: str = "text", known: Sequence[str] | None = None
) -> tuple[ReportFile, ...]:
    """What the values of `--output` ask for; raises UsageError before a run that could not be reported.

    `named` is the format of standard output, which a file without a telling suffix gets where it was asked for.
    `known` are the formats that the command writes, by default all.
    """
    return tuple(_report_file(word, named if named != "text" else None, known or format_names()) for word in words)


def _report_file(word: str, named: str | None, known: Sequence[str]) -> ReportFile:
    name, equals, rest = word.partition("=")
    if equals and name in known:
        chosen, path = name, Path(rest)
    else:
        path = Path(word)
        chosen = _by_suffix(path, known) or named or _unknown(word, known)
    if not path.name or path.is_dir():
        raise UsageError(f"--output {word} names no file.")
    if not path.parent.is_dir():
        raise UsageError(f"--output {word}: there is no folder {path.parent}.")
    return ReportFile(chosen, path)


def _by_suffix(path: Path, known: Sequence[str]) -> str | None:
    found = format_of_file(path.name)
    return found if found in known else None


def _unknown(word: str, known: Sequence[str]) -> str:
    names = ", ".join(known)
    raise UsageError(f"--output {word}: the suffix tells no format; write FORMAT={word} with one of {names}.")


def _whole_report(format_name: str, error: SelfdebugError) -> bytes:
    return render(format_name, failed_run(error.exit_code, error.reason, str(error)))


@contextmanager
def early_end_reported(
    files: Sequence[ReportFile], rendered: Callable[[str, SelfdebugError], bytes] = _whole_report
) -> Iterator[None]:
    """Let the files say why, too, where an error ends the run before there is anything else to tell.

    `rendered` makes of a format's name and the error what the file is to hold, by default the report of a run.
    """
    try:
        yield
    except SelfdebugError as error:
        for file in files:
            output.write_to(file.path, rendered(file.format_name, error))
        raise


def write_reports(files: Sequence[ReportFile], repair: Repair) -> None:
    """Write each report, without colour; raises SelfdebugError with the reason for the first that cannot be written."""
    for file in files:
        output.write_to(file.path, render(file.format_name, repair))
