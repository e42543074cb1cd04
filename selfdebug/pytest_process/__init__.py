"""Runs pytest on a project: in its own interpreter, with our plugin injected, bounded in time and output.

This package is the only place that starts processes. Each run has a fresh folder for everything that pytest writes, so
that nothing is left in the project, and ends with all its descendants.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from selfdebug.errors import PytestRunError
from selfdebug.model import Calls, PytestRun, Suspects
from selfdebug.pytest_process.child import Ended, run_child
from selfdebug.pytest_process.command import launch
from selfdebug.pytest_process.forkserver import ForkServer
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.pytest_process.last_words import how_ended, last_telling_lines
from selfdebug.pytest_process.orphans import adopting
from selfdebug.pytest_process.preloaded import PreloadedServer
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import Recorded, read_records
from selfdebug.pytest_process.request import PytestRequest
from selfdebug.pytest_process.scratch import Scratch, scratch_folder
from selfdebug.pytest_process.warm import WarmServer

__all__ = [
    "ForkServer",
    "Interpreter",
    "PreloadedServer",
    "PytestRequest",
    "PytestStartError",
    "WarmServer",
    "adopting",
    "run_pytest",
]

_LAST_WORDS = 4_000


class PytestStartError(PytestRunError):
    """pytest ended before its session began; `run` holds what is known, such as the failure of a conftest's import."""

    def __init__(self, message: str, run: PytestRun) -> None:
        super().__init__(message, reason="pytest-start")
        self.run = run


def run_pytest(
    request: PytestRequest,
    *,
    run_id: str = "pytest",
    progress: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> PytestRun:
    """Run tests in a process of their own.

    `progress` is called with the number of tests done and the number collected, `meanwhile` once, as soon as pytest has
    been started.

    A time-out, a killed process, no tests (exit code 5) and unknown node ids (4) are told by the returned run. Raises
    PytestStartError when the plugin was never heard of: a conftest that cannot be imported, wrong options. With
    `sources` such a run is returned, since it says something of them: it has not `ended`. Raises UsageError for a
    node id that pytest would take for an option.
    """
    project = ProjectFiles(request.root)
    with scratch_folder(marker=uuid.uuid4().hex) as scratch:
        start = launch(replace(request, root=project.root), scratch)
        tick = None if progress is None else _ticker(scratch, progress)
        ended = run_child(start, request.timeout, tick, meanwhile)
        recorded = read_records(scratch.records, project)
    run = _run(run_id, request, start.command, ended, recorded)
    if not (recorded.is_greeted or ended.timed_out or request.sources):
        raise PytestStartError(_why_not_started(ended), run)
    return run


def _run(run_id: str, request: PytestRequest, command: tuple[str, ...], ended: Ended, found: Recorded) -> PytestRun:
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
