"""A start of pytest as the trace keeps it: what was asked and what really ran outside, what was seen inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from selfdebug.model import PytestRun, Trace, TracedFrame, TracedValue
from selfdebug.trace import plain
from selfdebug.trace.records import ToolCall
from selfdebug.trace.redaction import Seen

MAX_TESTS = 5000
MAX_HITS = 2000
MAX_HISTORY = 2000
MAX_OUTPUT = 8000
"""What is kept of one inner run; the true counts stand beside it."""


def of_run(run: PytestRun, step: str, why_added: str) -> tuple[ToolCall, dict[str, Any]]:
    """The call that the trace lists, and the inner run."""
    asked = Counter(run.proposed)
    added = tuple((Counter(run.command) - asked).elements()) if run.command else ()
    call = ToolCall(
        id=run.id,
        step=step,
        proposed=run.proposed,
        command=run.command,
        added=added,
        added_because=why_added,
        outcome=outcome(run),
        exit_code=run.exit_code,
        seconds=run.seconds,
        tests=len(run.outcomes),
        has_inner=True,
    )
    return call, inner(run)


def outcome(run: PytestRun) -> str:
    """How a run of pytest went, in one sentence."""
    if run.timed_out:
        return f"It was killed at its time-out after {run.seconds:.1f} s, which proves nothing."
    if run.halted_by is not None:
        return f"It was ended with {run.halted_by}, which passed before and failed."
    if not run.ended:
        return f"It ended (exit code {run.exit_code}) before its session did, which proves nothing."
    counts = Counter(outcome.value for _, outcome in run.outcomes)
    if not counts:
        return f"No test ran (exit code {run.exit_code})."
    return ", ".join(f"{count} {name}" for name, count in counts.items()) + f" (exit code {run.exit_code})."


def inner(run: PytestRun) -> dict[str, Any]:
    """What the plugin saw inside, as JSON-like data."""
    assigned = sorted((entry for trace in run.traces for entry in _traced(trace)), key=lambda entry: entry.sequence)
    return {
        "tests": [[node, outcome.value] for node, outcome in run.outcomes[:MAX_TESTS]],
        "failures": [plain.failure(item) for item in run.failures],
        "hits": [plain.hit(item) for item in run.hits[:MAX_HITS]],
        "catches": [
            {
                "function": catch.function,
                "test": catch.node_id,
                "exception": plain.exception(catch.exception),
                "locals": {name: plain.value(item) for name, item in catch.locals},
                "seq": catch.sequence,
            }
            for catch in run.catches[:MAX_HITS]
        ],
        "history": [_assigned(entry) for entry in assigned[-MAX_HISTORY:]],
        "output": Seen(run.output[-MAX_OUTPUT:]),
        "counts": {
            "tests": len(run.outcomes), "hits": len(run.hits), "catches": len(run.catches), "history": len(assigned),
            "output": len(run.output),
        },
        "gap": "; ".join(dict.fromkeys(trace.gap for trace in run.traces if trace.gap)),
        "served": list(run.served),
        "python": run.python,
        "pytest": run.pytest,
    }  # fmt: skip


class _Assignment(NamedTuple):
    """Who assigned what, where: the trace of one test may hold a million, of which only the last are written down."""

    sequence: int
    frame: TracedFrame
    name: str
    item: TracedValue
    line: int
    how: str


def _traced(trace: Trace) -> Iterator[_Assignment]:
    """What was assigned in each call, each with its place in the order of all events."""
    for one in trace.frames:
        caller = f", called from line {one.caller_line}" if one.caller_line else ""
        for name, item in one.arguments:
            yield _Assignment(one.started, one, name, item, one.first_line, f"argument{caller}")
        for step in one.steps:
            for name, item in step.stores:
                yield _Assignment(step.sequence, one, name, item, step.line, "stored")
            if step.kind == "return" and step.value is not None:
                yield _Assignment(step.sequence, one, f"{one.function}()", step.value, step.line, "returned")


def _assigned(entry: _Assignment) -> dict[str, Any]:
    item = entry.item
    data = {"type": item.type, "is_none": item.is_none, "repr": item.text if item.is_none else Seen(item.text)}
    return {
        "variable": entry.name,
        "value": data,
        "place": f"{entry.frame.file}:{entry.line}",
        "function": entry.frame.qualified,
        "code": entry.how,
        "call": entry.frame.number,
    }


def with_history(inside: dict[str, Any], entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The inner run with traced values added to its history, within the bound."""
    past = [*inside["history"], *entries]
    return {**inside, "history": past[-MAX_HISTORY:], "counts": {**inside["counts"], "history": len(past)}}
