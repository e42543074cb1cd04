"""Git references that are moved by a run, and the locks on them that a killed one leaves behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from selfdebug.workspace.conversion import common_folder
from selfdebug.workspace.durable import announce
from selfdebug.workspace.errors import ReferenceLockedError
from selfdebug.workspace.folder import sync_all
from selfdebug.workspace.objects import ADDRESS

if TYPE_CHECKING:
    import pygit2

REFERENCE_FOLDER = "refs/selfdebug/"
STASH = "refs/stash"
_TRIES, _PAUSE = 5, 0.05  # another git command holds a reference for milliseconds
_STALE = 5.0  # seconds after which a lock on a reference belongs to nobody who is alive
_SHA1_DIGITS = 40


def point(repository: pygit2.Repository, reference: str, commit: pygit2.Oid, message: str) -> None:
    """Make or move a reference, durably.

    Raises ReferenceLockedError where another program has it locked, and what libgit2 and the disk raise.
    """

    def move() -> None:
        repository.create_reference(reference, commit, force=True, message=message)

    announce("ref", reference)
    _insist(repository, reference, move)
    sync_all(f"{common_folder(repository)}/refs", [reference.removeprefix("refs/")])


def drop(repository: pygit2.Repository, reference: str) -> None:
    """Delete a reference; one that is not there is no error. Raises as `point` does."""
    import pygit2

    found = repository.references.get(reference)
    if found is None:
        return
    # An opened repository forgets a packed reference that it failed to delete: another try with it does nothing.
    opened = chain([found], (pygit2.Repository(repository.path).references[reference] for _ in count()))

    def remove() -> None:
        next(opened).delete()

    announce("unref", reference)
    _insist(repository, reference, remove)


def _insist(repository: pygit2.Repository, reference: str, change: Callable[[], object]) -> None:
    """Change a reference, and try again while another program has it locked."""
    import pygit2

    for remaining in reversed(range(_TRIES)):
        try:
            change()
        except (OSError, pygit2.GitError) as error:
            clear_lock(repository, reference)
            if not remaining:
                raise _blocked(repository, reference, error) from error
            time.sleep(_PAUSE)
        else:
            return


def clear_lock(repository: pygit2.Repository, reference: str) -> None:
    """Remove the lock that a killed run left on a reference: one of ours by its name or by the commit in it."""
    place = _lock_of(repository, reference)
    if not os.path.exists(place):  # noqa: PTH110 - there nearly never is one, and a path object takes longer
        return
    lock = Path(place)
    try:
        is_old = time.time() - lock.stat().st_mtime > _STALE
        is_own = reference.startswith(REFERENCE_FOLDER)
        if is_old and (is_own or _is_ours(repository, lock.read_text("ascii").strip())):
            announce("unlink", lock.name)
            lock.unlink()
    except (OSError, ValueError):
        return  # gone, or not to be told: it stays, and whoever needs the reference is told of it


def ensure_log(repository: pygit2.Repository, reference: str) -> None:
    """Make the log of a reference: `git stash list` reads it, and libgit2 writes one only where it exists."""
    log = common_folder(repository) / "logs" / reference
    announce("create", reference)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()


def _lock_of(repository: pygit2.Repository, reference: str) -> str:
    return f"{common_folder(repository)}/{reference}.lock"


def _is_ours(repository: pygit2.Repository, commit: str) -> bool:
    import pygit2

    found = repository.get(commit) if len(commit) == _SHA1_DIGITS else None
    return isinstance(found, pygit2.Commit) and found.author.email == ADDRESS


def _blocked(repository: pygit2.Repository, reference: str, error: Exception) -> Exception:
    for lock in (_lock_of(repository, reference), _lock_of(repository, "packed-refs")):
        if Path(lock).exists():
            return ReferenceLockedError(f"{lock} is in the way; remove it when no git command is running")
    return error
