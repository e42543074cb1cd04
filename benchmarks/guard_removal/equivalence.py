"""Do two versions of a file do the same? Equal trees do; otherwise the tests decide, and what their functions did.

Equivalent means: all tests that pass with the original pass with the patch, and the functions around the difference
did the same, call by call, in the whole suite: what they gave back or that they raised, and what they left behind in
their arguments.
"""

from __future__ import annotations

import ast
import difflib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.guard_removal.environments import PLUGIN, Prepared


@dataclass(frozen=True, slots=True)
class _Recorded:
    """One run of the suite: the tests that passed, and for each function its number of calls and digests of them."""

    passed: frozenset[str]
    results: Mapping[str, tuple[int, str]]
    effects: Mapping[str, tuple[int, str]]


def is_same_tree(one: bytes, other: bytes) -> bool:
    """Whether the two sources have equal syntax trees."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def difference(ready: Prepared, original: Mapping[str, bytes], patched: Mapping[str, bytes]) -> str | None:
    """What the patch does otherwise than the original in the project's own suite, in one sentence; None for nothing.

    A function that is called as often in both versions must do the same each time. One that is called more or less
    often is left out, for a guard may stand at the call instead of in the function; but not all may be left out.
    """
    functions = {
        f"{file}::{name}"
        for file, data in patched.items()
        for name in _functions_around(original[file], data) | _functions_around(data, original[file])
    }
    before, after = (_recorded(ready, sources, functions) for sources in (original, patched))
    lost = _lost(before.passed, after.passed)
    if lost is not None:
        return f"{lost} does not pass as often as before"
    comparable = [name for name in before.effects if _calls(before, name) == _calls(after, name)]
    if not comparable:
        return "no function around the difference is called as often as before"
    if all(before.effects[name] == after.effects[name] for name in comparable):
        return None
    again = _recorded(ready, original, functions)
    alike = {name: _is_alike(name, before, again, after) for name in comparable}
    if not any(alike.values()) or False in alike.values():
        return f"not the same in each call: {', '.join(name for name in comparable if not alike[name])}"
    return None


def _lost(before: Iterable[str], after: Iterable[str]) -> str | None:
    """A test function that passes with fewer of its parameters; the ids of these may differ from run to run."""
    one, two = (Counter(node.partition("[")[0] for node in nodes) for nodes in (before, after))
    return min((name for name in one if two[name] < one[name]), default=None)


def _calls(recorded: _Recorded, name: str) -> int:
    return recorded.effects[name][0] if name in recorded.effects else 0


def _is_alike(name: str, before: _Recorded, again: _Recorded, after: _Recorded) -> bool | None:
    """Whether the patched function did the same, told by what is the same twice without a patch; None if nothing is.

    Times and random numbers differ from run to run; then the results may still be comparable.
    """
    for one, two, patched in (
        (before.effects, again.effects, after.effects),
        (before.results, again.results, after.results),
    ):
        if one[name] == two.get(name):
            return one[name] == patched[name]
    return None


def _functions_around(one: bytes, other: bytes) -> set[str]:
    """The qualified names of the functions of `one` that hold a line which `other` has differently."""
    old, new = one.decode("utf-8", "replace").split("\n"), other.decode("utf-8", "replace").split("\n")
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    lines = {
        line for tag, start, end, _, _ in codes if tag != "equal" for line in range(start + 1, max(end, start + 1) + 1)
    }
    functions = list(_functions(ast.parse(one), ""))
    around = (
        max(holding)[1]
        for line in lines
        if (holding := [(start, name) for start, end, name in functions if start <= line <= end])
    )
    return set(around)


def _functions(scope: ast.AST, prefix: str) -> Iterator[tuple[int, int, str]]:
    """First line, last line and qualified name of each function below `scope`."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.end_lineno or node.lineno, prefix + node.name
            yield from _functions(node, f"{prefix}{node.name}.<locals>.")
        else:
            yield from _functions(node, f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix)


def _recorded(ready: Prepared, sources: Mapping[str, bytes], functions: set[str]) -> _Recorded:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record.json")
        env = {
            "PYTHONPATH": str(PLUGIN),
            "PYTHONHASHSEED": "0",
            "GUARD_REMOVAL_FUNCTIONS": "\n".join(sorted(functions)),
            "GUARD_REMOVAL_RECORD": str(record),
        }
        run = ready.run(sources, ("-p", "recorded_calls", "-p", "no:randomly"), env)
        found = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    results = {name: (calls, result) for name, (calls, result, _) in found.items()}
    effects = {name: (calls, effect) for name, (calls, _, effect) in found.items()}
    return _Recorded(frozenset(run.passed), results, effects)
