"""A `return` for a function on the way of a None that reached its end, where it is plain what it was to give back."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from codemods.selfdebug.base import Family, Test
from codemods.selfdebug.scopes import own_nodes
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at
from selfdebug.model import Candidate, Link, Site
from selfdebug.paths import is_test_file
from selfdebug.stages.propose.expectations import enclosing_function

_COLLECTING = frozenset({"append", "add", "extend", "update", "insert"})
_KEEPING_TEXT = frozenset(
    ["strip", "lstrip", "rstrip", "replace", "lower", "upper", "title", "capitalize", "casefold", "removeprefix"]
) | {"removesuffix", "expandtabs", "zfill", "ljust", "rjust"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def missing_returns(chain: Sequence[Link], sources: Callable[[str], Source | str]) -> Iterator[Candidate]:
    """The candidates for the functions of a chain that fell off their ends; files of tests are left alone."""
    for number, link in enumerate(link for link in chain if link.kind == "fell-off-end"):
        source = sources(link.file)
        if isinstance(source, str) or is_test_file(link.file):
            continue
        function = enclosing_function(source.tree, link.line)
        if function is None:
            continue
        for place, name in _results(function):
            span = source.span(place)
            yield Candidate(
                id=f"missing-return-{number}",
                guard="missing-return",
                family=Family.INITIALISATION.value,
                file=link.file,
                site=Site.ORIGIN,
                expression=span,
                receiver=span,
                receiver_code=text_at(source.lines, span),
                default=name,
                default_source="what the function computes" if name else None,
                test=Test.NOT_NONE.value,
                reason=f"{function.name}() reached its end without a return (observed)",
            )


def _results(function: _Function) -> Iterator[tuple[ast.expr, str | None]]:
    """The expressions at a function's end that can be its result, each with the name that holds it where one does."""
    last = function.body[-1]
    match last:
        case ast.Expr(value=value) if not isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom):
            yield value, None
        case ast.Assign(targets=[ast.Name()], value=value):
            yield value, None
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            yield value, None
    place = _expression_of(last)
    if place is not None:
        yield from ((place, name) for name in _candidates(function))


def _expression_of(statement: ast.stmt) -> ast.expr | None:
    """An expression in the head of a statement, by which a guard finds the statement."""
    match statement:
        case ast.For(iter=found) | ast.AsyncFor(iter=found) | ast.If(test=found) | ast.While(test=found):
            return found
        case (
            ast.Expr(value=found) | ast.AugAssign(value=found) | ast.With(items=[ast.withitem(context_expr=found), *_])
        ):
            return found
    return None


def _candidates(function: _Function) -> Iterator[str]:
    """The names that other returns of the function give, or that its last statement fills."""
    returned = [
        node.value.id
        for node in own_nodes(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    ]
    filled = []
    loops = [node for node in ast.walk(function.body[-1]) if isinstance(node, ast.For | ast.AsyncFor)]
    turned = {node.id for loop in loops for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for node in ast.walk(function.body[-1]):
        match node:
            case ast.AugAssign(target=ast.Name(id=name)):
                filled.append(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _COLLECTING:
                filled.append(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                filled.append(name)
            case ast.Name(id=name, ctx=ast.Store()):
                filled.append(name)
    yield from dict.fromkeys([*returned, *(name for name in filled if name not in turned), *_unchanged(function)])


def _unchanged(function: _Function) -> Iterator[str]:
    """The parameter that every other return gives in a changed form: `return path[:-1]`, `return path.strip()`.

    On the path without a return nothing was to be changed. Other returns tell nothing of what belongs there.
    """
    values = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    names = {_changed_name(value) for value in values}
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    if len(names) == 1:
        yield from (name for name in names if name in given)


def _changed_name(value: ast.expr | None) -> str | None:
    """The name whose value an expression gives in the same class, with a part of it left out or written otherwise."""
    match value:
        case ast.Subscript(value=inner, slice=ast.Slice()):
            found = inner
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _KEEPING_TEXT:
            found = inner
        case ast.Call(func=ast.Name(id="abs" | "sorted"), args=[inner]):
            found = inner
        case _:
            return None
    return found.id if isinstance(found, ast.Name) else _changed_name(found)
