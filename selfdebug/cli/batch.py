"""`selfdebug batch` and `selfdebug merge`: many repairs at once, and the reports of several batches as one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from selfdebug import config
from selfdebug.batch import applying, document, text
from selfdebug.batch.merging import merged
from selfdebug.batch.records import BatchResult, ProjectResult, Shard, Target
from selfdebug.batch.running import BatchRequest, run_batch
from selfdebug.cli import options, output, report_files
from selfdebug.cli.projects import settled
from selfdebug.cli.report_files import ReportFile
from selfdebug.config import Settings
from selfdebug.errors import ExitCode, InputError, SelfdebugError, UsageError
from selfdebug.model import Failure
from selfdebug.reports.documents import dumps
from selfdebug.reports.evidence import whole_diff
from selfdebug.stages.failures import read_log_stream
from selfdebug.terminal import Paint, plain, progress

_FORMATS = ("text", "json", "diff")
_format_option = options.format_option(_FORMATS)
_apply_option = click.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Write the combined patch into the projects; selfdebug rollback undoes it.",
)


class _ShardType(click.ParamType[Shard]):
    name = "i/n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        """Read `2/5`."""
        index, _, count = str(value).partition("/")
        if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            self.fail(f"{value!r} is no shard: write 1/3, 2/3 or 3/3 for three of them.", param, ctx)
        return Shard(int(index), int(count))


@click.command()
@click.argument("what", nargs=-1, metavar="[WHAT]...")
@click.option(
    "--list", "list_file", metavar="FILE", type=click.Path(path_type=Path), help="More of WHAT, one a line in a file."
)
@options.project_options
@options.interpreter_options
@options.log_root_option
@options.judging_options
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Repairs at the same time [one for each core].")
@click.option("--scheduler", metavar="ADDRESS", help="Give the jobs to the Dask cluster there, as tcp://host:8786.")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="How often a job whose process died is started again.",
)
@click.option(
    "--shard", type=_ShardType(), metavar="I/N", help="Do only the I-th of N parts; merge puts them together."
)
@click.option(
    "--resume/--no-resume", default=True, show_default=True, help="Take over the finished jobs of an interrupted batch."
)
@click.option(
    "--work-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Where the copies of the projects go; Dask workers elsewhere need a shared folder. Default: temporary files.",
)
@_apply_option
@options.json_option
@_format_option
@report_files.output_option
@options.color_option
def batch(
    what: tuple[str, ...],
    list_file: Path | None,
    root: Path | None,
    config_file: Path | None,
    jobs: int | None,
    scheduler: str | None,
    retries: int,
    shard: Shard | None,
    resume: bool,
    work_dir: Path | None,
    is_applied: bool,
    as_json: bool,
    format_name: str,
    outputs: tuple[str, ...],
    color: str,
    **given: Any,
) -> int:
    """Repair many failures as independent jobs, each in its own copy of its project.

    WHAT is a project folder, a failing test (a node id of the project at --root), or a file of captured pytest output,
    - for standard input; without it all failures of the project at --root. What fails for one reason is one job. The
    projects themselves are left as they are, unless --apply is given.
    """
    chosen = options.chosen_format(as_json, format_name)
    files = report_files.report_files(outputs, chosen, _FORMATS)
    with report_files.early_end_reported(files, _end):
        targets = tuple(_targets((*what, *_listed(list_file)), root, config_file, given))
        place = work_dir.absolute() if work_dir else None
        request = BatchRequest(targets, jobs or config.usable_cores(), scheduler, retries, shard, resume, place)
        with progress(sys.stderr) as show_event:
            done, originals = run_batch(request, show_event)
    if is_applied:
        done = _applied(done, {target.project: target.settings.root for target in targets})
    _show(done, originals, chosen, color, files)
    return done.exit_code


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@_apply_option
@options.json_option
@_format_option
@report_files.output_option
@options.color_option
def merge(
    files: tuple[Path, ...], is_applied: bool, as_json: bool, format_name: str, outputs: tuple[str, ...], color: str
) -> int:
    """Put the reports that batch --json wrote on several machines together, with one patch for each project.

    Patches that change the same statement in different ways are named, and the first one is taken.
    """
    chosen = options.chosen_format(as_json, format_name)
    wanted = report_files.report_files(outputs, chosen, _FORMATS)
    with report_files.early_end_reported(wanted, _end):
        done, originals = merged([document.read(file) for file in files])
    if is_applied:
        done = _applied(done, {each.project: Path(each.project).absolute() for each in done.projects})
    _show(done, originals, chosen, color, wanted)
    return done.exit_code


# ---------------------------------------------------------------- what to repair


def _listed(file: Path | None) -> Iterator[str]:
    if file is None:
        return
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"Cannot read the list {file}: {reason}.") from error
    yield from (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _targets(
    what: tuple[str, ...], root: Path | None, config_file: Path | None, given: dict[str, Any]
) -> Iterator[Target]:
    """One target for each project: all of a folder that is named, else the tests and the failures of the logs."""
    folders = {Path(each).resolve(): None for each in what if Path(each).is_dir()}
    for folder in folders:
        yield Target(_name_of(folder), options.settings(settled(folder), config_file, given))
    others = tuple(dict.fromkeys(each for each in what if not Path(each).is_dir()))
    if what and not others:
        return
    settings = options.settings(root, config_file, given)
    if settings.root not in folders:
        settled(settings.root)
        node_ids = tuple(each for each in others if "::" in each or each.endswith(".py"))
        logs = [each for each in others if each not in node_ids]
        failures = tuple(failure for log in logs for failure in _failures_in(log, settings)) if logs else None
        yield Target(_name_of(settings.root), replace(settings, node_ids=node_ids), failures)


def _failures_in(log: str, settings: Settings) -> tuple[Failure, ...]:
    if log != "-" and not Path(log).exists():
        raise UsageError(f"{log} is neither a folder, nor a test, nor a file that is there.")
    with progress(sys.stderr) as show_event, options.opened_log(log, show_event) as file:
        if not file.peek(1):
            raise InputError(f"The log {log} is empty: give a file that holds the output of a failing test run.")
        found = read_log_stream(file, settings.root, settings.log_root)
    for note in found.notes:
        output.say(note)
    return found.failures


def _name_of(folder: Path) -> str:
    """How reports call a project: relative to the current folder, where that is possible, as on another machine."""
    here = Path.cwd()
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else folder.as_posix()


# ---------------------------------------------------------------- the end


def _applied(done: BatchResult, roots: dict[str, Path]) -> BatchResult:
    """Write the patches of the projects whose patches go together; what cannot be written is said."""
    projects: list[ProjectResult] = []
    warnings, code = list(done.warnings), done.exit_code
    for project in done.projects:
        if not project.files or (project.check is not None and not project.check.is_sound):
            projects.append(project)
            continue
        try:
            run_id = applying.applied(project, config.project_root(roots[project.project]))
        except SelfdebugError as error:
            warnings.append(str(error))
            code = code or int(ExitCode.STILL_FAILING)
            projects.append(project)
        else:
            projects.append(replace(project, applied=run_id))
    return replace(done, projects=tuple(projects), warnings=tuple(warnings), exit_code=code)


def _show(
    done: BatchResult, originals: document.Originals, format_name: str, color: str, files: Sequence[ReportFile]
) -> None:
    """Write the report to standard output and into the files; beside a document, say the rest on standard error."""
    output.write(_rendered(done, originals, format_name, output.paint(color)))
    if format_name == "diff":
        for warning in done.warnings:
            output.say(warning)
    if format_name != "text":
        output.say(done.sentence)
    for file in files:
        output.write_to(file.path, _rendered(done, originals, file.format_name, Paint(False)))


def _rendered(done: BatchResult, originals: document.Originals, format_name: str, paint: Paint) -> bytes:
    if format_name == "json":
        return dumps(document.document(done, originals))
    if format_name == "diff":
        files = ((project, edited) for project in done.projects for edited in project.files)
        return whole_diff([replace(edited, file=_placed(project, edited.file)) for project, edited in files])
    return "".join(f"{line}\n" for line in text.lines(done, paint)).encode("utf-8", "backslashreplace")


def _end(format_name: str, error: SelfdebugError) -> bytes:
    """What a report says where an error ended the command before there was anything else to tell."""
    if format_name == "json":
        return output.end_document(error.exit_code, error.reason, str(error))
    return b"" if format_name == "diff" else f"{plain(str(error))}\n".encode("utf-8", "backslashreplace")


def _placed(project: ProjectResult, file: str) -> str:
    """The file as seen from the current folder, which all projects of a diff have in common."""
    return file if project.project == "." or Path(project.project).is_absolute() else f"{project.project}/{file}"
