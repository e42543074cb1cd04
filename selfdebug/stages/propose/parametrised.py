"""The values of a parametrised test: what `@pytest.mark.parametrize` gives the names that the test compares with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

Function = ast.FunctionDef | ast.AsyncFunctionDef


def values_of(function: Function, names: Set[str]) -> Iterator[ast.expr]:
    """The expressions given to the parameters `names`, in the order of the rows."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"), args=[named, ast.List(elts=rows) | ast.Tuple(elts=rows)]
            ):
                parameters = list(_parameters(named))
                for row in rows:
                    yield from _of_row(row, parameters, names)


def _parameters(named: ast.expr) -> Iterator[str]:
    match named:
        case ast.Constant(value=str() as text):
            yield from (part.strip() for part in text.split(","))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            yield from (str(part.value) for part in parts if isinstance(part, ast.Constant))


def _of_row(row: ast.expr, parameters: list[str], names: Set[str]) -> Iterator[ast.expr]:
    values = [row]
    match row:
        case ast.Call(func=ast.Attribute(attr="param"), args=args):
            values = args
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if len(parameters) > 1:
            values = elements
    yield from (value for name, value in zip(parameters, values, strict=False) if name in names)
