"""Ends a process and everything that it started, also what has left its process group or its session.

Processes inherit the environment that they are started with, so on Linux those of one run are found in /proc by a
marker in it, and their children by parentage. Elsewhere only the process group is known.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KILL_SECONDS = 5.0
_LOOKS = 3
_BETWEEN_LOOKS = 0.004
_SHORTEST_MARKER = 16  # a shorter one, as a file that was never finished holds, may stand in anybody's environment


@dataclass(frozen=True, slots=True)
class _Process:
    """What /proc says of one process."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    is_marked: bool


def end_all(leader: int | None, marker: str, grace: float) -> bool:
    """End the process group of `leader` (if any) and all processes that carry `marker`; return whether none is left.

    They are asked first (SIGTERM) and get `grace` seconds to end; then they are killed, until no look finds one. All
    process groups in which one was ever seen are killed as well: a process that forks and leaves, again and again, is
    gone before its number can be used, but its whole line has one group.
    """
    groups: set[int] = set()
    if not _is_any_left(leader, marker, groups):
        return True
    _send(leader, living(leader, marker, groups), signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if not _is_any_left(leader, marker, groups):
            return True
        time.sleep(0.02)
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        found = living(leader, marker, groups)
        for group in groups - {leader}:
            _send(group, (), signal.SIGKILL)
        _send(leader, found, signal.SIGKILL)
        if not _is_any_left(leader, marker, groups):
            return True
        time.sleep(0.01)
    return False


def _is_any_left(leader: int | None, marker: str, groups: set[int]) -> bool:
    """Whether a few looks in a row find a process: one look may miss those that are about to be replaced by a child."""
    for look in range(_LOOKS):
        if look:
            time.sleep(_BETWEEN_LOOKS)
        if living(leader, marker, groups):
            return True
    return False


def living(leader: int | None, marker: str, groups: set[int] | None = None) -> frozenset[int]:
    """The processes of the run that have not ended, zombies not counted; their process groups are added to `groups`."""
    if not _PROC.is_dir():
        return frozenset({leader}) if leader is not None and _group_exists(leader) else frozenset()
    processes = list(_processes(marker.encode()))
    ours = {
        process.pid
        for process in processes
        if process.is_marked or leader in (process.pid, process.group, process.session)
    }
    found = 0
    while found != len(ours):
        found = len(ours)
        ours |= {process.pid for process in processes if process.parent in ours}
    alive = [process for process in processes if process.pid in ours and process.state not in "ZX"]
    if groups is not None:
        groups.update(process.group for process in alive)
        groups.discard(os.getpgrp())
    return frozenset(process.pid for process in alive)


def _send(group: int | None, pids: Iterable[int], number: signal.Signals) -> None:
    # The group first: a signal to it reaches all its members at one instant, however fast they fork.
    if group is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in pids:
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


def _processes(marker: bytes) -> Iterator[_Process]:
    """All processes but this one, newest first: the newest are those that may be gone in a moment."""
    numbers = [int(entry) for entry in os.listdir(_PROC) if entry.isdecimal()]  # noqa: PTH208 - three times as quick
    for pid in sorted(numbers, reverse=True):
        if pid == os.getpid():
            continue
        with suppress(OSError):
            is_marked = _carries(pid, marker)
            # After the command name in parentheses, which may hold blanks and parentheses itself.
            fields = Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()
            yield _Process(pid, fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), is_marked)


def _carries(pid: int, marker: bytes) -> bool:
    if len(marker) < _SHORTEST_MARKER:
        return False
    try:
        return marker in Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return False
