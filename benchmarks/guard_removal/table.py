"""What the measurements come to: a table of results by split, and one of the kinds of guards."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.guard_removal.projects import Split
from benchmarks.guard_removal.trials import Measured, Result

_RESULTS = tuple(result for result in Result if result is not Result.NO_CRASH)


def tables(done: Sequence[Measured]) -> str:
    """Counts of the removals that crashed a suite, by result."""
    crashed = [entry for entry in done if entry.result is not Result.NO_CRASH]
    splits: list[tuple[str, list[Measured]]] = [
        (split.value, [entry for entry in crashed if entry.split == split.value]) for split in Split
    ]
    parts = [_table("split", [*splits, ("all", crashed)])]
    for name, key in (("project", _project), ("asks", _what), ("form", _form)):
        groups = sorted({key(entry) for entry in crashed})
        parts.append(_table(name, [(group, [entry for entry in crashed if key(entry) == group]) for group in groups]))
    return "\n\n".join(parts)


def _project(entry: Measured) -> str:
    return entry.project


def _what(entry: Measured) -> str:
    return entry.what


def _form(entry: Measured) -> str:
    return entry.form


def _table(name: str, rows: Sequence[tuple[str, Sequence[Measured]]]) -> str:
    head = f"{name:16}{'removals':>9}" + "".join(f"{_SHORT[result]:>12}" for result in _RESULTS)
    lines = [head + f"{'median s':>10}{'median tried':>14}"]
    for label, entries in rows:
        counts = "".join(f"{sum(entry.result is result for entry in entries):12}" for result in _RESULTS)
        seconds = statistics.median(entry.seconds for entry in entries) if entries else 0.0
        tried = statistics.median(entry.tried for entry in entries) if entries else 0.0
        lines.append(f"{label:16}{len(entries):9}{counts}{seconds:10.1f}{tried:14.0f}")
    return "\n".join(lines)


_SHORT = {
    Result.SAME: "same",
    Result.EQUIVALENT: "equivalent",
    Result.DIFFERENT: "different",
    Result.NOTHING: "nothing",
    Result.ERROR: "error",
}
