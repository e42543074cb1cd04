"""Do two versions of a file do the same? Equal trees do; otherwise what their functions gave back is compared."""

from __future__ import annotations

import ast
import difflib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.guard_removal.environments import PLUGIN, Prepared


def is_same_tree(one: bytes, other: bytes) -> bool:
    """Whether the two sources have equal syntax trees."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def gives_the_same(ready: Prepared, original: Mapping[str, bytes], patched: Mapping[str, bytes]) -> bool:
    """Whether a function around the difference gave back the same, call by call, in the whole suite of both versions.

    One such function is enough: where a guard moved to the caller, the inner function is called with less.
    """
    functions = {
        f"{file}::{name}"
        for file, data in patched.items()
        for name in _functions_around(original[file], data) | _functions_around(data, original[file])
    }
    if not functions:
        return False
    before, after = (_recorded(ready, sources, functions) for sources in (original, patched))
    return any(before.get(name) == after.get(name) for name in functions if name in before)


def _functions_around(one: bytes, other: bytes) -> set[str]:
    """The names of the functions of `one` that hold a line which `other` has differently."""
    old, new = one.decode("utf-8", "replace").split("\n"), other.decode("utf-8", "replace").split("\n")
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    lines = {
        line for tag, start, end, _, _ in codes if tag != "equal" for line in range(start + 1, max(end, start + 1) + 1)
    }
    functions = [node for node in ast.walk(ast.parse(one)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [
        max(holding, key=lambda node: node.lineno).name
        for line in lines
        if (holding := [node for node in functions if node.lineno <= line <= (node.end_lineno or node.lineno)])
    ]
    return set(around)


def _recorded(ready: Prepared, sources: Mapping[str, bytes], functions: set[str]) -> dict[str, list[object]]:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record.json")
        env = {
            "PYTHONPATH": str(PLUGIN),
            "GUARD_REMOVAL_FUNCTIONS": "\n".join(sorted(functions)),
            "GUARD_REMOVAL_RECORD": str(record),
        }
        ready.run(sources, ("-p", "recorded_calls", "-p", "no:randomly"), env)
        found: dict[str, list[object]] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
        return found
