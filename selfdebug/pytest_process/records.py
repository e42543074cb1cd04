"""From the JSON lines of the plugin to the records of a run.

The lines come from a process in which the project's tests ran, so nothing in them is trusted to be complete: a line
that cannot be read is left out, and a run without its last line has not ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codemods.selfdebug.spans import Span, code_point_column
from selfdebug.model import (
    Called,
    ExceptionRecord,
    Failure,
    Frame,
    Function,
    Outcome,
    ProbeCatch,
    ProbeHit,
    PytestRun,
    Trace,
    Value,
    When,
)
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.traces import TraceReader

MAX_LINE_BYTES = 16_000_000
_TEXT_ONLY = "pytest failure"


@dataclass(slots=True)
class Recorded:
    """What the plugin's files say of one run; `is_greeted` tells whether the plugin was there at all."""

    is_greeted: bool = False
    is_ended: bool = False
    python: str = ""
    pytest: str = ""
    collected: int = 0
    running: str | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    hits: list[ProbeHit] = field(default_factory=list)
    catches: list[ProbeCatch] = field(default_factory=list)
    served: set[str] = field(default_factory=set)
    loaded_before: set[str] = field(default_factory=set)
    traces: list[Trace] = field(default_factory=list)
    called: dict[Function, Called] = field(default_factory=dict)
    halted_by: str | None = None
    durations: dict[str, float] = field(default_factory=dict)
    calls: dict[tuple[str, int], dict[str, None]] = field(default_factory=dict)
    calls_gap: str = ""

    def as_run(
        self, run_id: str, proposed: tuple[str, ...], command: tuple[str, ...], exit_code: int | None, seconds: float
    ) -> PytestRun:
        """The record of a run in which all this was seen."""
        return PytestRun(
            id=run_id,
            proposed=proposed,
            command=command,
            exit_code=exit_code,
            seconds=seconds,
            outcomes=tuple(self.outcomes.items()),
            failures=tuple(self.failures),
            hits=tuple(self.hits),
            catches=tuple(self.catches),
            served=tuple(sorted(self.served - self.loaded_before)),
            ended=self.is_ended,
            collected=self.collected,
            python=self.python,
            pytest=self.pytest,
            running=self.running,
            traces=tuple(self.traces),
            called=tuple(sorted(self.called.values(), key=lambda each: (each.function.file, each.function.line))),
            halted_by=self.halted_by,
            durations=tuple(self.durations.items()),
        )


def read_records(base: Path, project: ProjectFiles) -> Recorded:
    """Read the files `<base>.<pid>` that the processes of one run have written."""
    files = [list(_lines(path)) for path in sorted(base.parent.glob(f"{base.name}.*"))]
    greetings = [line for lines in files for line in lines if line["kind"] == "hello"]
    reader = _Reader(project, str(greetings[0]["rootdir"]) if greetings else None)
    # The file of the process that was started comes first, so that outcomes are in the order of the run.
    for lines in sorted(files, key=lambda lines: not any(_is_main(line) for line in lines)):
        reader.begin_process()
        for line in lines:
            reader.take(line)
    return reader.finished()


def failure_of(record: dict[str, Any], node_id: str | None, when: When, project: ProjectFiles) -> Failure:
    """The failure that the plugin describes in one record, apart from any run."""
    return _Reader(project, None).failure(record, node_id, when)


def _is_main(line: dict[str, Any]) -> bool:
    return line["kind"] == "hello" and not line["worker"]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            try:
                record = json.loads(line)
            except ValueError:  # cut by a full disk or a kill
                continue
            if isinstance(record, dict) and "kind" in record:
                yield record


