"""What the failing test says it wants: the literals it compares with and the exceptions it expects.

Read from the test's source only; nothing of it is evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.expressions import last_name
from codemods.selfdebug.scopes import own_nodes
from selfdebug.model import Failure, Frame
from selfdebug.stages.propose.defaults import NEUTRAL, is_plain, literal
from selfdebug.stages.propose.parametrised import values_of

_COMPARING_CALLS = (
    "assertEqual",
    "assertIs",
    "assertListEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertDictEqual",
    "assertCountEqual",
    "assertMultiLineEqual",
    "assertAlmostEqual",
    "approx",
)
_NONE_CALLS = ("assertIsNone",)
_RAISING_CALLS = ("raises", "assertRaises", "assertRaisesRegex")


@dataclass(frozen=True, slots=True)
class Expectations:
    """`neutral` literals may serve as defaults; `answers` are all other literals; `exceptions` are expected types."""

    neutral: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


def test_frame(failure: Failure) -> Frame | None:
    """The outermost frame in a test file of the project, which is the failing test itself."""
    return next((frame for frame in failure.project_frames if frame.is_test), None)


def read_expectations(test_source: str, line: int) -> Expectations:
    """What the test function around the 1-based `line` states. Source that does not parse says nothing."""
    try:
        tree = ast.parse(test_source)
    except (SyntaxError, ValueError, RecursionError):
        return Expectations()
    function = enclosing_function(tree, line)
    stated = [*_stated(function if function is not None else tree), *_parametrised(function)]
    neutral = dict.fromkeys(code for code in stated if code in NEUTRAL)
    answers = dict.fromkeys(code for code in stated if code not in NEUTRAL)
    return Expectations(tuple(neutral), tuple(answers), tuple(dict.fromkeys(_raised(function or tree))))


def enclosing_function(tree: ast.AST, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around a line, or None at module or class level."""
    functions = (node for node in _around(tree, line) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return max(functions, key=lambda node: node.lineno, default=None)


def _around(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The statements and their parts below a node that a line lies in; others are not entered: modules are long."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler):
            if child.lineno <= line <= (child.end_lineno or child.lineno):
                yield child
                yield from _around(child, line)
        elif isinstance(child, ast.match_case):
            yield from _around(child, line)


def _stated(function: ast.AST) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Assert):
            yield from _of_condition(node.test)
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _NONE_CALLS:
                yield "None"
            elif name in _COMPARING_CALLS:
                for argument in node.args:
                    yield from _plain_inside(argument)
            elif name == "assertFalse":
                yield "False"
            elif name == "assertTrue":
                yield "True"


def _parametrised(function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> Iterator[str]:
    """The literals that the rows of a parametrised test give the names that it compares with."""
    if function is not None:
        for value in values_of(function, frozenset(_compared_names(function))):
            yield from _plain_inside(value)


def _compared_names(function: ast.AST) -> Iterator[str]:
    for node in own_nodes(function):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            parts = [node.test.left, *node.test.comparators]
        elif isinstance(node, ast.Call) and last_name(node.func) in _COMPARING_CALLS:
            parts = node.args
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def _of_condition(test: ast.expr) -> Iterator[str]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _of_condition(value)
    elif isinstance(test, ast.Compare):
        for comparator in (test.left, *test.comparators):
            yield from _plain_inside(comparator)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield "False"
    else:
        yield "True"


def _plain_inside(node: ast.expr) -> Iterator[str]:
    """The plain literals that the compared expression is made of; arguments of calls are inputs, not expectations."""
    if is_plain(node):
        yield literal(node)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        for element in node.elts:
            yield from _plain_inside(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _plain_inside(value)


def _raised(function: ast.AST) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and last_name(node.func) in _RAISING_CALLS and node.args:
            kinds = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
            for kind in kinds:
                if name := last_name(kind):
                    yield name
