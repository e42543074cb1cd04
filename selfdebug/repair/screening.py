"""The quick first judgement of candidates, in forks of pytest processes that have done what all runs have alike.

Two of them, by what a candidate changes: one has collected the failing tests, and exchanges the insides of functions;
the other has imported the libraries only. They speak only where they are sure; else, and for everything that is decided
in the end, a process of its own is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfdebug.config import Settings
from selfdebug.model import Failure, PytestRun, When
from selfdebug.pytest_process import ForkServer, Interpreter, PreloadedServer, PytestRequest, WarmServer

_Situation = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, bytes], ...]]


@dataclass(frozen=True, slots=True)
class Screened:
    """The tests that are run for each candidate, and the files as they stand without one."""

    group: Sequence[Failure]
    node_ids: Sequence[str]
    edited: Mapping[str, bytes]


@dataclass
class Screening:
    """Holds the servers for one set of tests, as long as the files stand as they did when these imported them.

    `also` names more files of tests that are collected, so that `run_some` may run them.
    """

    settings: Settings
    interpreter: Interpreter
    also: tuple[str, ...] = ()
    _servers: dict[type[ForkServer], ForkServer] = field(default_factory=dict)
    _untried: list[type[ForkServer]] = field(default_factory=list)
    _checked: set[type[ForkServer]] = field(default_factory=set)
    _situation: _Situation | None = None
    _group: tuple[Failure, ...] = ()
    _too_many: set[tuple[str, ...]] = field(default_factory=set)

    def prepare(self, what: Screened) -> None:
        """Let the server that is needed first for these tests start, beside whatever is done until its first `run`."""
        if self.also in self._too_many:
            self.also = ()
        situation = (tuple(what.node_ids), self.also, tuple(sorted(what.edited.items())))
        if self._situation == situation:
            return
        self.close()
        self._situation, self._group = situation, tuple(what.group)
        if what.node_ids:  # else all tests are run
            is_collected = all(failure.when is not When.COLLECT for failure in what.group)
            self._untried = [WarmServer, PreloadedServer] if is_collected else [PreloadedServer]
            self._start_next(what.edited)

    def run(self, what: Screened, sources: Mapping[str, bytes], run_id: str) -> PytestRun | None:
        """Run the tests with `sources` on top of the files as they stand; None where this cannot be told here.

        The run tells in `tier` which of the servers did it. The second of them starts when the first cannot tell of a
        candidate, and is asked from the next such candidate on.
        """
        self._prepare_surely(what)
        for kind in list(self._servers):
            run = self._run(kind, what.group, sources, run_id)
            if run is not None or (kind in self._servers and self._servers[kind].is_beyond_forks):
                return run
        self._start_next(what.edited)
        return None

    def look(self, what: Screened, sources: Mapping[str, bytes], run_id: str) -> PytestRun | None:
        """Run the tests with the probes that `sources` hold; None where this cannot be told here.

        They may be some of those that a server has collected already.
        """
        collected = self._situation[0] if self._situation is not None else ()
        is_collected = set(what.node_ids) <= set(collected)
        self._prepare_surely(replace(what, node_ids=collected) if is_collected else what)
        is_sound = self._is_sound(WarmServer, what.group)
        return self.run_some(what.node_ids, sources, run_id, probes=True) if is_sound else None

    def run_some(
        self, tests: Sequence[str], sources: Mapping[str, bytes], run_id: str, probes: bool = False
    ) -> PytestRun | None:
        """Run tests of the same files with `sources`, on top of the files as they were when the tests were collected.

        With `probes`, what the recorder calls in `sources` see is in the run. None where this cannot be told here.
        """
        server = self._servers.get(WarmServer)
        if not isinstance(server, WarmServer) or not self._is_sound(WarmServer, self._group):
            return None
        return server.run_some(tests, sources, self.settings.timeout, run_id, probes)

    def _prepare_surely(self, what: Screened) -> None:
        """As `prepare`; where a server is of no use with more files than those of the tests, it does without them."""
        self.prepare(what)
        server = self._servers.get(WarmServer)
        if self.also and server is not None and not server.is_usable():
            self._too_many.add(self.also)
            self.prepare(what)

    def dismiss(self) -> None:
        """Let the servers end by themselves, while something else is done: they are not asked any more."""
        for server in self._servers.values():
            server.dismiss()

    def close(self) -> None:
        """End the servers; they are not started again for the same tests and files."""
        while self._servers:
            self._servers.popitem()[1].close()
        self._untried.clear()
        self._checked.clear()

    def _run(
        self, kind: type[ForkServer], group: Sequence[Failure], sources: Mapping[str, bytes], run_id: str
    ) -> PytestRun | None:
        return self._servers[kind].run(sources, self.settings.timeout, run_id) if self._is_sound(kind, group) else None

    def _is_sound(self, kind: type[ForkServer], group: Sequence[Failure]) -> bool:
        """Whether a server is of use: it is ready, and there the unchanged tests fail as they do elsewhere."""
        server = self._servers.get(kind)
        if server is None or not server.is_usable():
            return False
        if kind not in self._checked:
            self._checked.add(kind)
            if server.control is None or not all(_is_there(failure, server.control) for failure in group):
                self._servers.pop(kind).close()
                return False
        return True

    def _start_next(self, edited: Mapping[str, bytes]) -> None:
        if not self._untried or self._situation is None:
            return
        kind = self._untried.pop(0)
        node_ids = self._situation[0]
        request = PytestRequest(
            self.interpreter,
            self.settings.root,
            node_ids=node_ids,
            pytest_args=self.settings.pytest_args,
            timeout=self.settings.timeout,
            sources=edited if self.settings.dry_run else {},
        )
        collect = files_of((*node_ids, *self.also)) if kind is WarmServer else ()
        self._servers[kind] = kind(request, collect=collect, alone=self.settings.jobs == 1).start()


def files_of(node_ids: Sequence[str]) -> tuple[str, ...]:
    """The files (or folders) in which the tests lie."""
    return tuple(dict.fromkeys(node.partition("::")[0] for node in node_ids))


def _is_there(failure: Failure, run: PytestRun) -> bool:
    """Whether the unchanged tests fail here as they did in a process of their own."""
    return any(
        new.node_id == failure.node_id
        and new.exception.type == failure.exception.type
        and (new.deepest and new.deepest.place) == (failure.deepest and failure.deepest.place)
        for new in run.failures
    )
