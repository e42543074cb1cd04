"""`selfdebug runs`: the list of past runs, and what is kept, given away and taken in of their traces."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import click

from selfdebug.cli import options, output
from selfdebug.cli.projects import project
from selfdebug.cli.trace import caller, session_option, state_of
from selfdebug.errors import InputError
from selfdebug.reports.documents import dumps
from selfdebug.terminal import counted, one_line
from selfdebug.trace import exchange, retention
from selfdebug.trace.records import Run
from selfdebug.trace.redaction import Redactor
from selfdebug.trace.settings import load
from selfdebug.trace.store import Store
from selfdebug.workspace import JournalRun, Workspace


@click.group(cls=options.Commands, invoke_without_command=True)
@options.root_option
@options.json_option
@click.pass_context
def runs(ctx: click.Context, root: Path | None, as_json: bool) -> int | None:
    """List the runs that changed this project, or keep, give away and take in their traces.

    Without a command: when each run was, how it ended, which files it changed. The newest comes last.
    """
    if ctx.invoked_subcommand is not None:
        return None
    past = Workspace.open(project(root)).history()
    if as_json:
        output.write(dumps({"runs": [asdict(run) for run in past]}))
    elif past:
        output.write("".join(f"{_changing_line(run)}\n" for run in past))
    else:
        output.write("No run has changed a file of this project yet.\n")
    return 0


def _changing_line(run: JournalRun) -> str:
    files = ", ".join(map(one_line, run.files)) or "no file"
    return f"{run.run_id}  {_shown_time(run.started)}  {run.status.value:11}  {files}"


def _shown_time(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


@runs.command()
@options.root_option
@session_option
@options.json_option
def recorded(root: Path | None, session: str | None, as_json: bool) -> int:
    """List the runs of yours that can be asked why, the one that ended last first; also those that changed nothing."""
    _, state = state_of(root)
    owner = caller(session)
    store = Store.open(state)
    mine: list[Run] = []
    if store is not None:
        with store:
            store.close_abandoned()
            mine = [run for run in store.runs() if run.status is not None and owner.sees(run)]
    mine.sort(key=lambda run: run.ended or 0.0, reverse=True)
    if as_json:
        output.write(dumps({"runs": [asdict(run) for run in mine]}))
    elif mine:
        output.write("".join(f"{_recorded_line(run)}\n" for run in mine))
    else:
        output.write("No run of yours is recorded here.\n")
    return 0


def _recorded_line(run: Run) -> str:
    marks = [mark for mark, holds in (("imported", run.imported), ("one-shot", run.shelf == "one-shot")) if holds]
    marked = f" ({', '.join(marks)})" if marks else ""
    return f"{one_line(run.id)}  {_shown_time(run.started)}  {run.status}{marked}"


@runs.command()
@options.root_option
@click.option("--older-than", "days", type=click.IntRange(min=0), metavar="DAYS", help="Also all older than this.")
def prune(root: Path | None, days: int | None) -> int:
    """Delete the traces that the bounds of [tool.selfdebug.trace] do not allow, and give the space back."""
    folder, state = state_of(root)
    settings = load(folder / "pyproject.toml")
    store = Store.open(state)
    if store is None:
        output.write("No run is recorded here.\n")
        return 0
    with store:
        count = retention.prune(store, settings, days)
        left = len(store.runs())
    output.write(f"Deleted {counted(count, 'trace')}; left: {counted(left, 'trace')}.\n")
    return 0


@runs.command("export")
@click.argument("run_id", metavar="RUN")
@options.root_option
@session_option
@click.option("--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output.")
def export_run(run_id: str, root: Path | None, session: str | None, file: Path | None) -> int:
    """Write the trace of a run as one JSON file, which `runs import` opens elsewhere."""
    _, state = state_of(root)
    owner = caller(session)
    store = Store.open(state)
    run: Run | None = None
    if store is not None:
        with store:
            store.close_abandoned()
            run = store.find(run_id)
            if run is not None and owner.sees(run) and run.status is not None:
                output.write_to(file, exchange.exported(store, run))
                return 0
    raise InputError(f"There is no completed run {run_id!r} of yours here.")


@runs.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@options.root_option
@session_option
def import_run(file: Path, root: Path | None, session: str | None) -> int:
    """Take in a run that was exported elsewhere; it is asked like one of your own."""
    folder, state = state_of(root)
    settings = load(folder / "pyproject.toml")
    redactor = Redactor(settings.redact_keys, settings.redact_patterns)
    data = exchange.read_file(file)
    with Store.create(state, folder) as store:
        run, damaged = exchange.imported(store, data, caller(session), redactor)
    lost = f" {damaged} damaged events were left out." if damaged else ""
    output.write(f"Imported {run.id} ({run.status}); selfdebug explain {run.id} tells its story.{lost}\n")
    return 0
