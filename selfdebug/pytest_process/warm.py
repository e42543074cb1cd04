"""Judges edits one after the other in forks of one pytest process, which has collected its tests once.

This is the quick way, which says nothing whenever it is not sure: `WarmServer.run` then returns None, and a process of
its own has to tell. What the process on the other side refuses and why is in the plugin's `warm`, `swapping` and
`forking` modules.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from selfdebug.model import PytestRun
from selfdebug.pytest_process.child import Background
from selfdebug.pytest_process.command import Request, launch
from selfdebug.pytest_process.folders import remove_tree
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import Recorded, read_records
from selfdebug.pytest_process.scratch import scratch_folder

OLDEST_PYTEST = (7,)
OLDEST_PYTHON = (3, 9)  # before that, too few changes of files can be noticed
_PATIENCE = 20  # a run may take so many times the seconds of the unchanged one, and _GRACE seconds more
_GRACE = 3.0
_END_SECONDS = 1.0
_MAX_ODD_ENDS = 3


class WarmServer:
    """A pytest process that runs the same tests again and again, each time with other sources: a context manager.

    It starts at once and in the background; `run` waits for it where needed. `refusal` says why it cannot be used (any
    more), `problem` why the last run has no result.
    """

    def __init__(  # noqa: PLR0913 - the options of `run_pytest`
        self,
        interpreter: Interpreter,
        root: Path,
        *,
        node_ids: Sequence[str],
        pytest_args: Sequence[str] = (),
        sources: Mapping[str, bytes] | None = None,
        env: Mapping[str, str] | None = None,
        start_timeout: float = 600.0,
    ) -> None:
        self.refusal = _why_not_here(interpreter)
        self.problem: str | None = None
        self.control: PytestRun | None = None
        self._project = ProjectFiles(root)
        self._request = Request(
            interpreter=interpreter,
            root=self._project.root,
            node_ids=tuple(node_ids),
            pytest_args=tuple(pytest_args),
            sources=sources or {},
            record_probes=False,
            env=os.environ if env is None else env,
        )
        self._ready_by = time.monotonic() + start_timeout
        self._stack = ExitStack()
        self._jobs = self._odd_ends = 0
        self._command: tuple[str, ...] = ()

    def __enter__(self) -> WarmServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> WarmServer:
        """Start the process, where it can be of use; whoever starts it without `with` has to close it."""
        if self.refusal is None:
            self._start()
        return self

    def close(self) -> None:
        """End the process and all that it has started, and remove its folder."""
        self.refusal = self.refusal or "the server was closed"
        self._stack.close()

    def run(self, sources: Mapping[str, bytes], timeout: float, run_id: str = "warm") -> PytestRun | None:
        """Run the tests with `sources` (relative to the root) in use, for at most `timeout` seconds.

        None says that this cannot be told here: the edit changes more than the inside of functions, the tests or their
        modules do something that forks do not bear, or their process ended early. `problem` has the reason. A run that
        is returned has ended, and has `served` all of `sources`.

        The first call runs the tests twice without an edit, which is what `control` is: when they do not fail in the
        same way both times, nothing can be told.
        """
        if not self._is_usable():
            return None
        assert self.control is not None  # a usable server has one
        limit = min(timeout, _GRACE + _PATIENCE * self.control.seconds)
        done = self._run(sources, limit, run_id)
        if done is not None and not set(sources) <= set(done.served):
            self.problem = "the tests did not use the edited file"
            return None
        return done

    # ------------------------------------------------------------ starting

    def _start(self) -> None:
        scratch = self._stack.enter_context(scratch_folder(marker=uuid.uuid4().hex))
        ours, theirs = socket.socketpair()
        self._scratch, self._socket = scratch, self._stack.enter_context(ours)
        self._answers = b""
        with theirs:
            start = launch(self._request, scratch)
            self._command = start.command
            start = replace(start, env={**start.env, "SELFDEBUG_WARM": str(theirs.fileno())})
            process = Background(start, (theirs.fileno(),))
        self._stack.callback(process.end)
        self._stack.callback(self._hang_up, process)

    def _hang_up(self, process: Background) -> None:
        """Let the session end in order, unless it takes long."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        process.wait(_END_SECONDS)

    def _is_usable(self) -> bool:
        if self.refusal is None and self.control is None:
            self.refusal = self._why_unusable()
        self.problem = self.refusal
        return self.refusal is None

    def _why_unusable(self) -> str | None:
        answer = self._answer(self._ready_by)
        if answer is None or answer.get("kind") != "ready":
            return str((answer or {}).get("reason", "the server did not come up"))
        seconds = max(self._ready_by - time.monotonic(), 1.0)
        first = self._run({}, seconds, "warm-control")
        second = None if first is None else self._run({}, seconds, "warm-control")
        if first is None or second is None:
            return self.problem
        if _gist(first) != _gist(second):
            return "the tests do not end twice in the same way"
        self.control = second
        return None

    # ------------------------------------------------------------ one job

    def _run(self, sources: Mapping[str, bytes], timeout: float, run_id: str) -> PytestRun | None:
        began = time.monotonic()
        self._jobs += 1
        folder = self._scratch.folder / f"job-{self._jobs}"
        folder.mkdir()
        records = folder / "records"
        try:
            job = {"records": str(records), "sources": self._written(sources, folder), "timeout": timeout}
            self.problem = self._asked(job, time.monotonic() + timeout + _GRACE)
            recorded = read_records(records, self._project) if self.problem is None else Recorded()
        finally:
            remove_tree(folder)
        if self.problem is None and not (recorded.is_greeted and recorded.is_ended):
            self.problem = "the tests did not reach the end of their session"
        return None if self.problem else self._result(recorded, run_id, time.monotonic() - began)

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
        self._clear_temporary()
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

    def _clear_temporary(self) -> None:
        """The next run is to find no file of this one, whose names may be the same."""
        for entry in self._scratch.temporary.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink(missing_ok=True)

    def _result(self, recorded: Recorded, run_id: str, seconds: float) -> PytestRun:
        return PytestRun(
            id=run_id,
            proposed=self._request.node_ids,
            command=self._command,
            exit_code=1 if recorded.failures else 0,
            seconds=seconds,
            outcomes=tuple(recorded.outcomes.items()),
            failures=tuple(recorded.failures),
            served=tuple(sorted(recorded.served)),
            ended=True,
            collected=recorded.collected,
            python=recorded.python,
            pytest=recorded.pytest,
        )


def _why_not_here(interpreter: Interpreter) -> str | None:
    if sys.platform != "linux":
        return "processes are forked on Linux only"
    if interpreter.pytest_release < OLDEST_PYTEST:
        return f"pytest {interpreter.pytest_version} is too old"
    if tuple(map(int, interpreter.version.split(".")[:2])) < OLDEST_PYTHON:
        return f"Python {interpreter.version} is too old"
    return None


def _gist(run: PytestRun) -> list[object]:
    """How the tests ended, without what may differ from run to run (addresses, times)."""
    failures = [
        (failure.node_id, failure.when, failure.exception.type, failure.deepest.place if failure.deepest else None)
        for failure in run.failures
    ]
    return [run.outcomes, failures]
