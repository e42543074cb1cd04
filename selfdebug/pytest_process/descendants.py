"""Ends a process and everything that it started, also what has left its process group or its session.

Processes inherit the environment that they are started with, so on Linux those of one run are found in /proc by a
marker in it, and their children by parentage. Elsewhere only the process group is known.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Process:
    """What /proc says of one process."""

    pid: int
    state: str
    parent: int
    group: int
    session: int


def end_all(leader: int | None, marker: str, grace: float) -> bool:
    """End the process group of `leader` (if any) and all processes that carry `marker`; return whether none is left.

    They are asked first (SIGTERM) and get `grace` seconds to end; then they are killed, until a look finds none.
    """
    if not living(leader, marker):
        return True
    _send(leader, marker, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if not living(leader, marker):
            return True
        time.sleep(0.02)
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        _send(leader, marker, signal.SIGKILL)  # again and again: they may be forking
        if not living(leader, marker):
            return True
        time.sleep(0.01)
    return False


def living(leader: int | None, marker: str) -> frozenset[int]:
    """The processes of the run that have not ended, zombies not counted."""
    if not _PROC.is_dir():
        return frozenset({leader}) if leader is not None and _group_exists(leader) else frozenset()
    processes = list(_processes())
    wanted = marker.encode()
    ours = {
        process.pid
        for process in processes
        if leader in (process.pid, process.group, process.session) or _carries(process.pid, wanted)
    }
    found = 0
    while found != len(ours):
        found = len(ours)
        ours |= {process.pid for process in processes if process.parent in ours}
    return frozenset(process.pid for process in processes if process.pid in ours and process.state not in "ZX")


def _send(leader: int | None, marker: str, number: signal.Signals) -> None:
    # The group first: a signal to it reaches all its members at one instant, however fast they fork.
    if leader is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)
    for pid in living(leader, marker):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _processes() -> Iterator[_Process]:
    for entry in os.listdir(_PROC):  # noqa: PTH208 - iterating Path objects costs three times as much
        if not entry.isdecimal() or int(entry) == os.getpid():
            continue
        with suppress(OSError):
            # After the command name in parentheses, which may hold blanks and parentheses itself.
            fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
            yield _Process(int(entry), fields[0].decode(), *map(int, fields[1:4]))


def _carries(pid: int, marker: bytes) -> bool:
    try:
        return marker in Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return False
