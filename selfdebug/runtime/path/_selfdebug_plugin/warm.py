"""Turns a pytest session that has collected its tests into a server which judges one edit after the other.

For each job the process forks; the child puts the edited code into the functions that are alive, serves the edited
file to later imports, runs the tests through pytest's own hooks and leaves without any clearing up. Whatever cannot be
told in this way with certainty is refused: the job is then done by a process of its own.

Messages are JSON lines on a socket, whose descriptor is given. From here, once:
  {"kind": "ready"} or {"kind": "refused", "reason": ...}
then, for each {"records": path, "sources": {path: path of the content}, "timeout": seconds} that comes:
  {"kind": "done", "problem": null or why the records must not be used, "odd": whether the child ended as none should}
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from types import CodeType
from typing import Any, Callable, Dict, Optional, Tuple

import pytest

from .called import CallLog
from .forking import Footprints, open_descriptors, why_not_fork
from .journal import Journal
from .reporter import Reporter
from .sources import MemoryFinder, fill_line_cache
from .swapping import CannotSwapError, LiveCode, Swap

Message = Dict[str, Any]
End = Tuple[Optional[str], bool]
"""Why the records of a child must not be used (None: they may), and whether it ended as no run of tests should."""

_FINE, _UNFIT, _CUT = 0, 97, 98  # how a child ends: its result counts, must not be used, is not there
_PROBLEMS: dict[int, str | None] = {_FINE: None, _UNFIT: "the tests left traces outside their process"}
_now, _sleep = time.monotonic, time.sleep
_exit = os._exit


class WarmSession:
    """The server, as a plugin of the session that it takes over."""

    def __init__(self, descriptor: int, journal: Journal, reporter: Reporter, finder: MemoryFinder | None) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._journal, self._reporter, self._finder = journal, reporter, finder
        self._scratch = os.path.dirname(journal.base)
        self._temporary = os.environ["TMPDIR"]
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
        if getattr(config.option, "dist", "no") != "no" or hasattr(config, "workerinput"):
            self._refuse("the tests are distributed by xdist")
            pytest.exit("not to be distributed", returncode=0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """In the place of the loop over the tests: serve until nobody asks any more."""
        was_complete = self._calls.stop()
        problem = self._problem(session) if was_complete else "calls could not be watched"
        if problem is not None:
            self._refuse(problem)
            return True
        self._live = LiveCode()
        self._called = self._calls.by_path()
        self._send({"kind": "ready"})
        for job in self._jobs():
            problem, is_odd = self._done(session, job)
            self._send({"kind": "done", "problem": problem, "odd": is_odd})
        return True

    def _problem(self, session: Any) -> str | None:
        if session.testsfailed or session.shouldstop or session.shouldfail:
            return "not all tests could be collected"
        if not session.items:
            return "there are no tests"
        return why_not_fork(self._known | {self._descriptor}, self._temporary)

    # ------------------------------------------------------------ messages

    def _refuse(self, reason: str) -> None:
        self._send({"kind": "refused", "reason": reason})

    def _send(self, message: Message) -> None:
        data = (json.dumps(message) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return  # nobody listens: the next read ends the session

    def _jobs(self) -> Any:
        waiting = b""
        while True:
            line, separator, rest = waiting.partition(b"\n")
            if separator:
                waiting = rest
                yield json.loads(line)
                continue
            try:
                data = os.read(self._descriptor, 65_536)
            except OSError:
                return
            if not data:
                return
            waiting += data

    # ------------------------------------------------------------ one job

    def _done(self, session: Any, job: Message) -> End:
        """Do a job; return how that ended."""
        sources = {}
        for path, place in job["sources"].items():
            with open(place, "rb") as stream:
                sources[os.path.realpath(path)] = stream.read()
        try:
            swaps = {path: self._swap(path, source) for path, source in sources.items()}
        except (CannotSwapError, OSError) as error:
            return str(error), False
        pid = _fork()
        if pid == 0:
            self._run_child(lambda: self._child(session, job["records"], sources, swaps))
        return _ended(pid, float(job["timeout"]))

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
        status = _CUT
        try:
            os.setpgid(0, 0)
            pid = os.getpid()
            is_fine = body()
            if os.getpid() == pid:  # and not another one that a test has forked
                status = _FINE if is_fine else _UNFIT
        finally:
            _exit(status)

    def _child(self, session: Any, records: str, sources: dict[str, bytes], swaps: dict[str, Swap | None]) -> bool:
        """Run the tests with the sources in use; return whether what was recorded can be relied on."""
        os.close(self._descriptor)
        footprints = Footprints(self._scratch)
        self._journal.redirect(records)
        finder = self._served(sources)
        for path, swap in swaps.items():
            if swap is not None:
                swap.make()
                fill_line_cache(path, sources[path])
                self._journal.append("served", path=path)
        self._reporter.begin_again(session.config, finder, len(session.items))
        session.config.option.tbstyle = "line"  # nobody reads the long one, which parses whole files
        footprints.watch()
        _run_tests(session, is_trial=bool(sources))
        if footprints.first is not None:
            self._journal.append("unfit", reason=footprints.first)
            return False
        self._journal.append("end", status=int(bool(session.testsfailed)), stopped=bool(session.shouldstop))
        return True

    def _served(self, sources: dict[str, bytes]) -> MemoryFinder | None:
        """The finder for files that are imported, or imported again, while the tests run."""
        before = {} if self._finder is None else self._finder.sources
        merged = {**before, **sources}
        if not merged:
            return None
        if self._finder is not None:
            sys.meta_path.remove(self._finder)
        finder = MemoryFinder(merged, self._journal, is_late=True)
        finder.stay_first()
        return finder


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads that libraries keep beside the interpreter's
        return os.fork()


def _run_tests(session: Any, is_trial: bool) -> None:
    """What pytest's own loop does, by the hook, so that plugins which replace or wrap the running of a test do so.

    A trial is over with the first test that fails: its verdict cannot change any more.
    """
    items = session.items
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


def _ended(pid: int, timeout: float) -> End:
    """Wait for the child, and end what it has left behind."""
    deadline, pause, timed_out = _now() + timeout, 0.0005, False
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if not timed_out and _now() > deadline:
            timed_out = True
            _kill_group(pid)
        _sleep(pause)
        pause = min(pause * 1.2, 0.02)
    _kill_group(pid)  # before it is reaped, so that its number cannot have become another's
    status = os.waitpid(pid, 0)[1]
    if timed_out:
        return "the tests did not end in time", True
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) in _PROBLEMS:
        return _PROBLEMS[os.WEXITSTATUS(status)], False
    return "the tests ended their process", True


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the group is made by the child, which may not have come to that
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
