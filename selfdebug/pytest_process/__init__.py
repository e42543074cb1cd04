"""Runs pytest on a project: in its own interpreter, with our plugin injected, bounded in time and output.

This package is the only place that starts processes. Each run has a fresh folder for everything that pytest writes, so
that nothing is left in the project, and ends with all its descendants.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from selfdebug.errors import PytestRunError
from selfdebug.model import Calls, PytestRun, Suspects, Tracing
from selfdebug.pytest_process.child import Ended, run_child
from selfdebug.pytest_process.command import Request, launch
from selfdebug.pytest_process.forkserver import ForkServer
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.pytest_process.last_words import how_ended, last_telling_lines
from selfdebug.pytest_process.orphans import adopting
from selfdebug.pytest_process.preloaded import PreloadedServer
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import Recorded, read_records
from selfdebug.pytest_process.scratch import Scratch, scratch_folder
from selfdebug.pytest_process.warm import WarmServer

__all__ = ["ForkServer", "Interpreter", "PreloadedServer", "PytestStartError", "WarmServer", "adopting", "run_pytest"]

_LAST_WORDS = 4_000


class PytestStartError(PytestRunError):
    """pytest ended before its session began; `run` holds what is known, such as the failure of a conftest's import."""

    def __init__(self, message: str, run: PytestRun) -> None:
        super().__init__(message, reason="pytest-start")
        self.run = run


def run_pytest(  # noqa: PLR0913 - the options of one run, all of them by name
    interpreter: Interpreter,
    root: Path,
    *,
    node_ids: Sequence[str] = (),
    pytest_args: Sequence[str] = (),
    timeout: float = 600.0,
    sources: Mapping[str, bytes] | None = None,
    record_probes: bool = False,
    run_id: str = "pytest",
    progress: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
    env: Mapping[str, str] | None = None,
    trace: Tracing | None = None,
    calls: bool = False,
    passing: Sequence[str] = (),
) -> PytestRun:
    """Run the tests `node_ids` (all that the project configures, without any) in `root` for at most `timeout` seconds.

    `sources` maps files, relative to `root`, to the bytes that are served in their place; the run says in `served`
    which of them were. With `record_probes`, the functions that probes call are there. `progress` is called with the
    number of tests done and the number collected, `meanwhile` once, as soon as pytest has been started. `env` is the
    environment to start from, this process's by default. With `trace`, the project's own code is traced, and the run
    has a trace of what led to each failure: all of it, only of some functions, or (of the first of two passes) which
    functions returned None. With `calls`, it tells which functions of the project each test ran. The first test of
    `passing` that fails ends the session.

    A time-out, a killed process, no tests (exit code 5) and unknown node ids (4) are told by the returned run. Raises
    PytestStartError when the plugin was never heard of: a conftest that cannot be imported, wrong options. With
    `sources` such a run is returned, since it says something of them: it has not `ended`. Raises UsageError for a
    node id that pytest would take for an option.
    """
    project = ProjectFiles(root)
    request = Request(
        interpreter=interpreter,
        root=project.root,
        node_ids=tuple(node_ids),
        pytest_args=tuple(pytest_args),
        sources=sources or {},
        record_probes=record_probes,
        env=os.environ if env is None else env,
        trace=trace,
        calls=calls,
        passing=tuple(passing),
    )
    with scratch_folder(marker=uuid.uuid4().hex) as scratch:
        start = launch(request, scratch)
        tick = None if progress is None else _ticker(scratch, progress)
        ended = run_child(start, timeout, tick, meanwhile)
        recorded = read_records(scratch.records, project)
    run = _run(run_id, request, start.command, ended, recorded)
    if not (recorded.is_greeted or ended.timed_out or sources):
        raise PytestStartError(_why_not_started(ended), run)
    return run


def _run(run_id: str, request: Request, command: tuple[str, ...], ended: Ended, found: Recorded) -> PytestRun:
    exit_code = None if ended.timed_out else ended.exit_code
    return replace(
        found.as_run(run_id, request.node_ids, command, exit_code, ended.seconds),
        ended=found.is_ended and not ended.timed_out,
        timed_out=ended.timed_out,
        out_of_memory=request.interpreter.memory is not None and _ran_out_of_memory(ended, found),
        output=ended.output,
        is_output_cut=ended.is_output_cut,
        traces=tuple(replace(trace, is_narrow=isinstance(request.trace, Suspects)) for trace in found.traces),
        calls=_calls(found) if request.calls else None,
    )


def _calls(found: Recorded) -> Calls:
    return Calls({function: tuple(nodes) for function, nodes in found.calls.items()}, found.calls_gap)


def _ran_out_of_memory(ended: Ended, found: Recorded) -> bool:
    """Whether a run with a limit has met it: Python says so in a test, or as the last thing before its end."""
    is_told = any(failure.crash.exception.type == "MemoryError" for failure in found.failures)
    return is_told or (not found.is_ended and "MemoryError" in ended.output[-_LAST_WORDS:])


def _ticker(scratch: Scratch, progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Reads what the plugin has written since the last tick, by a cheap look at each line."""
    read: dict[Path, int] = {}
    counts = {"done": 0, "collected": 0}

    def tick() -> None:
        before = dict(counts)
        for path in scratch.folder.glob(f"{scratch.records.name}.*"):
            with path.open("rb") as stream:
                stream.seek(read.get(path, 0))
                new = stream.read()
            read[path] = read.get(path, 0) + len(new)
            counts["done"] += new.count(b'"kind":"test"')
            for number in re.findall(rb'"count":(\d+),"kind":"collected"', new):
                counts["collected"] = max(counts["collected"], int(number))
        if counts != before:
            progress(counts["done"], counts["collected"])

    return tick


def _why_not_started(ended: Ended) -> str:
    told = last_telling_lines(ended.output)
    return f"pytest ended {how_ended(ended)} before its session began" + (f": {told}" if told else " and said nothing")
