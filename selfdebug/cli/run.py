"""`selfdebug run`: the whole way from a failing test to a kept patch or an exact roll back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from selfdebug.cli import options, output, report_files
from selfdebug.config import Settings
from selfdebug.model import Repair
from selfdebug.repair import repair
from selfdebug.reports import evidence, format_names, render
from selfdebug.reports.base import View
from selfdebug.terminal import progress


@click.command()
@options.log_argument
@options.project_options
@options.pytest_options
@options.repair_options
@options.ask_option
@options.json_option
@options.format_option(format_names())
@report_files.output_option
@options.color_option
def run(
    log: str | None,
    root: Path | None,
    config_file: Path | None,
    as_json: bool,
    format_name: str,
    outputs: tuple[str, ...],
    color: str,
    ask: bool,
    **given: Any,
) -> int:
    """Find what makes the tests fail, guard it, and keep the patch that makes them pass.

    LOG is a file of captured pytest output, or - for standard input; without it pytest is run first. A log is taken
    as a hint: the tests that it names are run again before anything is changed.
    """
    chosen = options.chosen_format(as_json, format_name)
    files = report_files.report_files(outputs, chosen)
    with report_files.early_end_reported(files):
        settings = options.settings(root, config_file, given)
        repaired = (
            _repaired_by_choice(settings, log, color)
            if ask
            else repaired_with_progress(settings, options.read_log(log))
        )
    show(repaired, chosen, view(color))
    report_files.write_reports(files, repaired)
    return repaired.exit_code


def _repaired_by_choice(settings: Settings, log: str | None, color: str) -> Repair:
    from selfdebug.cli.ask import repaired_by_choice, require_terminal

    require_terminal()
    return repaired_by_choice(settings, options.read_log(log), color)


def repaired_with_progress(settings: Settings, log: bytes | None) -> Repair:
    """Run the repair loop and show on standard error how far it is."""
    with progress(sys.stderr) as show_event:
        return repair(settings, log, show_event)


def show(repaired: Repair, format_name: str, how: View) -> None:
    """Write the report to standard output; beside a document for a program, say the rest on standard error."""
    if format_name != "text":
        for line in evidence.probe_lines(repaired):
            output.say(line)
        output.say(repaired.sentence)
    output.write(render(format_name, repaired, how))


def view(color: str, can_undo: bool = True) -> View:
    """How the person at standard output looks at a report."""
    paint = output.paint(color)
    return View(paint.enabled, paint.columns, can_undo)
