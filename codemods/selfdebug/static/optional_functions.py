"""Which functions of a module may give back None, read off their annotations and their returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.scopes import own_nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls that do not come back: the code after them is not reached.
_LEAVING = frozenset({"exit", "_exit", "abort", "fail", "skip", "xfail", "error"})


@dataclass(frozen=True, slots=True)
class GivesNone:
    """Why a function may give back None, and whether its call has to be awaited to get at what it gives."""

    reason: str
    awaited: bool = False


def optional_functions(tree: ast.Module) -> Mapping[str, GivesNone]:
    """The functions (`find`) and methods (`Shop.find`) that may give back None."""
    return {
        name: GivesNone(reason, isinstance(node, ast.AsyncFunctionDef))
        for name, node in _functions(tree)
        if (reason := _reason(node)) is not None
    }


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, Function))


def _reason(node: Function) -> str | None:
    if node.returns is not None:
        return f"{node.name}() is annotated to return None, too" if allows_none(node.returns) else None
    decorators = [each for each in node.decorator_list if ast.unparse(each) not in ("staticmethod", "classmethod")]
    nodes = list(own_nodes(node))
    if decorators or any(isinstance(each, ast.Yield | ast.YieldFrom) for each in nodes):
        return None  # what the caller gets is not what the function returns
    returns = [each for each in nodes if isinstance(each, ast.Return)]
    values = [each for each in returns if each.value is not None and not is_none(each.value)]
    if not values:
        return None
    bare = next((each for each in returns if each not in values), None)
    if bare is not None:
        return f"{node.name}() returns None in line {bare.lineno}"
    return f"{node.name}() can fall off its end" if falls_through(node.body) else None


def allows_none(annotation: ast.expr) -> bool:
    """Whether an annotation allows None: `X | None`, `Optional[X]`, `Union[X, None]`, also as a string."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return allows_none(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return False
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return any(is_none(side) or allows_none(side) for side in (annotation.left, annotation.right))
    if isinstance(annotation, ast.Subscript):
        name = ast.unparse(annotation.value).rpartition(".")[2]
        members = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return name == "Optional" or (name == "Union" and any(map(is_none, members)))
    return False


def falls_through(body: Sequence[ast.stmt]) -> bool:
    """Whether control can reach the end of a block."""
    return not any(map(_leaves, body))


@singledispatch
def _leaves(_node: ast.AST) -> bool:
    """Whether no control comes out of a statement at its end."""
    return False


@_leaves.register
def _jump(_node: ast.Return | ast.Raise | ast.Continue | ast.Break) -> bool:
    return True


@_leaves.register
def _if(node: ast.If) -> bool:
    return not falls_through(node.body) and not falls_through(node.orelse)


@_leaves.register
def _with(node: ast.With | ast.AsyncWith) -> bool:
    return not falls_through(node.body) and not any("suppress" in ast.unparse(each) for each in node.items)


@_leaves.register
def _while(node: ast.While) -> bool:
    return _is_true(node.test) and not any(isinstance(each, ast.Break) for each in ast.walk(node))


@_leaves.register
def _try(node: ast.Try | ast.TryStar) -> bool:
    ways = [[*node.body, *node.orelse], *(handler.body for handler in node.handlers)]
    return not falls_through(node.finalbody) or not any(map(falls_through, ways))


@_leaves.register
def _match(node: ast.Match) -> bool:
    is_exhaustive = any(case.guard is None and _takes_all(case.pattern) for case in node.cases)
    return is_exhaustive and not any(falls_through(case.body) for case in node.cases)


@_leaves.register
def _assert(node: ast.Assert) -> bool:
    return isinstance(node.test, ast.Constant) and not node.test.value


@_leaves.register
def _expression(node: ast.Expr) -> bool:
    call = node.value
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in _LEAVING


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
