"""The quickest tier: one pytest process has collected its tests, and each of its forks runs them with edited functions.

For edits inside of functions. What the process refuses is in the plugin's `warm`, `swapping` and `forking` modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from selfdebug.model import PytestRun, Tier
from selfdebug.pytest_process.forkserver import ForkServer


class WarmServer(ForkServer):
    """A process that has collected its tests; `run` says nothing of an edit that changes more than functions' insides.

    Nothing is said either where the tests or their modules do something that forks do not bear, or where two runs
    without an edit do not end in the same way.
    """

    tier: ClassVar[Tier] = Tier.WARM
    _variable: ClassVar[str] = "SELFDEBUG_WARM"

    def run_some(
        self, tests: Sequence[str], sources: Mapping[str, bytes], timeout: float, run_id: str = "", probes: bool = False
    ) -> PytestRun | None:
        """As `run`, but with other tests of those that were collected: node ids, or those of files and folders.

        With `probes`, the functions that probes call are there, and a failing test does not end the run.
        """
        done = self._told(sources, timeout, run_id, {"tests": list(tests), "probes": probes})
        return None if done is None else replace(done, proposed=tuple(tests))

    @contextmanager
    def _surroundings(self, folder: Path) -> Iterator[Mapping[str, Any]]:  # noqa: ARG002 - its jobs need no folder
        yield {"tests": list(self._node_ids), "probes": False}

    def _why_no_control(self) -> str | None:
        first = self._run({}, self._seconds_left())
        return first.problem or self._compared(first, self._run({}, self._seconds_left()))
