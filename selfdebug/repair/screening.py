"""The quick first judgement of candidates, in forks of one pytest process that has collected the failing tests.

It speaks only where it is sure; else, and for everything that is decided in the end, a process of its own is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfdebug.config import Settings
from selfdebug.model import Failure, PytestRun, When
from selfdebug.pytest_process import Interpreter, WarmServer

_Situation = tuple[tuple[str, ...], tuple[tuple[str, bytes], ...]]


@dataclass
class Screening:
    """Holds the server for one set of tests, as long as the files stand as they did when it imported them."""

    settings: Settings
    interpreter: Interpreter
    _server: WarmServer | None = None
    _situation: _Situation | None = None
    _is_checked: bool = False

    def prepare(self, group: Sequence[Failure], node_ids: Sequence[str], edited: Mapping[str, bytes]) -> None:
        """Let the server for these tests start, beside whatever is done until its first `run`."""
        if not node_ids or any(failure.when is When.COLLECT for failure in group):
            self.close()
            self._situation = None
            return  # all tests are run, or nothing is collected of which a child could run
        situation = (tuple(node_ids), tuple(sorted(edited.items())))
        if self._situation != situation:
            self._start(situation, edited)

    def run(
        self,
        group: Sequence[Failure],
        node_ids: Sequence[str],
        edited: Mapping[str, bytes],
        sources: Mapping[str, bytes],
        run_id: str,
    ) -> PytestRun | None:
        """Run `node_ids` with `sources`, on top of the `edited` files; None where this cannot be told here."""
        self.prepare(group, node_ids, edited)
        server = self._server
        if server is None:
            return None
        run = server.run(sources, self.settings.timeout, run_id)
        if server.control is not None and not self._is_checked:
            self._is_checked = True
            if not all(_is_there(failure, server.control) for failure in group):
                self.close()
                return None
        return run

    def close(self) -> None:
        """End the server, if there is one; it is not started again for the same tests and files."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _start(self, situation: _Situation, edited: Mapping[str, bytes]) -> None:
        self.close()
        self._situation, self._is_checked = situation, False
        self._server = WarmServer(
            self.interpreter,
            self.settings.root,
            node_ids=situation[0],
            pytest_args=self.settings.pytest_args,
            sources=edited if self.settings.dry_run else None,
            start_timeout=self.settings.timeout,
        ).start()


def _is_there(failure: Failure, run: PytestRun) -> bool:
    """Whether the unchanged tests fail here as they did in a process of their own."""
    return any(
        new.node_id == failure.node_id
        and new.exception.type == failure.exception.type
        and (new.deepest and new.deepest.place) == (failure.deepest and failure.deepest.place)
        for new in run.failures
    )
