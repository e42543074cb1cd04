"""What a report format is: a name, a rendering, and examples that are tested and shown in the docs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from selfdebug.model import Repair

INFORMATION_URI = "https://github.com/selfdebug/selfdebug"


@dataclass(frozen=True, slots=True)
class View:
    """How a person looks at a report: in colour or not, how wide, and whether a command can still undo the run.

    `columns` is None where no terminal shows it: lines are then as long as what they say.
    """

    color: bool = False
    columns: int | None = None
    can_undo: bool = True


@dataclass(frozen=True, slots=True)
class Example:
    """A run of `selfdebug.reports.samples`, by name, and the document (or a part of it) that the format makes of it."""

    sample: str
    expected: str
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One format. `render` gives encoded bytes: a diff holds the bytes of the project's files, whatever they are.

    A file whose name ends in one of `suffixes` is taken to be of this format.
    """

    name: str
    summary: str
    render: Callable[[Repair, View], bytes]
    examples: tuple[Example, ...]
    suffixes: tuple[str, ...] = ()
