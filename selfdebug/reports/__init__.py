"""Reports: one finished run, written for a person, a program, a reviewer or a patch tool.

Each file in `formats/` is one format, found by its name; nothing else has to be told of a new one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from selfdebug.errors import UsageError
from selfdebug.model import FinalStatus, Repair
from selfdebug.reports.base import Report, View

__all__ = ["failed_run", "find", "format_names", "format_of_file", "render"]


@cache
def format_names() -> tuple[str, ...]:
    """The names of the formats, `text` first; reading them imports no format."""
    folder = Path(__file__).parent / "formats"
    names = {file.stem for file in folder.glob("*.py") if not file.stem.startswith("_")}
    return ("text", *sorted(names - {"text"}))


def find(name: str) -> Report:
    """The format called `name`; raises UsageError when there is none."""
    if name not in format_names():
        raise UsageError(f'There is no report format "{name}"; known formats: {", ".join(format_names())}.')
    return cast(Report, import_module(f"selfdebug.reports.formats.{name}").REPORT)


def format_of_file(name: str) -> str | None:
    """The format that a file called `name` is in by its suffix; None where the suffix tells of none."""
    reports = map(find, format_names())
    return next((report.name for report in reports if name.lower().endswith(report.suffixes or ("\0",))), None)


def render(name: str, repair: Repair, view: View | None = None) -> bytes:
    """The run as a document of the format called `name`, encoded, with its final line end."""
    return find(name).render(repair, view or View())


def failed_run(exit_code: int, reason: str, sentence: str) -> Repair:
    """The record of a run that ended before there was anything to tell but why."""
    return Repair(run_id="", exit_code=exit_code, exit_reason=reason, final_status=FinalStatus.FAIL, sentence=sentence)
