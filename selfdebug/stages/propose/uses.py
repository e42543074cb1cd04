"""What a function does with a value besides the statement that crashed: a default should support all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.expressions import parsed
from codemods.selfdebug.scopes import own_nodes
from selfdebug.stages.propose.defaults import Default, ast_value

_KINDS = ("[]", "{}", '""', "()", "set()", "0", 'b""')
_MEASURED = frozenset({"all", "any", "len", "max", "min", "sum"})
_GOING_THROUGH = _MEASURED | {
    "enumerate",
    "extend",
    "iter",
    "join",
    "list",
    "reversed",
    "set",
    "sorted",
    "tuple",
    "zip",
}
_MOST = 2
_STRONG = 0


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a value: `operation` as in `model.Receiver`, or `store` for an item that is set or deleted.

    `name` is that of an attribute; of an item it tells the class of a constant key.
    """

    operation: str
    name: str
    line: int


def uses_of(code: str, function: ast.AST) -> tuple[Use, ...]:
    """The uses of the name or attribute `code` in the function's own statements."""
    return tuple(use for node in own_nodes(function) if (use := _use(node, code)) is not None)


def for_every_use(code: str, function: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> Iterator[Default]:
    """The empty values that support all that the function does with `code` from the 1-based `line` on."""
    uses = [use for use in uses_of(code, function) if use.line >= line]
    telling = [use for use in uses if use.operation != "subscript"]
    fitting = [kind for kind in _KINDS if all(_fits(kind, use) for use in uses)]
    if telling:
        for kind in fitting[:_MOST]:
            yield Default(kind, f"it supports every use of {code} in {function.name}", _STRONG)


def key_of(code: str) -> str | None:
    """The source of the key of a look-up: `k` of `d[k]` and of `d.pop(k)`."""
    try:
        node = parsed(code)
    except (SyntaxError, ValueError):
        return None
    match node:
        case ast.Subscript(slice=key) | ast.Call(args=[key]):
            return ast.unparse(key)
    return None


def _use(node: ast.AST, code: str) -> Use | None:
    match node:
        case ast.Attribute(value=value, attr=name):
            operation = "attribute"
        case ast.Subscript(value=value, slice=key, ctx=context):
            operation, name = "subscript" if isinstance(context, ast.Load) else "store", _class_of_key(key)
        case ast.For(iter=value) | ast.Starred(value=value) | ast.comprehension(iter=value):
            operation, name = "iterate", ""
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[value]):
            operation, name = "contains", ""
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[value, *_]) if (
            called in _GOING_THROUGH and _is(value, code)
        ):
            operation, name = "iterate", ""
        case ast.Call(func=value):
            operation, name = "call", ""
        case ast.keyword(arg=None, value=value):
            operation, name = "double-star", ""
        case _:
            return None
    return Use(operation, name, value.lineno) if _is(value, code) else None


def _is(node: ast.expr, code: str) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == code


def _class_of_key(key: ast.expr) -> str:
    if isinstance(key, ast.Slice):
        return "slice"
    return type(key.value).__name__ if isinstance(key, ast.Constant) else ""


def _fits(kind: str, use: Use) -> bool:
    value = ast_value(kind)
    match use.operation:
        case "attribute":
            fits = hasattr(value, use.name)
        case "iterate" | "contains":
            fits = hasattr(value, "__iter__")
        case "double-star":
            fits = isinstance(value, dict)
        case "store":
            fits = isinstance(value, list if use.name == "slice" else dict)
        case "subscript":
            # A look-up in an empty value fails in any case; it may be caught, or not be reached.
            fits = isinstance(value, dict) if use.name == "str" else hasattr(value, "__getitem__")
        case _:
            fits = False
    return fits
