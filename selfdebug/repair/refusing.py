"""When the evidence is against any guard: the answer is then the diagnosis, and nothing is tried.

A function that raises on purpose, as a passing test states for such input, does what it should; the failing test, which
calls it with the same kind of input, states the opposite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.selfdebug.expressions import last_name
from codemods.selfdebug.source import Source
from selfdebug.model import Failure, FaultKind, Outcome
from selfdebug.repair.bench import Bench
from selfdebug.repair.diagnosing import Case
from selfdebug.stages.propose import test_frame

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_MOST_FILES = 30


def contradiction(bench: Bench, case: Case) -> str | None:
    """Why no guard can be right, in one sentence; None where nothing speaks against one."""
    failure = case.group[0].crash
    crash, test = failure.deepest_source, test_frame(failure)
    if case.diagnosis.location.kind is not FaultKind.DELIBERATE_RAISE or crash is None or test is None:
        return None
    if len({frame.function for frame in failure.project_frames if not frame.is_test}) > 1:
        return None  # the caller may be what has to bear the exception
    name = crash.function or ""
    given = _arguments(bench, test.file or "", test.line or 0, name)
    if given is None:
        return None
    for file in _test_files(bench, case.group):
        source = bench.source(file)
        if isinstance(source, Source):
            for line, node_id in _contracts(source.tree, failure, name, given):
                if bench.known.get(f"{file}::{node_id}") is Outcome.PASSED:
                    return (
                        f"{name} raises {failure.exception.short_type} on purpose ({crash.place}), and {file}:{line} "
                        f"states that it does for such input; {case.group[0].node_id} states the opposite."
                    )
    return None


def _test_files(bench: Bench, group: Sequence[Failure]) -> list[str]:
    own = [(failure.node_id or "").partition("::")[0] for failure in group]
    return list(dict.fromkeys([*own, *(node.partition("::")[0] for node in bench.known)]))[:_MOST_FILES]


def _arguments(bench: Bench, file: str, line: int, name: str) -> list[str] | None:
    """The kinds of the arguments with which the failing line calls a function."""
    source = bench.source(file)
    if not isinstance(source, Source):
        return None
    statements = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line) and not hasattr(node, "body")
    ]
    return next((_kinds(call) for node in statements for call in _calls_of(node, name)), None)


def _contracts(tree: ast.Module, failure: Failure, name: str, given: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Where tests expect the exception of such a call: the line, and the node id of the test below its file."""
    for test, node_id in _tests(tree):
        for node in ast.walk(test):
            if isinstance(node, ast.With | ast.AsyncWith) and any(
                _expects(item.context_expr, failure) for item in node.items
            ):
                calls = [call for statement in node.body for call in _calls_of(statement, name)]
                if any(_kinds(call) == given for call in calls):
                    yield node.lineno, node_id
            elif isinstance(node, ast.Call) and _expects(node, failure) and _is_called_by(node, name, given):
                yield node.lineno, node_id


def _is_called_by(node: ast.Call, name: str, given: Sequence[str]) -> bool:
    """Whether `assertRaises(ValueError, port, "")` or its like makes the call."""
    return len(node.args) > 1 and last_name(node.args[1]) == name and [_kind(each) for each in node.args[2:]] == given


def _tests(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield inner, f"{node.name}::{inner.name}"


def _expects(node: ast.expr, failure: Failure) -> bool:
    """Whether `pytest.raises(...)` or its like names the exception or a class above it."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _RAISING or not node.args:
        return False
    kinds = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
    known = {failure.exception.short_type, *(name.rpartition(".")[2] for name in failure.exception.mro)}
    return any(last_name(kind) in known for kind in kinds)


def _calls_of(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and last_name(inner.func) == name:
            yield inner


def _kinds(call: ast.Call) -> list[str]:
    return [_kind(each) for each in (*call.args, *(keyword.value for keyword in call.keywords))]


def _kind(node: ast.expr) -> str:
    """The class of a literal; of anything else its source, for nothing is evaluated."""
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    return ast.dump(node)
