"""The imports that a patch brings at the level of a module, and where functions read the names that they bind."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.source import Source
from selfdebug.stages.vary.stretches import end_of, start_of

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Imported:
    """A new import of a module: its code, the name that it binds, where it is, and where functions read the name.

    Places are stretches of the text.
    """

    code: str
    name: str
    start: int
    end: int
    uses: tuple[tuple[int, int], ...]


def imported(before: ast.Module, after: Source) -> tuple[Imported, ...]:
    """The imports of one name at the level of the module `after` that `before` does not have."""
    return tuple(_imported(after, node) for node in new_imports(before, after.tree) if len(node.names) == 1)


def new_imports(before: ast.Module, after: ast.Module) -> list[Import]:
    """The imports at the level of a module that an earlier version of it does not have."""
    more = Counter(ast.dump(node) for node in after.body if isinstance(node, Import))
    more -= Counter(ast.dump(node) for node in before.body if isinstance(node, Import))
    return [node for node in after.body if isinstance(node, Import) and more[ast.dump(node)]]


def functions_reading(tree: ast.Module, names: Iterable[str]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a file that read one of the names, with those around them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        if any(_reads(node, name) for node in ast.walk(function) for name in names):
            yield function


def _imported(after: Source, node: Import) -> Imported:
    (name,) = bound_by([node])
    start, end = start_of(after, node), end_of(after, node)
    reads = {each for function in functions_reading(after.tree, [name]) for each in _reads_in(function, name)}
    places = sorted((start_of(after, each), end_of(after, each)) for each in reads)
    # Before Python 3.12 the places of what stands in f-strings are not told right.
    uses = tuple(place for place in places if after.text[slice(*place)] == name)
    return Imported(after.text[start:end], name, start, end, uses)


def _reads_in(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """The reads of a name below a node, without those in patterns, which hold no calls."""
    todo = [function]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and _reads(node, name):
            yield node
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.pattern))


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
