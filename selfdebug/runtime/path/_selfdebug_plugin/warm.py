"""Turns a pytest session that has collected its tests into a server which judges one edit after the other.

For each job the process forks; the child puts the edited code into the functions that are alive, serves the edited
file to later imports, runs the tests through pytest's own hooks and leaves without any clearing up. Whatever cannot be
told in this way with certainty is refused: the job is then done by a process of its own.

What a job has beside that of other servers: {"tests": [node ids relative to the root, of tests or of what holds them],
"probes": whether the functions that probes call are to be there, and no failing test is to end the run}.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any, Callable, Iterator

import pytest

from .called import CallLog
from .forking import Footprints, open_descriptors, why_not_fork
from .journal import Journal
from .reporter import Reporter
from .serving import CUT, DISTRIBUTED, FINE, UNFIT, End, Message, Server, fork, is_distributed, read_sources
from .sources import MemoryFinder, fill_line_cache
from .swapping import CannotSwapError, LiveCode, Swap

_exit = os._exit


class WarmSession:
    """The server, as a plugin of the session that it takes over."""

    def __init__(self, descriptor: int, journal: Journal, reporter: Reporter, finder: MemoryFinder | None) -> None:
        self._server = Server(descriptor)
        self._journal, self._reporter, self._finder = journal, reporter, finder
        self._scratch = os.path.dirname(journal.base)
        self._temporary = os.environ["TMPDIR"]
        self._root = os.path.realpath(os.environ["SELFDEBUG_ROOT"])
        self._calls = CallLog()
        self._calls.start()
        self._known = open_descriptors()
        self._live: LiveCode | None = None
        self._called: dict[str, list[CodeType]] = {}

    # ------------------------------------------------------------ hooks

    def pytest_load_initial_conftests(self) -> None:
        """The last moment before code of the project runs; pytest has opened its own files by now."""
        self._known = open_descriptors()

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        """Leave at once where other processes would run the tests."""
        if is_distributed(config):
            self._server.refuse(DISTRIBUTED)
            pytest.exit("not to be distributed", returncode=0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """In the place of the loop over the tests: serve until nobody asks any more."""
        was_complete = self._calls.stop()
        problem = self._problem(session) if was_complete else "calls could not be watched"
        if problem is not None:
            self._server.refuse(problem)
            return True
        self._live = LiveCode()
        self._called = self._calls.by_path()
        for job in self._server.jobs():
            self._server.answer(*self._done(session, job))
        return True

    def _problem(self, session: Any) -> str | None:
        if session.testsfailed or session.shouldstop or session.shouldfail:
            return "not all tests could be collected"
        if not session.items:
            return "there are no tests"
        return why_not_fork(self._known | {self._server.descriptor}, self._temporary)

    # ------------------------------------------------------------ one job

    def _done(self, session: Any, job: Message) -> End:
        """Do a job; return how that ended."""
        sources = read_sources(job)
        try:
            swaps = {path: self._swap(path, source) for path, source in sources.items()}
        except (CannotSwapError, OSError) as error:
            return str(error), False
        pid = fork()
        if pid == 0:
            self._run_child(lambda: self._child(session, job, sources, swaps))
        return self._server.end_of(pid, float(job["timeout"]))

    def _swap(self, path: str, source: bytes) -> Swap | None:
        """What to exchange for a file that is loaded; None for one that is not, which its import will be served."""
        assert self._live is not None  # jobs come after the index was made
        if not (path in self._live or _is_loaded(path)):
            return None
        return self._live.plan(path, self._before(path), source, self._called.get(path, ()))

    def _before(self, path: str) -> bytes:
        served = None if self._finder is None else self._finder.sources.get(path)
        if served is not None:
            return served
        with open(path, "rb") as stream:
            return stream.read()

    def _run_child(self, body: Callable[[], bool]) -> None:
        """Run `body` and leave, however it ends: nothing of the server may go on in the child."""
        status = CUT
        try:
            os.setpgid(0, 0)
            pid = os.getpid()
            is_fine = body()
            if os.getpid() == pid:  # and not another one that a test has forked
                status = FINE if is_fine else UNFIT
        finally:
            _exit(status)

    def _child(self, session: Any, job: Message, sources: dict[str, bytes], swaps: dict[str, Swap | None]) -> bool:
        """Run the tests with the sources in use; return whether what was recorded can be relied on."""
        os.close(self._server.descriptor)
        footprints = Footprints(self._scratch)
        self._journal.redirect(job["records"])
        finder = MemoryFinder.on_top_of(self._finder, sources, self._journal, is_late=True)
        for path, swap in swaps.items():
            if swap is not None:
                swap.make()
                fill_line_cache(path, sources[path])
                self._journal.append("served", path=path)
        items = _chosen(session, self._root, job["tests"])
        self._reporter.begin_again(session.config, finder, len(items), bool(job["probes"]))
        session.config.option.tbstyle = "line"  # nobody reads the long one, which parses whole files
        footprints.watch()
        _run_tests(session, items, is_trial=bool(sources) and not job["probes"])
        if footprints.first is not None:
            self._journal.append("unfit", reason=footprints.first)
            return False
        self._journal.append("end", status=int(bool(session.testsfailed)), stopped=bool(session.shouldstop))
        return True


def _chosen(session: Any, root: str, wanted: list[str]) -> list[Any]:
    """The tests that are, or lie below, one of the `wanted` node ids, which are relative to the project's `root`."""
    rootdir = os.path.realpath(str(session.config.rootdir))
    names: dict[str, str] = {}
    asked = {each.rstrip("/") for each in wanted}
    chosen = []
    for item in session.items:
        file, separator, rest = str(item.nodeid).partition("::")
        if file not in names:
            names[file] = os.path.relpath(os.path.join(rootdir, file), root).replace(os.sep, "/")
        if not asked.isdisjoint(_and_above(names[file], separator + rest)):
            chosen.append(item)
    return chosen


def _and_above(file: str, rest: str) -> Iterator[str]:
    """A node id and those of all that it lies below: the function without parameters, classes, file, folders."""
    yield file + rest
    for place, character in enumerate(rest):
        if character == "[" or rest.startswith("::", place):
            yield file + rest[:place]
        if character == "[":
            break
    while file:
        file = file.rpartition("/")[0]
        yield file or "."


def _run_tests(session: Any, items: list[Any], is_trial: bool) -> None:
    """What pytest's own loop does, by the hook, so that plugins which replace or wrap the running of a test do so.

    A trial is over with the first test that fails: its verdict cannot change any more.
    """
    for item, following in zip(items, [*items[1:], None]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail or session.shouldstop:
            return
        if is_trial and session.testsfailed:
            session._setupstate.teardown_exact(None)  # what the next test would have shared with this one
            return


def _is_loaded(path: str) -> bool:
    name = os.path.basename(path)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(name) and os.path.realpath(file) == path:
            return True
    return False
