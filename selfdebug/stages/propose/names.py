"""Names that a repair may use: what is bound at a place, near misses of a name, and imports that would bind it."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Iterator

from codemods.selfdebug.scopes import own_nodes
from selfdebug.stages.propose.expectations import enclosing_function

_MIN_LENGTH = 3
_CLOSENESS = 0.7
_ALIASES = {"np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt"}


def bound_names(tree: ast.Module, line: int) -> frozenset[str]:
    """The names that code at the 1-based `line` can read: builtins, the module's, and its function's own."""
    names = {*dir(builtins), *_bound_in(tree)}
    function = enclosing_function(tree, line)
    if function is not None:
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        names.update(argument.arg for argument in every if argument is not None)
        names.update(_bound_in(function))
    return frozenset(names)


def near_misses(name: str, tree: ast.Module, line: int) -> Iterator[str]:
    """Names in reach that `name` may be a misspelling of, and attributes of `self` that are called so."""
    function = enclosing_function(tree, line)
    if (
        function is not None
        and function.args.args
        and function.args.args[0].arg == "self"
        and _is_set_on_self(tree, name)
    ):
        yield f"self.{name}"
    if len(name) >= _MIN_LENGTH:
        yield from difflib.get_close_matches(name, sorted(bound_names(tree, line) - {name}), 2, _CLOSENESS)


def near_attributes(name: str, tree: ast.Module) -> Iterator[str]:
    """Attributes that the file uses or defines and that `name` may be a misspelling of."""
    known = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    known |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if len(name) >= _MIN_LENGTH:
        yield from difflib.get_close_matches(name, sorted(known - {name}), 2, _CLOSENESS)


def imports_for(name: str) -> Iterator[str]:
    """Import statements that would bind `name`: a module of the standard library, or a customary alias."""
    if name in sys.stdlib_module_names and not name.startswith("_"):
        yield f"import {name}"
    if name in _ALIASES:
        yield _ALIASES[name]


def _bound_in(scope: ast.AST) -> Iterator[str]:
    for node in own_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0]


def _is_set_on_self(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in ast.walk(tree)
    ) or any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(tree))
