"""The command line: options become Settings, records become reports, every end becomes an exit code.

`main` is the only place of the package that catches everything.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from selfdebug.cli import output
from selfdebug.cli.app import app
from selfdebug.errors import ExitCode, SelfdebugError
from selfdebug.version import __version__

ISSUES = "https://github.com/selfdebug/selfdebug/issues"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with the exit code of DESIGN section 3."""
    output.replace_closed()
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = invoke(given)
    output.close()
    sys.exit(code)


def invoke(arguments: list[str]) -> int:
    """Run one command and return its exit code; whatever goes wrong ends here as one sentence on standard error."""
    try:
        return int(app.main(args=arguments, prog_name="selfdebug", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort) as error:
        _show_notes(error)
        code, reason, sentence = ExitCode.INTERRUPTED, "interrupted", "Interrupted."
    except click.ClickException as error:
        code, reason, sentence = ExitCode.USAGE, "usage", _usage_sentence(error)
    except SelfdebugError as error:
        _show_notes(error)
        _show_traceback()
        code, reason, sentence = error.exit_code, error.reason, str(error)
    except Exception as error:  # noqa: BLE001 - the last resort of the process: nothing may end as a bare traceback
        _show_traceback()
        code, reason, sentence = ExitCode.INTERNAL, "internal-error", _internal_sentence(error)
    return output.fail(arguments, code, reason, sentence)


def _usage_sentence(error: click.ClickException) -> str:
    """click's own message on one line, and where to read on when it knows the command that was misused."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" Try '{context.command_path} --help'." if context is not None else ""
    said = " ".join(error.format_message().split())
    return said + ("" if said.endswith((".", "?)")) else ".") + hint


def _internal_sentence(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    again = "" if _wants_traceback() else " with the output of the same command under SELFDEBUG_DEBUG=1"
    return f"Internal error in selfdebug {__version__}: {said}. Please report it at {ISSUES}{again}."


def _show_notes(error: BaseException) -> None:
    """What else the user has to know, such as that an interrupted run was put back first."""
    for note in getattr(error, "__notes__", ()):
        output.say(note)


def _wants_traceback() -> bool:
    return os.environ.get("SELFDEBUG_DEBUG", "") not in ("", "0")


def _show_traceback() -> None:
    if _wants_traceback():
        traceback.print_exc()
