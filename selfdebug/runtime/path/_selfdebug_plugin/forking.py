"""Whether a process may be forked, and whether what its child did can have been seen by the next one.

A child has copies of everything in memory. What it shares with its siblings are open files and sockets, and what it
changes on disk outside the folder that is cleared after it.
"""

from __future__ import annotations

import gc
import os
import stat
import sys
import threading
from typing import Any

_FROZEN = gc.get_freeze_count()  # by the interpreter itself, as Python 3.12 does, before any code of the project runs
# All bound here, because tests replace them.
_abspath, _join, _readlink, _getcwd, _fsdecode = os.path.abspath, os.path.join, os.readlink, os.getcwd, os.fsdecode
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STARTS = frozenset(
    {"os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "pty.spawn"}
)
# Where the paths of an event are, and for each of them where the descriptor of the folder is that it is relative to.
_CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "sqlite3.connect": ((0, None),),
}


def open_descriptors() -> frozenset[int]:
    """The descriptors of this process."""
    return frozenset(int(name) for name in os.listdir("/proc/self/fd"))


def why_not_fork(known: frozenset[int], temporary: str) -> str | None:
    """What speaks against forking this process now, or None.

    `known` are the descriptors that were open before any code of the project ran, `temporary` is the folder for
    temporary files, which was empty then.
    """
    if threading.active_count() > 1:
        return "threads are running"
    if gc.get_freeze_count() > _FROZEN:
        return "the collector of garbage does not show all objects"
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    if running is not None and running() is not None:
        return "an event loop is running"
    if os.listdir(temporary):
        return "temporary files were made before the first test"
    if _has_children():
        return "processes were started before the first test"
    return _shared_file(known)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _shared_file(known: frozenset[int]) -> str | None:
    for descriptor in open_descriptors() - known:
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:  # the one that listed them
            continue
        if stat.S_ISSOCK(mode):
            return "a socket is open"
        if stat.S_ISREG(mode) and _is_written(descriptor):
            return "a file is open for writing"
    return None


def _is_written(descriptor: int) -> bool:
    import fcntl

    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR))


class Footprints:
    """Notes what this process changes outside `private`, the folder that is cleared after it, or lets others change.

    `first` is a word on the first such thing, and None as long as there is none.
    """

    def __init__(self, private: str) -> None:
        self.first: str | None = None
        self._private = (_abspath(private) + os.sep, "/dev/null", "/dev/tty", "/proc/")

    def watch(self) -> None:
        """Begin; there is no way to end it but the end of the process."""
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.first is not None:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITES:
                self._check(event, path, None)
        elif event in _STARTS:
            self.first = event
        elif event == "socket.bind":
            self._check_address(arguments[1])
        elif event in _CHANGES:
            for place, folder in _CHANGES[event]:
                self._check(event, arguments[place], None if folder is None else arguments[folder])

    def _check_address(self, address: Any) -> None:
        if isinstance(address, (str, bytes)):
            self._check("socket.bind", address, None)
        elif not (isinstance(address, tuple) and len(address) > 1 and address[1] == 0):
            self.first = "socket.bind"  # another run cannot have that port at the same time

    def _check(self, event: str, path: Any, folder: Any) -> None:
        if isinstance(path, int) or (event == "sqlite3.connect" and _is_in_memory(path)):
            return
        try:
            base = _getcwd() if folder in (None, -1) else _readlink("/proc/self/fd/" + str(folder))
            place = _abspath(_join(base, _fsdecode(path)))
        except (OSError, TypeError, ValueError):
            self.first = event
            return
        if not place.startswith(self._private):
            self.first = event + " " + place


def _is_in_memory(database: Any) -> bool:
    """Whether sqlite keeps the database in this process, by its name or by the URI with which Django's tests ask."""
    is_uri = isinstance(database, str) and database.startswith("file:") and "mode=memory" in database
    return is_uri or database in (":memory:", b":memory:", "")
