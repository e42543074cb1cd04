"""`selfdebug ci`: a run on a build machine, with the reports that the machine it finds itself on shows to people."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from selfdebug.cli import options, output, report_files
from selfdebug.cli.report_files import ReportFile
from selfdebug.cli.run import repaired_with_progress, show, view
from selfdebug.errors import ExitCode, SelfdebugError
from selfdebug.model import FinalStatus, Repair
from selfdebug.paths import repository_root
from selfdebug.reports import render
from selfdebug.reports.relocation import relocated


@dataclass(frozen=True, slots=True)
class Server:
    """What a CI server reads: the format for standard output, files in other formats, and two files that are added to.

    `summary` takes Markdown for the page of the job, `variables` lines of NAME=VALUE for later steps.
    """

    format_name: str
    files: tuple[ReportFile, ...] = ()
    summary: Path | None = None
    variables: Path | None = None


def server_of(environ: Mapping[str, str], folder: Path) -> Server:
    """The server that the environment names; any other one gets the log and JUnit XML in `folder`."""
    patch, page = ReportFile("diff", folder / "selfdebug.patch"), ReportFile("html", folder / "selfdebug.html")
    if environ.get("GITHUB_ACTIONS") == "true":
        return Server("github", (patch, page), _path(environ, "GITHUB_STEP_SUMMARY"), _path(environ, "GITHUB_OUTPUT"))
    if environ.get("GITLAB_CI") == "true":
        quality = ReportFile("gitlab", folder / "gl-code-quality-report.json")
        return Server("text", (patch, page, quality))
    return Server("text", (patch, page, ReportFile("junit", folder / "selfdebug.xml")))


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


@click.command()
@options.log_argument
@options.project_options
@options.pytest_options
@options.judging_options
@click.option(
    "--reports",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("selfdebug-reports"),
    show_default=True,
    metavar="DIR",
    help="The folder for the patch, the page and what else the server takes.",
)
@click.option("--write", is_flag=True, help="Keep the patch in the checkout. Default: it is only reported.")
@click.option("--exit-zero", is_flag=True, help="End with 0 when the failing tests were understood and reported.")
@report_files.output_option
def ci(
    log: str | None,
    root: Path | None,
    config_file: Path | None,
    folder: Path,
    write: bool,
    exit_zero: bool,
    outputs: tuple[str, ...],
    **given: Any,
) -> int:
    """Run the tests on a build machine, and report how what fails could be repaired.

    The reports suit the server that the environment names (GitHub Actions, GitLab CI, else JUnit XML), and name files
    from the root of the repository. Failing tests end it with 1, also where a patch was found: nobody has read it yet.
    """
    wanted = report_files.report_files(outputs)
    settings = replace(options.settings(root, config_file, given), dry_run=not write)
    _make(folder)
    server = server_of(os.environ, folder)
    files = (*server.files, *wanted)
    with report_files.early_end_reported(files):
        repaired = repaired_with_progress(settings, options.read_log(log))
    shown = relocated(repaired, _prefix(settings.root))
    show(shown, server.format_name, view("auto", can_undo=False))
    report_files.write_reports(files, shown)
    _add(server.summary, render("markdown", shown))
    _add(server.variables, _variables(shown, folder))
    return exit_code(repaired, exit_zero)


def exit_code(repaired: Repair, exit_zero: bool) -> int:
    """0 where nothing failed; 1 for failing tests, repaired or not; errors and runs without a test keep their code."""
    code = repaired.exit_code
    is_judged = code in (ExitCode.PASS, ExitCode.STILL_FAILING, ExitCode.NO_PROJECT_FRAME, ExitCode.ROLLED_BACK)
    if not is_judged or not repaired.failures:
        return code
    return 0 if exit_zero else 1


def _prefix(root: Path) -> str:
    """The project's folder as the repository names it."""
    top = repository_root(root)
    return root.resolve().relative_to(top).as_posix() if top is not None else ""


def _variables(shown: Repair, folder: Path) -> bytes:
    """What a later step of the job asks; values are words and paths of ours, never text of the project."""
    has_patch = bool(shown.diffs) and shown.final_status is not FinalStatus.FAIL
    lines = {
        "status": shown.final_status.value,
        "exit-reason": shown.exit_reason,
        "has-patch": str(has_patch).lower(),
        "reports": folder.as_posix(),
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items()).encode()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise SelfdebugError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error


def _add(file: Path | None, data: bytes) -> None:
    if file is None:
        return
    try:
        with file.open("ab") as stream:
            stream.write(data)
    except OSError as error:
        output.say(f"Cannot add to {file}: {error.strerror or error}.")
