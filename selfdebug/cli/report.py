"""`selfdebug report`: a past run as a page."""

from __future__ import annotations

from pathlib import Path

import click

from selfdebug.cli import options, output
from selfdebug.cli.trace import caller, session_option, state_of


@click.command()
@click.argument("run_id", required=False, metavar="[RUN]")
@click.option(
    "--html",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the page goes. Default: standard output.",
)
@options.root_option
@session_option
def report(run_id: str | None, file: Path | None, root: Path | None, session: str | None) -> int:
    """Write a run, by default the one that ended last, as one self-contained HTML page.

    It shows the failure with its values, the way of the value as a picture, what was tried, the patch side by side,
    what no test pins, where the time went, and the recorded steps with a search.
    """
    from selfdebug.explain.run_page import run_page

    _, state = state_of(root)
    output.write_to(file, run_page(state, caller(session), run_id))
    if file is not None:
        output.say(f"Wrote {file}.")
    return 0
