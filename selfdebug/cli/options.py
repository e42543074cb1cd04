"""The options that several commands share, and how the given ones become Settings."""

from __future__ import annotations

import io
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from selfdebug import config
from selfdebug.config import Settings
from selfdebug.errors import InputError, UsageError
from selfdebug.model import Progress
from selfdebug.terminal import STAGE_INTERVAL

if TYPE_CHECKING:
    from typing_extensions import Buffer

Command = TypeVar("Command", bound=Callable[..., Any])
_MEGABYTE = 1_000_000
_BLOCK = 1 << 20
_WHOLE = 1000
"""Characters that no first sentence of a help has."""


class Commands(click.Group):
    """A group whose help tells the whole first sentence of each command; click cuts it off at the end of the line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands and their sentences, broken where the terminal ends."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in commands if command is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _path(**kwargs: Any) -> click.Path:
    return click.Path(path_type=Path, **kwargs)


def _stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def format_option(names: Sequence[str]) -> Callable[[Command], Command]:
    """`--format` with these names, text by default."""
    return click.option(
        "--format",
        "format_name",
        type=click.Choice(names),
        default="text",
        show_default=True,
        help="What to write to standard output.",
    )


log_argument = click.argument("log", required=False, metavar="[LOG]")
json_option = click.option("--json", "as_json", is_flag=True, help="Write one JSON document to standard output.")
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the text; NO_COLOR and FORCE_COLOR are honoured under auto.",
)
root_option = click.option(
    "--root",
    type=_path(),
    metavar="DIR",
    help="The project. Default: the nearest folder upwards with a pyproject.toml, setup.cfg, setup.py or .git.",
)
config_option = click.option(
    "--config",
    "config_file",
    type=_path(),
    metavar="FILE",
    help="A TOML file with [tool.selfdebug]. Default: pyproject.toml.",
)
project_options = _stack(root_option, config_option)
log_root_option = click.option(
    "--log-root", metavar="PATH", help="The project root as the log writes it, on whatever machine."
)
python_option = click.option(
    "--python",
    metavar="PATH",
    help="The interpreter of the project under test. Default: the active virtual environment, else our own.",
)
_pytest_args = click.option(
    "--pytest-args", metavar="ARGS", help='More arguments for every pytest run, in one string: "-k cart".'
)
_timeout = click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each pytest run [600]."
)
_memory_limit = click.option(
    "--memory-limit",
    type=click.IntRange(min=1),
    metavar="MB",
    help="For each process of a pytest run, on Linux. Default: no limit.",
)
interpreter_options = _stack(python_option, _pytest_args, _timeout, _memory_limit)
pytest_options = _stack(
    click.option(
        "--module",
        "node_ids",
        multiple=True,
        metavar="NODEID",
        help="A test, file or folder, as pytest names it; repeatable. Default: all that fail.",
    ),
    interpreter_options,
    log_root_option,
)
_max_attempts = click.option(
    "--max-attempts", type=click.IntRange(min=1), metavar="N", help="Turns of the loop that may keep nothing [4]."
)
_max_candidates = click.option(
    "--max-candidates", type=click.IntRange(min=1), metavar="N", help="Candidates to judge in a turn [200]."
)
_keep_partial = click.option(
    "--keep-partial",
    is_flag=True,
    default=None,
    help="Keep fixes that helped one test, also when others still fail.",
)
_include_tests = click.option(
    "--include-tests", is_flag=True, default=None, help="Allow patches to test files and conftest.py."
)
judging_options = _stack(_max_attempts, _max_candidates, _keep_partial, _include_tests)
ask_option = click.option("--ask", is_flag=True, help="Show each plausible patch on the terminal and let me choose.")
repair_options = _stack(
    _max_attempts,
    _max_candidates,
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Trials at a time [half of the cores, at most 4]."
    ),
    click.option("--dry-run", is_flag=True, default=None, help="Show the diff and write nothing."),
    _keep_partial,
    _include_tests,
    click.option(
        "--backup-dir",
        type=_path(),
        metavar="DIR",
        help="Where backup copies go outside git. Default: a folder of the system's temporary folder.",
    ),
    click.option("--session", metavar="NAME", help="The conversation or caller that this run belongs to."),
)


def settings(root: Path | None, config_file: Path | None, given: dict[str, Any]) -> Settings:
    """Options as click parsed them, over `[tool.selfdebug]`, as Settings; relative paths count from here."""
    options = dict(given)
    options["node_ids"] = tuple(given.get("node_ids") or ())
    if given.get("pytest_args") is not None:
        try:
            options["pytest_args"] = tuple(shlex.split(given["pytest_args"]))
        except ValueError as error:
            raise UsageError(f"--pytest-args cannot be split into arguments: {error}.") from error
    options["python"] = interpreter(given.get("python"))
    if given.get("backup_dir") is not None:
        options["backup_dir"] = given["backup_dir"].expanduser().absolute()
    return config.load(root, config_file, options)


def chosen_format(as_json: bool, format_name: str) -> str:
    """The format that `--json` and `--format` ask for together. Raises UsageError where they contradict each other."""
    if as_json and format_name not in ("text", "json"):
        raise UsageError(f"--json and --format {format_name} contradict each other.")
    return "json" if as_json else format_name


def interpreter(given: str | None) -> Path | None:
    """The interpreter that `--python` names: a path from here, or the bare name of a command, which stays as it is."""
    if given is None:
        return None
    path = Path(given).expanduser()
    return path if path.name == given and not path.exists() else path.absolute()


def read_log(log: str | None) -> bytes | None:
    """The captured output that LOG names: a file, `-` for standard input, None when no log was given.

    Raises InputError with the system's reason when it cannot be read.
    """
    if log is None:
        return None
    with opened_log(log, lambda _event: None) as file:
        return file.read()


class _ShownFile(io.RawIOBase):
    """A file that tells how much of it has been read, of `total` bytes where that is known."""

    def __init__(self, file: BinaryIO, total: int | None, show: Callable[[Progress], None]) -> None:
        self._file, self._show = file, show
        self._read, self._began = 0, time.monotonic()
        self._total = total // _MEGABYTE if total else None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Read the next bytes."""
        view = memoryview(buffer)
        data = self._file.read(len(view))
        view[: len(data)] = data
        self._read += len(data)
        if time.monotonic() - self._began > STAGE_INTERVAL:  # most logs are read in less
            self._show(Progress("read", "MB of the log", self._read // _MEGABYTE, self._total))
        return len(data)


@contextmanager
def opened_log(log: str, show: Callable[[Progress], None]) -> Iterator[io.BufferedReader]:
    """The captured output that LOG names, to be read block by block: a file, or `-` for standard input.

    `show` is told how far it has been read. Raises InputError with the system's reason when it cannot be read.
    """
    try:
        if log == "-":
            yield io.BufferedReader(_ShownFile(sys.stdin.buffer, None, show), _BLOCK)
        else:
            with Path(log).open("rb") as file:
                yield io.BufferedReader(_ShownFile(file, Path(log).stat().st_size, show), _BLOCK)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"Cannot read the log {log}: {reason}.") from error
