"""The commands about runs that are over, or should be: runs, rollback."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import click

from selfdebug import config
from selfdebug.cli import options, output
from selfdebug.errors import ExitCode
from selfdebug.reports.documents import dumps
from selfdebug.terminal import one_line
from selfdebug.workspace import JournalRun, Recovery, Undo, Workspace


@click.command()
@options.root_option
@options.json_option
def runs(root: Path | None, as_json: bool) -> int:
    """List the runs of this project: when, how they ended, which files they changed. The newest comes last."""
    past = _workspace(root).history()
    if as_json:
        output.write(dumps({"runs": [asdict(run) for run in past]}))
    elif past:
        output.write("".join(f"{_line(run)}\n" for run in past))
    else:
        output.write("No run has changed a file of this project yet.\n")
    return 0


def _line(run: JournalRun) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
    files = ", ".join(map(one_line, run.files)) or "no file"
    return f"{run.run_id}  {when}  {run.status.value:11}  {files}"


@click.command()
@click.argument("run_id", required=False, metavar="[RUN]")
@options.root_option
@options.json_option
def rollback(run_id: str | None, root: Path | None, as_json: bool) -> int:
    """Undo a kept run, by default the last one; first finish the roll back of a run that was interrupted.

    Files that have been changed since are left as they are, and the saved copies are named.
    """
    workspace = _workspace(root)
    done: Recovery | Undo | None = workspace.recover()
    if done is None or run_id not in (None, done.run_id):
        if done is not None:
            output.say(done.sentence)
        done = workspace.undo(run_id)
    if as_json:
        output.write(dumps(asdict(done)))
    else:
        output.write(f"{one_line(done.sentence)}\n")
    return int(ExitCode.STILL_FAILING) if done.conflicts else 0


def _workspace(root: Path | None) -> Workspace:
    return Workspace.open(config.project_root(root))
