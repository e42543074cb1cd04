"""What a job's process is asked to do, and what it answers. Both are pickled: they cross processes and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfdebug.batch.records import FileChange
from selfdebug.config import Settings
from selfdebug.model import Outcome


@dataclass(frozen=True, slots=True)
class FindCauses:
    """Run the tests and group what fails by its cause."""


@dataclass(frozen=True, slots=True)
class RepairTests:
    """Repair the tests that the settings name.

    `known` are the outcomes of tests in the frozen tree, so that a job need not find out again which ones fail in it.
    """

    known: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class RunSuite:
    """Run the whole suite with other contents of some files."""

    changed: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Order:
    """One task in a copy, called `name`, of the project that is frozen in `folder`.

    The settings are those of the original; their root is replaced by the copy. `sources` are folders, relative to the
    top of the copied tree, that modules are to be imported from rather than from where the original is installed.
    """

    folder: Path
    name: str
    settings: Settings
    sources: tuple[str, ...]
    task: FindCauses | RepairTests | RunSuite


@dataclass(frozen=True, slots=True)
class Cause:
    """Tests that fail for one reason; no node ids stands for all tests of the project."""

    node_ids: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Causes:
    """The causes of the failures, or the one sentence that says why there are none to repair.

    `outcomes` are those of the tests that were run, `nothing_failed` says that this is as it should be.
    """

    causes: tuple[Cause, ...]
    outcomes: Mapping[str, Outcome]
    sentence: str = ""
    nothing_failed: bool = False


@dataclass(frozen=True, slots=True)
class Repaired:
    """The document of the run, the edits that it kept, the former bytes of those files, and what fails with them."""

    report: Mapping[str, Any]
    changes: tuple[FileChange, ...]
    originals: Mapping[str, bytes]
    still_failing: tuple[str, ...]
    is_passing: bool


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """The tests that failed in a run of the whole suite; `sentence` says why, where it proves nothing."""

    failed: tuple[str, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The task could not be begun or ended; `sentence` is what `selfdebug run` would have said."""

    sentence: str


Answer = Causes | Repaired | SuiteRun | Refused


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came, however often the process was started; `sentence` says how it ended last."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, the seconds that it took, and the number of processes that were started for it."""

    answer: Answer | Lost
    seconds: float
    tries: int
