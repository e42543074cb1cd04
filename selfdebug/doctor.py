"""What a run needs of this machine and this project, checked one by one; nothing is changed."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from selfdebug import config
from selfdebug.config import Settings
from selfdebug.errors import EnvironmentUnusableError, LockedError, SelfdebugError, UsageError, WorkspaceError
from selfdebug.pytest_process import Interpreter
from selfdebug.terminal import counted
from selfdebug.version import __version__
from selfdebug.workspace import RunStatus, Workspace
from selfdebug.workspace.errors import GitRefusedError
from selfdebug.workspace.repository import GitStore

LIBRARIES = ("libcst", "click", "pygit2", "pytest")
EXTRAS = ("rich",)


class Status(StrEnum):
    """How a check ended: a WARN costs comfort, a FAIL prevents a run."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, and one sentence about it."""

    name: str
    status: Status
    sentence: str


def examine(root: Path | None, config_file: Path | None, python: Path | None) -> tuple[Check, ...]:
    """All checks in their order; those that need a project or settings are left out where there are none."""
    checks = [_own_version(), *_libraries()]
    try:
        settings = config.load(root, config_file, {"python": python})
    except UsageError as error:
        return (*checks, Check("settings", Status.FAIL, str(error)))
    checks.append(Check("settings", Status.OK, f"project root {settings.root}"))
    return (*checks, _interpreter(settings), *_project(settings), _temporary_folder())


def _own_version() -> Check:
    sentence = (
        f"selfdebug {__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    if sys.platform == "win32":
        return Check("selfdebug", Status.WARN, f"{sentence}; Windows is not tested")
    return Check("selfdebug", Status.OK, sentence)


def _libraries() -> Iterator[Check]:
    found = {name: _version(name) for name in LIBRARIES}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        yield Check("libraries", Status.FAIL, f"not installed beside selfdebug: {', '.join(missing)}")
    else:
        yield Check("libraries", Status.OK, ", ".join(f"{name} {number}" for name, number in found.items()))
    for name in EXTRAS:
        number = _version(name)
        sentence = f"{name} {number}" if number else f"{name} is not installed; without it the output is plainer"
        yield Check("extras", Status.OK, sentence)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _interpreter(settings: Settings) -> Check:
    try:
        found = Interpreter.find(settings.python)
    except EnvironmentUnusableError as error:
        return Check("interpreter", Status.FAIL, str(error))
    sentence = f"the tests run in {found.path} (Python {found.version}, pytest {found.pytest_version})"
    return Check("interpreter", Status.OK, sentence)


def _project(settings: Settings) -> Iterator[Check]:
    try:
        workspace = Workspace.open(settings.root, settings.backup_dir)
    except SelfdebugError as error:
        yield Check("project", Status.FAIL, str(error))
        return
    yield _writable(settings.root)
    yield _git(workspace.root)
    yield _lock(workspace)
    yield _journal(workspace)


def _writable(root: Path) -> Check:
    if os.access(root, os.W_OK | os.X_OK):
        return Check("project", Status.OK, f"{root} can be written")
    return Check("project", Status.FAIL, f"{root} cannot be written by this user, only --dry-run will work")


def _git(root: Path) -> Check:
    try:
        GitStore.open(root)
    except GitRefusedError as refusal:
        return Check(
            "git", Status.WARN, f"git does not hold this project ({refusal}); copies of files are kept instead"
        )
    return Check("git", Status.OK, "the state before a run is saved in this repository, failed attempts in its stash")


def _lock(workspace: Workspace) -> Check:
    if not workspace.state_dir.is_dir():
        return Check("lock", Status.OK, "no run has used this project yet")
    try:
        with workspace.lock("doctor"):
            return Check("lock", Status.OK, "no other run is using this project")
    except LockedError as error:
        return Check("lock", Status.WARN, str(error))
    except WorkspaceError as error:
        return Check("lock", Status.FAIL, str(error))


def _journal(workspace: Workspace) -> Check:
    try:
        runs = workspace.history()
    except WorkspaceError as error:
        return Check("journal", Status.FAIL, str(error))
    unfinished = [run.run_id for run in runs if run.status in (RunStatus.OPEN, RunStatus.UNDOING)]
    if unfinished:
        sentence = f"run {unfinished[-1]} is going on or was interrupted; selfdebug rollback puts its files back"
        return Check("journal", Status.WARN, sentence)
    return Check("journal", Status.OK, f"{counted(len(runs), 'past run')}, none unfinished")


def _temporary_folder() -> Check:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"selfdebug")
    except OSError as error:
        return Check("temporary folder", Status.FAIL, f"nothing can be written there: {error.strerror or error}")
    return Check("temporary folder", Status.OK, tempfile.gettempdir())
