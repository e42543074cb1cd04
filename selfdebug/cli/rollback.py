"""`selfdebug rollback`: a run is undone, or an interrupted one brought to its end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from selfdebug import config
from selfdebug.cli import options, output
from selfdebug.errors import ExitCode
from selfdebug.reports.documents import dumps
from selfdebug.terminal import one_line
from selfdebug.workspace import Recovery, Undo, Workspace


@click.command()
@click.argument("run_id", required=False, metavar="[RUN]")
@options.root_option
@options.json_option
def rollback(run_id: str | None, root: Path | None, as_json: bool) -> int:
    """Undo a kept run, by default the last one; first finish the roll back of a run that was interrupted.

    Files that have been changed since are left as they are, and the saved copies are named.
    """
    workspace = Workspace.open(config.project_root(root))
    done: Recovery | Undo | None = workspace.recover()
    if done is None or run_id not in (None, done.run_id):
        if done is not None:
            output.say(done.sentence)
        done = workspace.undo(run_id)
    if as_json:
        output.write(dumps(asdict(done)))
    else:
        output.write_prose(one_line(done.sentence))
    return int(ExitCode.STILL_FAILING) if done.conflicts else 0
