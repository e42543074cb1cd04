"""One run a project: an advisory lock that the system drops with its owner, and a note of who the owner is.

The lock is `flock` on a file of the state folder, so a killed owner leaves nothing to clean up. File systems without
it fall back to the note alone: its owner is alive or it is taken over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from selfdebug.errors import LockedError
from selfdebug.workspace.folder import Folder
from selfdebug.workspace.records import Owner

LOCK_NAME = "lock"
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL})


@contextmanager
def held(folder: Folder, run_id: str) -> Iterator[Owner | None]:
    """Hold the lock in the state folder; yields the dead owner that it was taken over from, if any.

    Raises LockedError that names the living owner.
    """
    fd = folder.open_lock(LOCK_NAME)
    try:
        former = _take(fd)
        owner = Owner(os.getpid(), socket.gethostname(), time.time(), run_id)
        _note(fd, json.dumps({name: getattr(owner, name) for name in Owner.__slots__}).encode())
        try:
            yield former
        finally:
            _note(fd, b"")
    finally:
        os.close(fd)


def _take(fd: int) -> Owner | None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LockedError(_sentence(_owner(fd))) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        owner = _owner(fd)
        if owner is not None and is_alive(owner):
            raise LockedError(_sentence(owner)) from error
    return _owner(fd)


def is_alive(owner: Owner) -> bool:
    """Whether the process that wrote the note may still run; on another machine nobody can tell, so it may."""
    if owner.host != socket.gethostname():
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _owner(fd: int) -> Owner | None:
    note = os.pread(fd, 4096, 0)
    if not note:
        return None
    try:
        values = json.loads(note)
        return Owner(int(values["pid"]), str(values["host"]), float(values["started"]), str(values["run_id"]))
    except (ValueError, KeyError, TypeError):
        return None


def _note(fd: int, text: bytes) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, text, 0)


def _sentence(owner: Owner | None) -> str:
    if owner is None:
        return "Another selfdebug run is using this project; wait for it to end."
    since = datetime.fromtimestamp(owner.started).astimezone().isoformat(timespec="seconds")
    return (
        f"Another selfdebug run ({owner.run_id}) is using this project: "
        f"process {owner.pid} on {owner.host}, since {since}. Wait for it to end or stop it."
    )
