"""`selfdebug trace NAME`: the eleven queries, each a command made from its one definition."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from selfdebug.cli import options, output
from selfdebug.cli.projects import project
from selfdebug.reports.documents import dumps
from selfdebug.trace.ask import ask
from selfdebug.trace.owner import Owner, owner_of
from selfdebug.trace.queries import QUERIES, Answer, Parameter, Query
from selfdebug.workspace.state import find_trace_dir

NOT_FOUND = 1
"""The exit code of a query whose answer is that the trace does not hold it."""

Command = TypeVar("Command", bound=Callable[..., Any])
session_option = click.option("--session", metavar="NAME", help="Whose runs. Default: SELFDEBUG_SESSION, else of none.")
run_option = click.option("--run", "run_id", metavar="RUN", help="A run. Default: the one that ended last.")


def state_of(root: Path | None) -> tuple[Path, Path]:
    """The root of the project and the folder of its traces. Raises UsageError for a root that is no folder."""
    folder = project(root)
    return folder, find_trace_dir(folder, os.environ)


def caller(session: str | None) -> Owner:
    """Who asks, by the option or the environment."""
    return owner_of(session, os.environ)


def show(answer: Answer, query: str, as_json: bool) -> int:
    """Write an answer to standard output and return the exit code."""
    if as_json:
        output.write(dumps(answer.document(query)))
    else:
        output.write_prose(answer.text())
    return 0 if answer.found else NOT_FOUND


class _Queries(options.Commands):
    """One command a query; a name may be written with dashes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(QUERIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        query = QUERIES.get(cmd_name.replace("-", "_"))
        return None if query is None else _command(query)


@click.group(cls=_Queries)
def trace() -> None:
    """Ask the trace of a run: read-only, bounded, by the ids of steps.

    Begin with run_overview; when a result looks wrong, go on with find_context_errors.
    """


def _command(query: Query) -> click.Command:
    def callback(root: Path | None, run_id: str | None, session: str | None, as_json: bool, **given: Any) -> int:
        _, folder = state_of(root)
        arguments = {name: value for name, value in given.items() if value is not None}
        return show(ask(folder, query.name, {**arguments, "run_id": run_id}, caller(session)), query.name, as_json)

    parameters = [_parameter(parameter) for parameter in query.parameters]
    command = click.Command(query.name, callback=callback, params=parameters, help=query.description)
    for option in (options.json_option, options.root_option, session_option, run_option):
        option(command)
    return command


def _parameter(parameter: Parameter) -> click.Parameter:
    if parameter.required:
        return click.Argument([parameter.name], metavar=parameter.name.upper())
    if parameter.type != "integer":
        return click.Option([f"--{parameter.name.replace('_', '-')}"], help=parameter.description)
    most = f", at most {parameter.maximum}" if parameter.maximum is not None else ""
    return click.Option(
        [f"--{parameter.name.replace('_', '-')}"],
        type=click.IntRange(min=parameter.minimum),
        help=f"{parameter.description} [{parameter.default}{most}]",
    )
