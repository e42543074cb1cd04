"""Writes what was measured as Markdown: how it is measured, the tables, and each patch that is not the original.

What a reader of the patches found is kept apart from the measurements, as sentences by removal.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.guard_removal.projects import Split
from benchmarks.guard_removal.trials import Measured, Result

_RIGHT = (Result.SAME, Result.EQUIVALENT)
_COLUMNS = (
    "crashing removals",
    "same",
    "equivalent",
    "right",
    "different, with a warning",
    "different, without",
    "nothing",
    "not ended in time",
    "error",
    "median s",
    "median candidates",
)
_HEAD = """\
# Guards that were removed from real projects

One guard is taken out of a project that is published with its tests; where the project's own tests crash without it,
`selfdebug run` is asked to repair the project. This page is written by

    python -m benchmarks guard-removal --document docs/guard-removal.md

from the results of runs of `python -m benchmarks guard-removal` (see `--help`; a fixed seed chooses the removals, each
kind of guard in its turn). The patches of the projects of the first split were read one by one while the tool was
bettered; those of the second were only measured.

- same: the syntax trees are equal.
- equivalent: all tests of the project pass, and each function around the difference did the same in each of its calls
  in the whole suite: what it gave back or that it raised, and what it left in its arguments.
- different: the tests pass, and something of that is not the same. A warning is a part that the report calls not pinned
  by any test.
- nothing: everything was put back. Not ended in time: the run was stopped after the time that `--limit` gives.

What chooses between two ways of doing the work is not removed, and tests that take over a second are left out.
"""


def document(done: Sequence[Measured], about: str, readings: Mapping[str, str]) -> str:
    """The page for all measurements; `about` says how these were made.

    `readings` says by removal what a reader found wrong with a patch.
    """
    parts = [_HEAD, f"{about}\n", tables(done)]
    for split, entries in _splits(_crashed(done)):
        different = [entry for entry in entries if entry.result is Result.DIFFERENT]
        missed = [entry for entry in entries if entry.result in (Result.NOTHING, Result.ERROR)]
        if different:
            parts.append(f"## Different patches: {split}\n")
            parts += [_patch(entry, readings.get(entry.removal, "")) for entry in different]
        doubted = [entry for entry in entries if entry.result is Result.EQUIVALENT and entry.removal in readings]
        if doubted:
            parts.append(f"## Counted as equivalent, and yet not the same: {split}\n")
            parts += [_patch(entry, readings[entry.removal]) for entry in doubted]
        if missed:
            parts.append(f"## Not repaired: {split}\n")
            parts += [_missed(entry, readings.get(entry.removal, "")) for entry in missed]
    return "\n".join(parts)


def tables(done: Sequence[Measured]) -> str:
    """What became of the removals that crashed a suite: by split, by project, by kind and by form of the guard."""
    crashed = _crashed(done)
    parts = [_table("split", [*_splits(crashed), ("all", crashed)]), _sentence(crashed)]
    parts += [_table(name, _grouped(crashed, key)) for name, key in _GROUPS.items()]
    return "\n".join(parts)


def _crashed(done: Sequence[Measured]) -> list[Measured]:
    return [entry for entry in done if entry.result is not Result.NO_CRASH]


def _splits(crashed: Sequence[Measured]) -> list[tuple[str, list[Measured]]]:
    return [(split.value, [entry for entry in crashed if entry.split == split.value]) for split in Split]


def _sentence(crashed: Sequence[Measured]) -> str:
    silent = sum(entry.result is Result.DIFFERENT and not entry.is_warned for entry in crashed)
    right = sum(entry.result in _RIGHT for entry in crashed)
    each = f"{right / silent:.1f} right ones for each of them" if silent else "no such patch"
    return f"Patches that are kept without a warning and are different: {silent}; {each}.\n"


_GROUPS: dict[str, Callable[[Measured], str]] = {
    "project": lambda entry: entry.project,
    "kind": lambda entry: entry.what,
    "form": lambda entry: entry.form,
}


def _grouped(entries: Sequence[Measured], key: Callable[[Measured], str]) -> list[tuple[str, list[Measured]]]:
    names = dict.fromkeys(key(entry) for entry in entries)
    return [(name, [entry for entry in entries if key(entry) == name]) for name in names]


def _table(name: str, rows: Sequence[tuple[str, Sequence[Measured]]]) -> str:
    lines = [f"| {name} | {' | '.join(_COLUMNS)} |", f"| --- |{' ---: |' * len(_COLUMNS)}"]
    lines += [f"| {label} | {' | '.join(_cells(entries))} |" for label, entries in rows]
    return "\n".join([*lines, ""])


def _cells(entries: Sequence[Measured]) -> Iterator[str]:
    count = {result: sum(entry.result is result for entry in entries) for result in Result}
    warned = sum(entry.result is Result.DIFFERENT and entry.is_warned for entry in entries)
    right = sum(count[result] for result in _RIGHT)
    yield str(len(entries))
    yield str(count[Result.SAME])
    yield str(count[Result.EQUIVALENT])
    yield f"{100 * right / len(entries):.0f} %" if entries else "-"
    yield str(warned)
    yield str(count[Result.DIFFERENT] - warned)
    late = sum(entry.is_late for entry in entries)
    yield str(count[Result.NOTHING] - late)
    yield str(late)
    yield str(count[Result.ERROR])
    yield f"{statistics.median(entry.seconds for entry in entries):.0f}" if entries else "-"
    yield f"{statistics.median(entry.tried for entry in entries):.0f}" if entries else "-"


def _patch(entry: Measured, reading: str) -> str:
    warning = "with a warning" if entry.is_warned else "without a warning"
    told = f" {reading}" if reading else ""
    why = f"; {entry.detail}" if entry.result is Result.DIFFERENT else ""
    title = f"### {entry.project}: {_place(entry)}\n\n{entry.crash}; kept {warning}{why}.{told}\n"
    return f"{title}\nThe original:\n\n{_code(entry.original)}\nThe patch:\n\n{_code(entry.diff)}"


def _missed(entry: Measured, reading: str) -> str:
    told = f" {reading}" if reading else ""
    title = f"### {entry.project}: {_place(entry)}\n\n{entry.crash}; {_effort(entry)}.{told}\n"
    return f"{title}\n{_code(entry.original)}"


def _effort(entry: Measured) -> str:
    return entry.detail if entry.is_late else f"{entry.tried} candidates"


def _place(entry: Measured) -> str:
    file, line = entry.removal.split(":")[:2]
    return f"{file}, line {line} ({entry.what}, {entry.form})"


def _code(diff: str) -> str:
    """The changed lines of a difference with those around them, without the names of the files."""
    lines = [line for line in diff.splitlines() if not line.startswith(("diff --git", "--- ", "+++ "))]
    return "\n".join(["```diff", *(line.rstrip() for line in lines), "```", ""])
