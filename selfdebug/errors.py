"""The exit codes of the command line and the errors that carry them, each with one sentence for a person."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process returns; the table is part of the public contract."""

    PASS = 0
    STILL_FAILING = 1
    NO_PROJECT_FRAME = 2
    INTERNAL = 3
    USAGE = 64
    ROLLED_BACK = 128
    INTERRUPTED = 130


class SelfdebugError(Exception):
    """An expected end of a run: `str(error)` says what is wrong and what to do; `reason` is its machine name."""

    exit_code: ExitCode = ExitCode.INTERNAL
    reason: str = "internal-error"


class UsageError(SelfdebugError):
    """An option, a path or a setting that cannot be used as given."""

    exit_code = ExitCode.USAGE
    reason = "usage"


class InputError(UsageError):
    """A log or a file that cannot be read or does not belong to this project."""

    reason = "bad-input"


class EnvironmentUnusableError(UsageError):
    """The chosen interpreter cannot run the tests (not found, no pytest in it, too old)."""

    reason = "environment"


class PytestRunError(SelfdebugError):
    """pytest was started and gave no result that can be used (time-out, no handshake, killed, usage error)."""

    exit_code = ExitCode.STILL_FAILING
    reason = "pytest"

    def __init__(self, message: str, reason: str = "pytest") -> None:
        super().__init__(message)
        self.reason = reason


class WorkspaceError(SelfdebugError):
    """A project file or the saved state could not be read, written or restored."""

    reason = "workspace"


class LockedError(UsageError):
    """Another run holds the project."""

    reason = "locked"