class _Reader:
    """Takes the lines one by one."""

    def __init__(self, project: ProjectFiles, rootdir: str | None) -> None:
        self._project = project
        self._rootdir = rootdir
        self._found = Recorded()
        self._details: dict[str, list[Failure]] = {}
        self._trace = TraceReader(project)
        self._functions: dict[int, tuple[str, int]] = {}
        self._is_worker = False

    def begin_process(self) -> None:
        """The lines that follow come from another process."""
        self._trace = TraceReader(self._project)
        self._functions = {}
        self._is_worker = False

    def take(self, line: dict[str, Any]) -> None:
        """Take one line; kinds that are not known are left out."""
        taker = getattr(self, f"_take_{str(line['kind']).replace('-', '_')}", None)
        if taker is not None:
            taker(line)

    def finished(self) -> Recorded:
        """What was read, with exactly those failures whose tests did fail in the end."""
        found = self._found
        for node_id, outcome in found.outcomes.items():
            if outcome not in (Outcome.FAILED, Outcome.ERROR):
                continue
            found.failures += self._details.get(node_id) or [_untold(node_id)]
        found.hits.sort(key=lambda hit: (hit.node_id or "", hit.sequence))
        found.catches.sort(key=lambda catch: (catch.node_id or "", catch.sequence))
        return found

    def _node(self, node: Any) -> str:
        return self._project.node_id(str(node), self._rootdir)

    def _take_hello(self, line: dict[str, Any]) -> None:
        self._is_worker = bool(line["worker"])
        if not line["worker"]:
            self._found.is_greeted = True
            self._found.python, self._found.pytest = str(line["python"]), str(line["pytest"])

    def _take_collected(self, line: dict[str, Any]) -> None:
        self._found.collected = max(self._found.collected, int(line["count"]))

    def _take_end(self, line: dict[str, Any]) -> None:
        if self._is_worker:  # only the controller knows whether all were run
            return
        internal_error = 3  # of pytest or of a plugin
        self._found.is_ended = self._found.is_greeted and line["status"] != internal_error and not line["stopped"]

    def _take_start(self, line: dict[str, Any]) -> None:
        self._found.running = self._node(line["node"])

    def _take_test(self, line: dict[str, Any]) -> None:
        node_id = self._node(line["node"])
        self._found.outcomes[node_id] = _outcome(line["phases"])
        self._found.durations[node_id] = float(line["seconds"])
        if self._found.running == node_id:
            self._found.running = None

    def _take_rerun(self, line: dict[str, Any]) -> None:
        self._details.pop(self._node(line["node"]), None)

    def _take_failure(self, line: dict[str, Any]) -> None:
        if not line["node"]:  # of the session itself: an error in a hook
            self._found.failures.append(self.failure(line, None, When(line["when"])))
            return
        node_id = self._node(line["node"])
        failure = self.failure(line, node_id, When(line["when"]))
        if failure.when is When.COLLECT:
            self._found.outcomes.setdefault(node_id, Outcome.ERROR)
            if any(known.exception == failure.exception for known in self._details.get(node_id, ())):
                return  # each worker collects everything
        self._details.setdefault(node_id, []).append(failure)

    def _take_hits(self, line: dict[str, Any]) -> None:
        for hit in line["hits"]:
            node_id = None if hit["node"] is None else self._node(hit["node"])
            self._found.hits.append(
                ProbeHit(hit["id"], node_id, hit["function"], _value(hit["value"]), hit["sequence"])
            )

    def _take_catch(self, line: dict[str, Any]) -> None:
        node_id = None if line["node"] is None else self._node(line["node"])
        exception = _exception(line["exception"])
        self._found.catches.append(
            ProbeCatch(line["id"], node_id, line["function"], exception, _locals(line["locals"]), line["sequence"])
        )

    def _take_trace(self, line: dict[str, Any]) -> None:
        self._trace.take(line["events"])

    def _take_traced(self, line: dict[str, Any]) -> None:
        node_id = None if line["node"] is None else self._node(line["node"])
        self._found.traces.append(self._trace.finished(node_id, str(line["gap"]), int(line["oldest"])))

    def _take_code(self, line: dict[str, Any]) -> None:
        file = self._project.file(str(line["path"]))
        if file is not None:
            self._functions[int(line["id"])] = (file, int(line["line"]))

    def _take_calls(self, line: dict[str, Any]) -> None:
        node_id = self._node(line["node"])
        for number in line["codes"]:
            if number in self._functions:
                self._found.calls.setdefault(self._functions[number], {})[node_id] = None

    def _take_calls_gap(self, line: dict[str, Any]) -> None:
        self._found.calls_gap = str(line["reason"])

    def _take_halted(self, line: dict[str, Any]) -> None:
        self._found.halted_by = self._node(line["node"])

    def _take_called(self, line: dict[str, Any]) -> None:
        if self._found.called:
            return  # what came after the first failure does not explain it
        for path, name, first_line, calls, returned_none in line["functions"]:
            file = self._project.file(str(path))
            if file is not None:
                function = Function(file, str(name), int(first_line))
                self._found.called[function] = Called(function, int(calls), bool(returned_none))

    def _take_served(self, line: dict[str, Any]) -> None:
        file = self._project.file(str(line["path"]))
        if file is not None:
            self._found.served.add(file)

    def _take_loaded_before(self, line: dict[str, Any]) -> None:
        file = self._project.file(str(line["path"]))
        if file is not None:
            self._found.loaded_before.add(file)

    def failure(self, record: dict[str, Any], node_id: str | None, when: When) -> Failure:
        """The failure of one record, with its causes and leaves."""
        if "exception" not in record:
            return _told_in_words(node_id, when, str(record.get("text", "")))
        return Failure(
            node_id=node_id,
            when=when,
            exception=_exception(record["exception"]),
            frames=tuple(self._frame(frame) for frame in record["frames"]),
            causes=tuple(self.failure(cause, node_id, when) for cause in record.get("causes", ())),
            group=tuple(self.failure(leaf, node_id, when) for leaf in record.get("group", ())),
        )

    def _frame(self, record: dict[str, Any]) -> Frame:
        path = str(record["path"])
        file = self._project.file(path)
        return Frame(
            path=path,
            line=record["line"],
            function=record["function"],
            file=file,
            span=_span(record),
            code=str(record["code"]).strip() or None,
            locals=_locals(record.get("locals", ())),
            is_test=file is not None and self._project.is_test(file),
            is_hidden=bool(record["hidden"]),
        )


