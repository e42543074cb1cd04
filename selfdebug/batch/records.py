"""The frozen records of a batch: what is to be repaired, what came out of each job, and what it adds up to.

Files are named relative to their project with POSIX slashes; durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from codemods.selfdebug.base import Edit
from selfdebug.config import Settings
from selfdebug.model import EditedFile, Failure


@dataclass(frozen=True, slots=True)
class Target:
    """A project to repair as reports name it, with the tests to begin with (none: all that fail).

    `failures` are those that a log names, in place of a run of the tests.
    """

    project: str
    settings: Settings
    failures: tuple[Failure, ...] | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index` of `count`, counted from 1, of all jobs."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Job:
    """One cause of failures in one project, repaired by itself. `id` is the same in every run over the same failures.

    `cause` says what fails where, as far as it is known.
    """

    id: str
    project: str
    node_ids: tuple[str, ...]
    cause: str


class JobState(StrEnum):
    """How a job ended: its tests pass, some still fail, or nobody knows."""

    REPAIRED = "repaired"
    NOT_REPAIRED = "not-repaired"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class FileChange:
    """The edits of one file, as byte ranges of the content that has this SHA-256, in order and apart."""

    file: str
    sha256: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of a job. `report` is the document of `selfdebug run --json`, None for a lost job.

    `still_failing` are the tests of the whole suite that fail with the job's patch on; `tries` counts the processes
    that were started for it.
    """

    job: Job
    state: JobState
    sentence: str
    seconds: float
    tries: int = 1
    changes: tuple[FileChange, ...] = ()
    still_failing: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two jobs that changed the same statement in different ways: the patch of one is in, that of the other is not."""

    file: str
    line: int
    kept: str
    left_out: str


@dataclass(frozen=True, slots=True)
class Check:
    """A run of the whole suite with all patches of a project together; `broken` are tests that only that breaks."""

    sentence: str
    broken: tuple[str, ...] = ()
    still_failing: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the patches go together."""
        return not self.broken


@dataclass(frozen=True, slots=True)
class ProjectResult:
    """The patches of one project as one.

    `check` is None where the combination was not run. `applied` says that the user's files hold it.
    """

    project: str
    files: tuple[EditedFile, ...]
    overlaps: tuple[Overlap, ...] = ()
    check: Check | None = None
    applied: str = ""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch, or several merged ones, came to. `planned` are the ids of all jobs, those of other shards too."""

    exit_code: int
    exit_reason: str
    sentence: str
    planned: tuple[str, ...]
    results: tuple[JobResult, ...]
    projects: tuple[ProjectResult, ...]
    shard: Shard | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
