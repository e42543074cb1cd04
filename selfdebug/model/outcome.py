"""What a whole command comes to, and the signs of life that it gives on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from selfdebug.model.attempts import Attempt
from selfdebug.model.candidates import Patch
from selfdebug.model.diagnosis import Diagnosis
from selfdebug.model.failures import Failure
from selfdebug.model.pytest_runs import PytestRun


class FinalStatus(StrEnum):
    """How the failing tests stand at the end."""

    PASS = "pass"
    FAIL = "fail"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that was edited, or would be: its bytes before and after."""

    file: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything a report needs to know of one run.

    `diffs` are the patched (or, on a dry run or a roll back, the proposed) files;
    `files_patched` are the files that the run really left changed. `backup` names what can bring the best attempt or
    the state before back: a stash entry or a file.
    """

    run_id: str
    exit_code: int
    exit_reason: str
    final_status: FinalStatus
    sentence: str
    failures: tuple[Failure, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    files_patched: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    diffs: tuple[EditedFile, ...] = ()
    rollback: bool = False
    dry_run: bool = False
    backup: tuple[str, ...] = ()
    pytest_exit_code: int | None = None
    runs: tuple[PytestRun, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What `selfdebug probe` saw at the failing statement; nothing was changed."""

    run_id: str
    exit_code: int
    exit_reason: str
    sentence: str
    failures: tuple[Failure, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """A sign of life from a long run: `done` of `total` where both are known."""

    stage: str
    message: str
    done: int | None = None
    total: int | None = None
