"""Makes a pytest process a server that forks a child for each job: messages, forks, and the end of all that they start.

Messages are JSON lines on a socket, whose descriptor is given. From here, once:
  {"kind": "ready"} or {"kind": "refused", "reason": ...}
then, for each job that comes:
  {"kind": "done", "problem": null or why the records must not be used, "odd": whether the child ended as none should}
A job is {"records": path, "sources": {path: path of the content}, "timeout": seconds} and what a kind of server adds.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
import warnings
from contextlib import suppress
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

Message = Dict[str, Any]
End = Tuple[Optional[str], bool]
"""Why the records of a child must not be used (None: they may), and whether it ended as no run of tests should."""

FINE, UNFIT, CUT, SPREAD = 0, 97, 98, 99
"""How a child ends: its result counts, must not be used, is not there, would come from other processes."""
DISTRIBUTED = "the tests are distributed by xdist"
_PROBLEMS: dict[int, str | None] = {
    FINE: None,
    UNFIT: "the tests left traces outside their process",
    SPREAD: DISTRIBUTED,
}
_ORPHAN_SECONDS = 1.0
_KILL_SECONDS = 5.0
# Bound here, because code of the project may replace them.
_now, _sleep, _poll, _READABLE = time.monotonic, time.sleep, select.poll, select.POLLIN


class Server:
    """The socket, and the children that are forked for what comes there."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor
        self._adopts = _adopt_orphans()

    def refuse(self, reason: str) -> None:
        """Say that no job will be done."""
        self._send({"kind": "refused", "reason": reason})

    def jobs(self) -> Iterator[Message]:
        """Say that this is ready; then the jobs, each of which has to be answered, until nobody asks any more."""
        self._send({"kind": "ready"})
        waiting = b""
        while True:
            line, separator, rest = waiting.partition(b"\n")
            if separator:
                waiting = rest
                yield json.loads(line)
                continue
            try:
                data = os.read(self.descriptor, 65_536)
            except OSError:
                return
            if not data:
                return
            waiting += data

    def answer(self, problem: str | None, is_odd: bool) -> None:
        """Say how a job ended."""
        self._send({"kind": "done", "problem": problem, "odd": is_odd})

    def end_of(self, pid: int, timeout: float) -> End:
        """Wait for a child for at most so many seconds, and end what it has left behind."""
        timed_out = not _has_ended(pid, timeout)
        if timed_out:
            _kill_group(pid)
            _has_ended(pid, _KILL_SECONDS)
        _kill_group(pid)  # before it is reaped, so that its number cannot have become another's
        status = os.waitpid(pid, 0)[1]
        if self._adopts:
            _end_orphans()
        if timed_out:
            return "the tests did not end in time", True
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in _PROBLEMS:
            return _PROBLEMS[os.WEXITSTATUS(status)], False
        return "the tests ended their process", True

    def _send(self, message: Message) -> None:
        data = (json.dumps(message) + "\n").encode()
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError:
            return  # nobody listens: the next read ends the session


def _has_ended(pid: int, seconds: float) -> bool:
    """Wait for the end of a child for at most so many seconds, without reaping it; return whether it has ended."""
    with suppress(AttributeError, OSError):  # Python before 3.9, Linux before 5.3
        descriptor = os.pidfd_open(pid)
        try:
            ends = _poll()
            ends.register(descriptor, _READABLE)
            return bool(ends.poll(1000 * seconds))
        finally:
            os.close(descriptor)
    deadline, pause = _now() + seconds, 0.0005
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if _now() > deadline:
            return False
        _sleep(pause)
        pause = min(pause * 1.2, 0.02)
    return True


def fork() -> int:
    """As `os.fork`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads that libraries keep beside the interpreter's
        return os.fork()


def read_sources(job: Message) -> dict[str, bytes]:
    """The bytes that a job serves, by real path."""
    sources = {}
    for path, place in job["sources"].items():
        with open(place, "rb") as stream:
            sources[os.path.realpath(path)] = stream.read()
    return sources


def is_distributed(config: Any) -> bool:
    """Whether other processes would run the tests, or this is such a one."""
    return getattr(config.option, "dist", "no") != "no" or hasattr(config, "workerinput")


def _adopt_orphans() -> bool:
    """On Linux, become the parent of descendants whose own parent ends, so that none can get away; tell whether so."""
    set_child_subreaper = 36  # of <linux/prctl.h>
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _end_orphans() -> None:
    """Kill the children of this process, and theirs, which become its children by that, until there are none."""
    deadline = _now() + _ORPHAN_SECONDS
    while _now() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in _children():
            _kill(os.kill, pid)
        _sleep(0.001)


def _children() -> list[int]:
    try:
        with open("/proc/self/task/" + str(os.getpid()) + "/children") as stream:
            return [int(pid) for pid in stream.read().split()]
    except OSError:  # a kernel without that list
        return []


def _kill_group(pid: int) -> None:
    _kill(os.killpg, pid)
    _kill(os.kill, pid)  # the group is made by the child, which may not have come to that


def _kill(kill: Callable[[int, int], None], pid: int) -> None:
    try:
        kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
