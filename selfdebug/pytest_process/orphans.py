"""Ends the daemons of test runs that nothing identifies any more: another session, no environment, no parent.

On Linux, descendants whose own parents have ended can be made to fall to this process (PR_SET_CHILD_SUBREAPER of
prctl(2)) instead of init. A child of ours that we have not started, in a session that is not ours, is then one of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37  # of <linux/prctl.h>
_TASKS = Path("/proc/self/task")
_KNOWS_CHILDREN = Path("/proc/thread-self/children").exists()  # not every kernel has such lists
_SECONDS = 2.0
Child = TypeVar("Child", bound=subprocess.Popen[bytes])


class _Adoption:
    """What this process knows: whether it adopts, and which of the children it has started are runs of their own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_on = False
        self.servers: set[int] = set()
        self.runs: set[int] = set()


_adoption = _Adoption()


@contextmanager
def adopting() -> Iterator[None]:
    """Let daemons of test runs become children of this process meanwhile, and end with the run that they come from.

    This is for a program that is ours: a child in a new session which other code starts at that time would be ended as
    well. So it does nothing in a thread beside the main one, inside of itself, and on systems other than Linux.
    """
    is_ours = not _adoption.is_on and threading.current_thread() is threading.main_thread()
    before = _subreaper(1) if is_ours else None
    _adoption.is_on = _adoption.is_on or before is not None
    try:
        yield
    finally:
        if before is not None:
            _adoption.is_on = False
            _subreaper(before)


def start(popen: Callable[[], Child], is_server: bool = False) -> Child:
    """Start a child of our own; a server is one that runs beside others, and adopts what its children leave."""
    with _adoption.lock:  # so that it is known as soon as it is there
        child = popen()
        (_adoption.servers if is_server else _adoption.runs).add(child.pid)
    return child


def finish(pid: int) -> None:
    """Tell that such a child has ended; the last of several runs takes with it what was adopted meanwhile."""
    with _adoption.lock:
        _adoption.servers.discard(pid)
        if pid in _adoption.runs:
            _adoption.runs.discard(pid)
            if _adoption.is_on and not _adoption.runs:
                _end_adopted()


def nothing_is_left() -> bool:
    """Whether children of our own that have ended surely left no process: each would have fallen to this one."""
    with _adoption.lock:
        return _adoption.is_on and _KNOWS_CHILDREN and not _adopted()


def _subreaper(value: int) -> int | None:
    """Set whether this process adopts; return what it was before, None where that cannot be set."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        prctl = ctypes.CDLL(None, use_errno=True).prctl
        before = ctypes.c_int()
        is_done = prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0) == 0
        return before.value if is_done and prctl(_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0 else None
    except (ImportError, OSError, AttributeError):
        return None


def _end_adopted() -> None:
    """Kill them, and what falls to us by that, until there are none."""
    deadline = time.monotonic() + _SECONDS
    while (adopted := _adopted()) and time.monotonic() < deadline:
        for pid in adopted:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)


def _adopted() -> set[int]:
    """The children of this process that it has not started, and that are not in its session."""
    ours, found = os.getsid(0), set()
    for pid in _children() - _adoption.servers - _adoption.runs:
        with suppress(ProcessLookupError):
            if os.getsid(pid) != ours:
                found.add(pid)
    return found


def _children() -> set[int]:
    found: set[int] = set()
    for task in _TASKS.iterdir():  # a thread has children of its own
        with suppress(OSError):  # it has ended, or the kernel has no such list
            found.update(map(int, (task / "children").read_text().split()))
    return found
