"""Runs the failing tests with the next candidates before they are asked for, in several fork servers at a time.

What comes out is given away in the order of the candidates, so nothing depends on who is ready first. Only forks run
side by side, since they notice what they would share: what they cannot tell is run alone, when nothing else is running.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial

from selfdebug.config import Settings
from selfdebug.model import Patch, PytestRun
from selfdebug.pytest_process import Interpreter
from selfdebug.repair.screening import Screened, Screening

Ask = Callable[[], PytestRun | None]
"""Waits for a run; None where no fork can tell."""

_AHEAD = 2
"""So many runs for each job are begun or waiting, so that nobody is idle while a slow one is waited for."""


@dataclass
class SideBySide:
    """One screening for each job; the first is used alone at other times, the others begin when there is work."""

    settings: Settings
    interpreter: Interpreter
    first: Screening
    _others: list[Screening] = field(default_factory=list)
    _begun: list[Future[PytestRun | None]] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None

    def runs(self, what: Screened, patches: Sequence[Patch]) -> Iterator[tuple[Patch, Ask]]:
        """Each patch with its run, in the order of the patches. Those that nobody asks for any more are not begun."""
        jobs = min(self.settings.jobs, len(patches))
        if jobs < 2:
            for patch in patches:
                yield patch, partial(_in_fork, self.first, what, patch)
            return
        self.wait()  # for those of an earlier call that nobody asked for
        free = self._free(jobs)
        waiting, begun = deque(patches), deque[tuple[Patch, Future[PytestRun | None]]]()
        try:
            while waiting or begun:
                while waiting and len(begun) < _AHEAD * jobs:
                    patch = waiting.popleft()
                    begun.append((patch, self._begin(free, what, patch)))
                patch, run = begun.popleft()
                yield patch, run.result
        finally:
            for _, run in begun:
                run.cancel()

    def wait(self) -> None:
        """Wait until nothing runs any more; before anything that runs alone, and before a file is changed."""
        wait(self._begun)
        self._begun.clear()

    def dismiss(self) -> None:
        """Let the servers end by themselves, while something else is done: a patch is kept, and more are not needed."""
        self.wait()
        for screening in (self.first, *self._others):
            screening.dismiss()

    def close(self) -> None:
        """End everything, whatever still runs."""
        for screening in (self.first, *self._others):
            screening.close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _free(self, jobs: int) -> queue.SimpleQueue[Screening]:
        while len(self._others) < jobs - 1:
            self._others.append(Screening(self.settings, self.interpreter))
        free = queue.SimpleQueue[Screening]()
        for screening in (self.first, *self._others[: jobs - 1]):
            screening.also = self.first.also
            free.put(screening)
        return free

    def _begin(self, free: queue.SimpleQueue[Screening], what: Screened, patch: Patch) -> Future[PytestRun | None]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.settings.jobs, thread_name_prefix="selfdebug-trial")
        begun = self._pool.submit(_in_turn, free, what, patch)
        self._begun.append(begun)
        return begun


def _in_fork(screening: Screening, what: Screened, patch: Patch) -> PytestRun | None:
    return screening.run(what, {patch.file: patch.after}, "")


def _in_turn(free: queue.SimpleQueue[Screening], what: Screened, patch: Patch) -> PytestRun | None:
    screening = free.get()
    try:
        return _in_fork(screening, what, patch)
    finally:
        free.put(screening)
