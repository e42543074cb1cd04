"""The `selfdebug` command group and the list of its commands."""

from __future__ import annotations

import click

from selfdebug.cli import history, inspection, run, setup
from selfdebug.version import __version__


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 all pass, 1 still failing, 2 no frame inside the project, 3 internal error, 64 wrong usage, "
    "128 rolled back after all attempts, 130 interrupted.",
)
@click.version_option(__version__, message="selfdebug %(version)s")
def app() -> None:
    """Repair a failing pytest suite: find where a None came from, guard it, let the tests judge."""


for command in (run.run, *inspection.COMMANDS, *history.COMMANDS, *setup.COMMANDS):
    app.add_command(command)
