"""`selfdebug guard`: unguarded uses of values that may be None, as diagnostics, a diff or patches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from selfdebug import config
from selfdebug.cli import options, output
from selfdebug.cli.projects import project
from selfdebug.errors import InputError, UsageError
from selfdebug.model import EditedFile
from selfdebug.reports import evidence
from selfdebug.reports.documents import dumps
from selfdebug.terminal import Paint, Tone, counted, one_line
from selfdebug.workspace.together import write_together

if TYPE_CHECKING:
    from selfdebug.static.records import Spot, Surveyed

SCHEMA_VERSION = 1


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[PATHS]...")
@click.option("--fix", is_flag=True, help="Write the guards; selfdebug rollback takes them back.")
@click.option("--diff", "as_diff", is_flag=True, help="Show the guards as a diff, and write nothing.")
@click.option(
    "--from",
    "report",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Guard where a type checker says so: the output of mypy --output json or pyright --outputjson.",
)
@click.option("--include-tests", is_flag=True, help="Look at test files and conftest.py, too.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=config.usable_cores,
    metavar="N",
    help="Processes [one for each core].",
)
@options.root_option
@options.json_option
@options.color_option
def guard(
    paths: tuple[Path, ...],
    fix: bool,
    as_diff: bool,
    report: Path | None,
    include_tests: bool,
    jobs: int,
    root: Path | None,
    as_json: bool,
    color: str,
) -> int:
    """Find where a value that may be None is used unguarded, before it fails.

    A value may be None by its annotation, its default, the returns of a function of the project, or because it comes
    from re.match, os.environ.get, dict.get and the like. PATHS are files and folders of the project (default: all of
    it). Ends with 1 where uses are left unguarded.
    """
    if as_diff and (fix or as_json):
        raise UsageError(f"--diff and {'--fix' if fix else '--json'} contradict each other.")
    folder = project(root)
    looked_at = _looked_at(folder, paths, report, include_tests, jobs)
    changes = [EditedFile(each.file, each.before, each.after) for each in looked_at if each.after != each.before]
    run_id = write_together(folder, changes, "guard") if fix and changes else None
    if as_json:
        output.write(dumps(_document(looked_at, changes, run_id)))
    elif as_diff:
        output.write(evidence.whole_diff(changes))
    else:
        output.write_prose("\n".join(_lines(looked_at, fix, output.paint(color))))
    if run_id is not None:
        output.say(f"Guarded {counted(len(changes), 'file')}. To undo: selfdebug rollback {run_id}")
    spots = [spot for each in looked_at for spot in each.spots]
    return 1 if any(not fix or spot.guard is None for spot in spots) else 0


def _looked_at(
    root: Path, paths: Sequence[Path], report: Path | None, include_tests: bool, jobs: int
) -> list[Surveyed]:
    """The files with their spots; what could not be looked at, or placed, is said."""
    from selfdebug.static.checkers import read_complaints
    from selfdebug.static.records import Surveyed, Unread
    from selfdebug.static.survey import Order, chosen_files, survey

    complaints = read_complaints(_read(report), root) if report is not None else None
    files = chosen_files(root, paths, include_tests)
    if not files:
        output.say(f"There is no Python file to look at{'' if include_tests else ' besides tests (--include-tests)'}.")
    looked_at: list[Surveyed] = []
    for found in survey(Order(root, files, complaints), jobs):
        match found:
            case Unread(file, reason):
                output.say(f"{file} was not looked at: {reason}.")
            case Surveyed(file, unplaced=unplaced):
                looked_at.append(found)
                if unplaced:
                    left = counted(unplaced, "complaint")
                    output.say(f"{file}: {left} without a single use that is left unguarded.")
    return looked_at


def _read(report: Path) -> bytes:
    try:
        return report.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {report}: {error.strerror or error}.") from error


def _lines(looked_at: Sequence[Surveyed], fix: bool, paint: Paint) -> Iterator[str]:
    count = 0
    for spot in (spot for each in looked_at for spot in each.spots):
        count += 1
        place = paint(f"{one_line(spot.file)}:{spot.line}:{spot.column + 1}", Tone.PLACE)
        yield f"{place}: {one_line(spot.code)} may be None: {one_line(spot.reason)} {_answer(spot, fix, paint)}"
    files = counted(len(looked_at), "file")
    yield f"{counted(count, 'unguarded use')} in {files}." if count else f"{files}, nothing found."


def _answer(spot: Spot, fix: bool, paint: Paint) -> str:
    if spot.guard is None:
        return paint("[no guard fits]", Tone.WARNING)
    return paint(f"[{'guarded by' if fix else 'guard:'} {spot.guard}]", Tone.GOOD)


def _document(looked_at: Sequence[Surveyed], changes: Sequence[EditedFile], run_id: str | None) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "spots": [asdict(spot) for each in looked_at for spot in each.spots],
        "diff": evidence.readable_diff(changes),
    }
