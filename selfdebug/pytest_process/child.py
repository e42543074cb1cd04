"""Starts one process, keeps a bounded part of what it prints, and ends it with everything that it started.

This is the only place of the package that starts a process which runs code of the project.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from selfdebug.errors import EnvironmentUnusableError
from selfdebug.pytest_process import orphans
from selfdebug.pytest_process.descendants import end_all
from selfdebug.pytest_process.interrupts import held_back

_CHUNK = 65_536
_POLL_SECONDS = 0.05
_TICK_SECONDS = 0.1
_GRACE_AT_TIMEOUT = 2.0
_GRACE_AT_EXIT = 0.3


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be started; `marker` stands in a variable of `env` and identifies what the program starts.

    `memory` is the number of bytes of data that it, and each process that it starts, may have.
    """

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    marker: str
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: `exit_code` is negative for a signal."""

    exit_code: int
    seconds: float
    timed_out: bool
    output: str
    is_output_cut: bool


class BoundedOutput:
    """The first and the last part of a stream of bytes of any length."""

    def __init__(self, head: int = 65_536, tail: int = 196_608) -> None:
        self._head_size, self._tail_size = head, tail
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_size:
            self._dropped += len(self._tail) - self._tail_size
            del self._tail[: -self._tail_size]

    @property
    def is_cut(self) -> bool:
        """Whether anything was left out."""
        return self._dropped > 0

    def text(self) -> str:
        """What was kept, with a line that says how many bytes are missing."""
        missing = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return (bytes(self._head) + missing + bytes(self._tail)).decode("utf-8", "replace")


def run_child(
    launch: Launch,
    timeout: float,
    tick: Callable[[], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Ended:
    """Run a program in a session of its own, without input, for at most `timeout` seconds.

    `tick` is called some times a second, `meanwhile` once, when the program has been started. However this ends, by an
    exception as well, no process of the run is left.

    Raises EnvironmentUnusableError when the program cannot be started.
    """
    started = time.monotonic()
    output = BoundedOutput()
    timed_out = True  # so that an interruption asks the tests to end, and waits for them, as a time-out does
    with held_back() as release:
        child = _started(launch, subprocess.PIPE)
        stream = _Stream(child, output)
        try:
            release()
            if meanwhile is not None:
                meanwhile()
            timed_out = not _wait(child, stream, started + timeout, tick)
        finally:
            _end(child, launch.marker, _GRACE_AT_TIMEOUT if timed_out else _GRACE_AT_EXIT)
            stream.drain()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_AT_TIMEOUT)
            orphans.finish(child.pid)
            stream.close()
    exit_code = child.returncode if child.returncode is not None else -9
    return Ended(exit_code, time.monotonic() - started, timed_out, output.text(), output.is_cut)


def run_attached(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    """Run a program of our own with the input and the output of this process, and wait for its end."""
    subprocess.run(command, cwd=cwd, env=env, check=False)


class Background:
    """A program that runs beside this one, in a session of its own, without input and output.

    Raises EnvironmentUnusableError when the program cannot be started.
    """

    def __init__(self, launch: Launch, descriptors: tuple[int, ...]) -> None:
        """Start it; `descriptors` keep their numbers there."""
        self._marker = launch.marker
        self._child = _started(launch, subprocess.DEVNULL, descriptors, is_server=True)

    def wait(self, seconds: float) -> None:
        """Give it some time to end by itself."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)

    def end(self) -> None:
        """End it with everything that it started."""
        _end(self._child, self._marker, _GRACE_AT_EXIT)
        self.wait(_GRACE_AT_TIMEOUT)
        orphans.finish(self._child.pid)


def _started(
    launch: Launch, output: int, descriptors: tuple[int, ...] = (), is_server: bool = False
) -> subprocess.Popen[bytes]:
    """The process, with its standard output and error where `output` says (as for Popen)."""
    try:
        child = orphans.start(
            lambda: subprocess.Popen(
                list(launch.command),
                cwd=launch.cwd,
                env=dict(launch.env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                pass_fds=descriptors,
            ),
            is_server=is_server,
        )
    except OSError as error:
        raise EnvironmentUnusableError(f"{launch.command[0]} cannot be started: {error.strerror or error}") from error
    _limit(child.pid, launch.memory)
    return child


def _end(child: subprocess.Popen[bytes], marker: str, grace: float) -> None:
    """End a process with everything that it started; the search for that is left out where none can be there."""
    if child.poll() is None or not orphans.nothing_is_left():
        end_all(child.pid, marker, grace)


def _limit(pid: int, memory: int | None) -> None:
    """Limit the data of a process from outside, so that nothing runs between a fork and its exec."""
    if memory is None or sys.platform != "linux":
        return
    import resource

    with suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))


class _Stream:
    """The output of a process, read without ever waiting for its end: a daemon may keep it open for good."""

    def __init__(self, child: subprocess.Popen[bytes], output: BoundedOutput) -> None:
        assert child.stdout is not None  # asked for with PIPE
        self._file = child.stdout
        self._output = output
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN | select.POLLHUP)
        self.is_open = True

    def read(self, seconds: float) -> bool:
        """Read once, waiting at most `seconds`; return whether there was anything to read."""
        if not self.is_open or not self._poll.poll(seconds * 1000):
            return False
        data = os.read(self._file.fileno(), _CHUNK)
        if not data:
            self.is_open = False
        self._output.add(data)
        return bool(data)

    def drain(self) -> None:
        """Read what is there now, which is as much as a pipe holds unless somebody is still writing."""
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline and self.read(0):
            pass

    def close(self) -> None:
        """Give the descriptor back."""
        self._file.close()


def _wait(child: subprocess.Popen[bytes], stream: _Stream, deadline: float, tick: Callable[[], None] | None) -> bool:
    """Read the output until the process ends; return False when the deadline came first."""
    next_tick = time.monotonic() + _TICK_SECONDS
    while True:
        if stream.is_open:
            stream.read(_POLL_SECONDS)
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_SECONDS)
        if child.poll() is not None:
            return True
        now = time.monotonic()
        if now >= deadline:
            return False
        if tick is not None and now >= next_tick:
            tick()
            next_tick = now + _TICK_SECONDS
