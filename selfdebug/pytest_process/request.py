"""What pytest is asked to do: one record, whether a process of its own or the forks of a server do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfdebug.model import Tracing
from selfdebug.pytest_process.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class PytestRequest:
    """The tests `node_ids` (all that the project configures, without any) of `root`, for at most `timeout` seconds.

    `sources` maps files, relative to `root`, to the bytes that are served in their place; the run says in `served`
    which of them were. `env` is the environment to start from, this process's without one. With `record_probes`, the
    functions that probes call are there. With `trace`, the project's own code is traced, and the run has a trace of
    what led to each failure: all of it, only of some functions, or (of the first of two passes) which functions
    returned None. With `calls`, the run tells which functions of the project each test ran. The first test of
    `passing` that fails ends the session.
    """

    interpreter: Interpreter
    root: Path
    node_ids: tuple[str, ...] = ()
    pytest_args: tuple[str, ...] = ()
    timeout: float = 600.0
    sources: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] | None = None
    record_probes: bool = False
    trace: Tracing | None = None
    calls: bool = False
    passing: tuple[str, ...] = ()
