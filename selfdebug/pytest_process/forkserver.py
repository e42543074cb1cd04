"""Talks to a pytest process that runs the same tests again and again in forks of itself, each time with other sources.

It says nothing whenever it is not sure: `run` then returns None, and a process of its own has to tell. What the process
on the other side refuses and why is in the plugin: `serving` and `forking`, then `warm` and `preloading` for the two
states of a process in which it can be forked.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from selfdebug.model import PytestRun, Tier
from selfdebug.pytest_process.child import Background
from selfdebug.pytest_process.command import launch
from selfdebug.pytest_process.folders import remove_tree
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.pytest_process.interrupts import held_back
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import Recorded, read_records
from selfdebug.pytest_process.request import PytestRequest
from selfdebug.pytest_process.scratch import JOB_PREFIX, scratch_folder

OLDEST_PYTEST = (7,)
OLDEST_PYTHON = (3, 9)  # before that, too few changes of files can be noticed
_PATIENCE = 20  # a run may take so many times the seconds of the unchanged one, and _GRACE seconds more
_GRACE = 3.0
_END_SECONDS = 1.0
_MAX_ODD_ENDS = 3
# What hypothesis raises about the time or the repeatability of a test, which a fork may change.
_UNSTEADY = ("DeadlineExceeded", "FailedHealthCheck", "Flaky", "FlakyFailure", "FlakyReplay", "FlakyStrategyDefinition")


@dataclass(frozen=True, slots=True)
class Done:
    """A job that was done: what its tests told, or why that must not be used; `was_run`: they were run in order."""

    recorded: Recorded
    seconds: float
    problem: str | None
    was_run: bool


class ForkServer(ABC):
    """A pytest process that runs tests in forks of itself, from its start to its end: a context manager.

    It starts, and runs the tests without an edit, in the background; `run` waits for it where needed. `refusal` says
    why it cannot be used (any more), `problem` why the last run has no result, `control` how the unchanged tests end.
    `is_beyond_forks` tells whether no fork, of another server either, could say more than the last run did.
    """

    tier: ClassVar[Tier]
    _variable: ClassVar[str]
    """The environment variable that tells the plugin the descriptor to serve at."""

    def __init__(self, request: PytestRequest, *, collect: Sequence[str] = (), alone: bool = True) -> None:
        """Of the `request`, `timeout` holds for the start, and node ids that are in `collect` may be run as well.

        With `alone`, nothing else runs tests of the project at the same time; else forks must share nothing.
        """
        self.refusal = _why_not_here(request.interpreter)
        self.problem: str | None = None
        self.is_beyond_forks = False
        self.control: PytestRun | None = None
        self._project = ProjectFiles(request.root)
        self._node_ids = request.node_ids
        self._alone = alone
        self._request = replace(request, root=self._project.root, node_ids=tuple(collect or request.node_ids))
        self._ready_by = time.monotonic() + request.timeout
        self._stack = ExitStack()
        self._jobs = self._odd_ends = 0
        self._command: tuple[str, ...] = ()
        self._starter: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Start the process, where it can be of use; whoever starts it without `with` has to close it."""
        if self.refusal is None:
            self._start()
            self._starter = threading.Thread(target=self._prepare, name="selfdebug-fork-server", daemon=True)
            self._starter.start()
        return self

    def is_usable(self) -> bool:
        """Wait until it is known whether anything can be told here."""
        self._wait_for_start()
        return self.refusal is None

    def dismiss(self) -> None:
        """Tell the process to end, and do not wait for that: `close` has less to wait for then."""
        if self.refusal is None:
            self.refusal = "the server was dismissed"
            self._tell_to_end()

    def close(self) -> None:
        """End the process and all that it has started, and remove its folder."""
        self.refusal = self.refusal or "the server was closed"
        self._stack.close()

    def run(self, sources: Mapping[str, bytes], timeout: float, run_id: str = "") -> PytestRun | None:
        """Run the tests with `sources` (relative to the root) in use, for at most `timeout` seconds.

        None says that this cannot be told here; `problem` has the reason. A run that is returned has ended, and has
        `served` all of `sources`.
        """
        return self._told(sources, timeout, run_id)

    def _told(
        self, sources: Mapping[str, bytes], timeout: float, run_id: str, more: Mapping[str, Any] | None = None
    ) -> PytestRun | None:
        self._wait_for_start()
        self.problem = self.refusal
        self.is_beyond_forks = False
        if self.refusal is not None:
            return None
        assert self.control is not None  # a server that is ready has one
        limit = min(timeout, _GRACE + _PATIENCE * self.control.seconds)
        odd_ends = self._odd_ends
        done = self._run(sources, limit, more)
        is_unused = done.problem is None and not _are_used(sources, done.recorded)
        self.problem = "the tests did not use the edited file" if is_unused else done.problem
        self.is_beyond_forks = self.problem is not None and (done.was_run or self._odd_ends > odd_ends)
        return None if self.problem else self._result(done, run_id or self.tier.value)

    # ------------------------------------------------------------ starting

    def _start(self) -> None:
        scratch = self._stack.enter_context(scratch_folder(marker=uuid.uuid4().hex))
        ours, theirs = socket.socketpair()
        self._scratch, self._socket = scratch, self._stack.enter_context(ours)
        self._answers = b""
        with theirs:
            start = launch(self._request, scratch)
            self._command = start.command
            start = replace(start, env={**start.env, self._variable: str(theirs.fileno())})
            with held_back():
                process = Background(start, (theirs.fileno(),))
                self._stack.callback(process.end)
        self._stack.callback(self._hang_up, process)

    def _hang_up(self, process: Background) -> None:
        """Let the session end in order, unless it takes long."""
        self._tell_to_end()
        self._wait_for_start()  # which ends now, if it had not
        process.wait(_END_SECONDS)

    def _tell_to_end(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _wait_for_start(self) -> None:
        if self._starter is not None:
            self._starter.join()
            self._starter = None

    def _prepare(self) -> None:
        try:
            refusal = self._why_unusable()
        except OSError as error:  # of the temporary folder
            refusal = f"the server could not be prepared: {error.strerror or error}"
        self.refusal = self.refusal or refusal

    def _why_unusable(self) -> str | None:
        answer = self._answer(self._ready_by)
        if answer is None or answer.get("kind") != "ready":
            return str((answer or {}).get("reason", "the server did not come up"))
        self._scratch.remember()
        return self._why_no_control()

    @abstractmethod
    def _why_no_control(self) -> str | None:
        """Run the tests without an edit and set `control`; return what speaks against relying on such runs."""

    def _compared(self, first: Done, second: Done) -> str | None:
        """Take the second of two runs without an edit as control, unless they ended differently."""
        for done in (first, second):
            if done.problem is not None:
                return done.problem
        control = self._result(second, f"{self.tier.value}-control")
        if _gist(self._result(first, control.id)) != _gist(control):
            return "the tests do not end twice in the same way"
        self.control = control
        return None

    def _seconds_left(self) -> float:
        return max(self._ready_by - time.monotonic(), 1.0)

    # ------------------------------------------------------------ one job

    def _run(self, sources: Mapping[str, bytes], timeout: float, more: Mapping[str, Any] | None = None) -> Done:
        began = time.monotonic()
        self._jobs += 1
        folder = self._scratch.folder / f"{JOB_PREFIX}{self._jobs}"
        folder.mkdir()
        records = folder / "records"
        try:
            job = {"records": str(records), "sources": self._written(sources, folder), "timeout": timeout}
            with self._surroundings(folder) as found:
                problem = self._asked({**job, **found, **(more or {})}, time.monotonic() + timeout + _GRACE)
            recorded = read_records(records, self._project) if problem is None else Recorded()
        finally:
            remove_tree(folder)
        was_run = problem is None
        if was_run:
            problem = _not_conclusive(recorded)
        return Done(recorded, time.monotonic() - began, problem, was_run)

    @contextmanager
    def _surroundings(self, folder: Path) -> Iterator[Mapping[str, Any]]:  # noqa: ARG002 - for those that have some
        """What a job has beside its sources, while it is done; `folder` is its own."""
        yield {}

    def _written(self, sources: Mapping[str, bytes], folder: Path) -> dict[str, str]:
        index = {}
        for number, (file, content) in enumerate(sources.items()):
            place = folder / f"{number}.source"
            place.write_bytes(content)
            index[str(self._project.root / file)] = str(place)
        return index

    def _asked(self, job: Mapping[str, Any], deadline: float) -> str | None:
        """Send a job and wait for its end; return why its records must not be used, or None."""
        try:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            self._socket.sendall((json.dumps(job) + "\n").encode())
        except OSError:
            self.refusal = "the server has ended"
            return self.refusal
        answer = self._answer(deadline)
        self._scratch.restore()
        if answer is None:
            self.refusal = "the server does not answer"
            return self.refusal
        problem = answer.get("problem")
        self._odd_ends += bool(answer.get("odd"))
        if self._odd_ends >= _MAX_ODD_ENDS:
            self.refusal = f"{self._odd_ends} runs had no result"
        return None if problem is None else str(problem)

    def _answer(self, deadline: float) -> dict[str, Any] | None:
        """The next message; None when the server is gone or says nothing until `deadline`."""
        while b"\n" not in self._answers:
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                return None
            self._socket.settimeout(seconds)
            try:
                data = self._socket.recv(65_536)
            except OSError:  # a time-out among them
                return None
            if not data:
                return None
            self._answers += data
        line, _, self._answers = self._answers.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _result(self, done: Done, run_id: str) -> PytestRun:
        exit_code = 1 if done.recorded.failures else 0
        run = done.recorded.as_run(run_id, self._node_ids, self._command, exit_code, done.seconds)
        return replace(run, tier=self.tier)


def _why_not_here(interpreter: Interpreter) -> str | None:
    if sys.platform != "linux":
        return "processes are forked on Linux only"
    if interpreter.pytest_release < OLDEST_PYTEST:
        return f"pytest {interpreter.pytest_version} is too old"
    if tuple(map(int, interpreter.version.split(".")[:2])) < OLDEST_PYTHON:
        return f"Python {interpreter.version} is too old"
    return None


def _not_conclusive(recorded: Recorded) -> str | None:
    if not (recorded.is_greeted and recorded.is_ended):
        return "the tests did not reach the end of their session"
    for failure in recorded.failures:
        if failure.crash.exception.type == "MemoryError":
            return "a test ran out of memory"
        module, _, name = failure.exception.type.rpartition(".")
        if module.startswith("hypothesis") and name in _UNSTEADY:
            return f"hypothesis complains of the time or the repeatability of a test ({name})"
    return None


def _are_used(sources: Mapping[str, bytes], recorded: Recorded) -> bool:
    return set(sources) <= recorded.served - recorded.loaded_before


def _gist(run: PytestRun) -> object:
    """How the tests ended, without what may differ from run to run (addresses, times, a random order)."""
    failures = {
        (failure.node_id, failure.when, failure.exception.type, failure.deepest.place if failure.deepest else None)
        for failure in run.failures
    }
    return dict(run.outcomes), failures
