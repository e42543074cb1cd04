"""The `selfdebug` command group: a table of its commands, each imported only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import click

from selfdebug.version import __version__

COMMANDS = {
    "run": ("run", "run", "Repair the failing tests of a project."),
    "batch": ("batch", "batch", "Repair many failures or projects at once."),
    "merge": ("batch", "merge", "Put the reports of several batches together."),
    "ci": ("ci", "ci", "Run on a build machine, and report for its server."),
    "failures": ("inspection", "failures", "Show what a captured log says."),
    "probe": ("inspection", "probe", "Show the values in the failing statement."),
    "why": ("why", "why", "Show where a value of a failing test came from."),
    "diff": ("inspection", "diff", "Show the patch that run would make."),
    "guard": ("guard", "guard", "Find values that may be None before they fail."),
    "explain": ("explain", "explain", "Tell why a run did what it did."),
    "report": ("report", "report", "Write a past run as a page for a browser."),
    "trace": ("trace", "trace", "Ask the trace of a run."),
    "runs": ("past_runs", "runs", "List, prune, export, import past runs."),
    "skill": ("agents", "skill_group", "Show or install the skill for agents."),
    "mcp": ("agents", "mcp", "Serve an agent over MCP."),
    "rollback": ("rollback", "rollback", "Undo a run."),
    "doctor": ("setup", "doctor", "Check what a run needs."),
    "demo": ("setup", "demo", "Repair a tiny project before your eyes."),
    "init": ("setup", "init", "Let libcst's own front end find the guards."),
    "schema": ("setup", "schema", "Print the JSON Schema of run or batch --json."),
}
"""The module and the function of each command, and what the overview says of it, in the order of the overview."""


EPILOG = """\b
Exit codes of run:
  0    all tests pass, or nothing failed
  1    still failing, nothing kept
  2    no frame of the failure lies inside the project
  3    internal error, rolled back
  64   wrong usage: an option, a path, a setting, the interpreter
  128  rolled back after all attempts
  130  interrupted, rolled back
"""


class LazyGroup(click.Group):
    """A group that knows its commands by name: the overview, the version and a typing error import none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None when there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        return cast(click.Command, getattr(import_module(f"selfdebug.cli.{module}"), function))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(__version__, message="selfdebug %(version)s")
def app() -> None:
    """Repair a failing pytest suite: find where a None came from, guard it, let the tests judge."""
