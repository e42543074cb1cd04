"""Which names a scope uses, which it surely binds, and a new name that clashes with none of them.

A function is taken with everything nested in it: a name that is mentioned nowhere in it can be made its local without
changing what any other name means.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator

import libcst as cst

_FALLBACKS = ("found", "value", "result", "candidate")
_VERBS = re.compile(r"^(get|find|fetch|load|read|make|create|build|lookup|look_up|parse|compute|select|pop|open)_(?=.)")
_LOOKUPS = frozenset({"get", "find", "pop", "setdefault", "getattr", "select_one", "find_one", "first", "next"})
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def is_dotted_name(text: str) -> bool:
    """Whether `text` is a name or names joined by dots, none of them a keyword."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


def mentioned(root: ast.AST) -> frozenset[str]:
    """Every name that is read, bound, declared or imported anywhere in `root`."""
    names: set[str] = set()
    for node in ast.walk(root):
        names.update(_names_of(node))
    return frozenset(names)


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    else:  # functions, classes, except clauses, match captures, type parameters
        name = getattr(node, "name", None)
        if isinstance(name, str):
            yield name


def bound_by(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that the statements bind in their own scope (nested functions and classes bind only their own name)."""
    names: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            names.update([node.id] if isinstance(node.ctx, ast.Store | ast.Del) else [])
        elif not isinstance(node, ast.Global | ast.Nonlocal):
            names.update(_names_of(node))
        if not isinstance(node, _NESTED):
            todo.extend(ast.iter_child_nodes(node))
    return frozenset(names)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes in the body of a function, class or module, without those of functions and classes nested in it."""
    todo: list[ast.AST] = list(getattr(scope, "body", ()))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _NESTED):
            todo.extend(ast.iter_child_nodes(node))


def own_statements(owner: ast.AST) -> Iterator[ast.stmt]:
    """The statements below a node in source order, without those of functions and classes nested in it."""
    todo = [*ast.iter_child_nodes(owner)][::-1]  # not by recursion: each elif is a level of its own
    while todo:
        node = todo.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (ast.expr, *_NESTED)):
            todo.extend([*ast.iter_child_nodes(node)][::-1])


def parameter_defaults(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default, each with it."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    yield from ((each.arg, value) for each, value in zip(with_default, arguments.defaults, strict=True))
    for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield each.arg, value


def used_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that the statements read, nested functions included."""
    return frozenset(
        each.id
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    )


def fresh_name(scope: ast.AST, module: ast.Module, expression: cst.BaseExpression) -> str:
    """A name for the value of `expression` that means nothing yet in `scope`, in the module or to Python."""
    taken = mentioned(scope) | bound_by(module.body) | set(dir(builtins)) | set(keyword.kwlist)
    wishes = [*_wishes(expression), *_FALLBACKS]
    for wish in wishes:
        if wish not in taken:
            return wish
    return next(name for number in range(2, len(taken) + 3) if (name := f"{wishes[0]}_{number}") not in taken)


def _wishes(node: cst.BaseExpression) -> Iterator[str]:
    """Names that say what the expression stands for, best first: what is looked up, what is called, one of many."""
    if isinstance(node, cst.Await):
        yield from _wishes(node.expression)
    elif isinstance(node, cst.Call):
        name = _last_name(node.func)
        if name in _LOOKUPS:
            yield from _looked_up(node)
        elif name:
            yield from _identifier(_VERBS.sub("", name))
    elif isinstance(node, cst.Subscript):
        yield from _literal(node.slice[0].slice)
    elif isinstance(node, cst.Attribute):
        yield from _identifier(node.attr.value)


def _looked_up(call: cst.Call) -> Iterator[str]:
    for arg in call.args:
        yield from _literal(arg)
    if isinstance(call.func, cst.Attribute):
        plural = _last_name(call.func.value)
        if len(plural) > 3 and plural.endswith("s") and not plural.endswith("ss"):
            yield from _identifier(plural[:-1])


def _literal(holder: cst.CSTNode) -> Iterator[str]:
    value = getattr(holder, "value", None)
    if isinstance(value, cst.SimpleString) and isinstance(value.evaluated_value, str):
        yield from _identifier(re.sub(r"\W+", "_", value.evaluated_value))


def _last_name(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _identifier(text: str) -> Iterator[str]:
    name = text.lstrip("_").lower()
    if name.isidentifier() and name.isascii() and len(name) <= 30 and not keyword.iskeyword(name):
        yield name