def _span(record: dict[str, Any]) -> Span | None:
    """The span of the frame's instruction; None where the lines are not known, so that its columns would be a guess."""
    if "position" not in record:
        return None
    line, column, end_line, end_column = record["position"]
    first, last = record["position_lines"]
    if not first or not last:
        return None
    return Span(line, code_point_column(first, column), end_line, code_point_column(last, end_column))


def _exception(record: dict[str, Any]) -> ExceptionRecord:
    return ExceptionRecord(
        type=record["type"],
        message=record["message"],
        name=record["name"],
        key=record["key"],
        is_cut=record["is_cut"],
        mro=tuple(record["mro"]),
    )


def _value(record: dict[str, Any]) -> Value:
    return Value(
        type=record["type"],
        repr=record["repr"],
        is_none=record["is_none"],
        truncated=record["truncated"],
        redacted=record["redacted"],
        bases=tuple(record["bases"]),
    )


def _locals(pairs: Iterable[tuple[str, dict[str, Any]]]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, _value(value)) for name, value in pairs)


def _outcome(phases: list[tuple[str | None, str]]) -> Outcome:
    """How a test ended, from the outcomes of its phases (several calls, when it has subtests or was run again)."""
    failed = {when for when, outcome in phases if outcome == "failed"}
    seen = {outcome for when, outcome in phases if when == "call"}
    if failed:
        return Outcome.ERROR if failed <= {"setup", "teardown"} else Outcome.FAILED
    for outcome in (Outcome.XFAILED, Outcome.XPASSED, Outcome.PASSED):
        if outcome in seen:
            return outcome
    if "xfailed" in (outcome for _, outcome in phases):
        return Outcome.XFAILED
    # A test without a call that was not skipped has not been run to its end.
    return Outcome.SKIPPED if "skipped" in (outcome for _, outcome in phases) else Outcome.ERROR


def _told_in_words(node_id: str | None, when: When, text: str) -> Failure:
    """A failure that pytest made up without an exception: a strict xfail that passed, a worker that crashed."""
    message = text.strip()
    return Failure(node_id, when, ExceptionRecord(_TEXT_ONLY, message or "failed without an exception"))


def _untold(node_id: str) -> Failure:
    return _told_in_words(node_id, When.CALL, "")
