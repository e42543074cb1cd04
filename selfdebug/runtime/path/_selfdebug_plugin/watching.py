"""Which names, attributes and items each line of a source file reads and stores, so that a tracer records only those.

Read off the file's own syntax tree: chains such as `self.cache[key].owner`, whose parts can be looked up without
running any code of the program.
"""

from __future__ import annotations

import ast
import linecache
from collections import deque
from typing import Any, Dict, Iterator, NamedTuple

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)  # what a generator expression gives is recorded anyway
MAX_WATCHES = 40  # of one line: a table of a thousand names is not looked at


class Watch(NamedTuple):
    """One chain: `key` is its source, `base` the key of what it starts from (None for a name).

    `operation` is `name`, `attribute`, `item` (a constant index) or `item-of` (an index that is itself a watched key).
    """

    key: str
    base: str | None
    operation: str
    argument: Any


class Watched(NamedTuple):
    """What a line reads before and stores when it is executed, each after the chains that it starts from.

    `repeats` says that the line is one of a comprehension, whose turns nobody counts.
    """

    reads: tuple[Watch, ...]
    stores: tuple[Watch, ...]
    repeats: bool = False


NOTHING = Watched((), ())
Lines = Dict[int, Watched]


def watched_lines(path: str, module_globals: dict[str, Any]) -> Lines:
    """The chains of each line of the file; none of a file that cannot be read or parsed."""
    text = "".join(linecache.getlines(path, module_globals))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    reads: dict[int, dict[str, Watch]] = {}
    stores: dict[int, dict[str, Watch]] = {}
    for clause, owner in _with_classes(tree):
        if not isinstance(clause, (ast.stmt, ast.ExceptHandler)) and type(clause).__name__ != "match_case":
            continue
        own = list(_own_nodes(clause))
        first, last = _lines(clause, own)
        for chain, is_store in _chains(clause, own):
            for line in range(first, last + 1):
                found = (stores if is_store else reads).setdefault(line, {})
                if len(found) < MAX_WATCHES:
                    for watch in chain:
                        found.setdefault(watch.key, _mangled(watch, owner))
    repeated = _repeated(tree)
    return {
        line: Watched(tuple(reads.get(line, {}).values()), tuple(stores.get(line, {}).values()), line in repeated)
        for line in {*reads, *stores, *repeated}
    }


def _with_classes(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """All nodes, the outer before the inner ones, each with the name of the class around it."""
    todo = deque([(tree, "")])
    while todo:
        node, owner = todo.popleft()
        yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        todo.extend((child, inner) for child in ast.iter_child_nodes(node))


def _mangled(watch: Watch, owner: str) -> Watch:
    """The attribute as it is called in the object: with the name of the class, where it is private to that."""
    name = watch.argument
    if watch.operation != "attribute" or not owner or not name.startswith("__") or name.endswith("__"):
        return watch
    return watch._replace(argument="_" + owner.lstrip("_") + name)


def _repeated(tree: ast.AST) -> set[int]:
    """The lines of comprehensions, without those on which a loop begins."""
    lines: set[int] = set()
    heads: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _COMPREHENSIONS):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            first, last = _lines(node, list(_own_nodes(node)))
            heads.update(range(first, last + 1))
    return lines - heads


def _own_nodes(clause: ast.AST) -> Iterator[ast.AST]:
    """The expressions and patterns of a clause that do not belong to a statement or clause inside it."""
    todo: list[ast.AST] = [clause]
    while todo:
        node = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler)) or type(child).__name__ == "match_case":
                continue
            yield child
            todo.append(child)


def _lines(clause: Any, own: list[ast.AST]) -> tuple[int, int]:
    lines = [
        line for node in own for line in (getattr(node, "lineno", None), getattr(node, "end_lineno", None)) if line
    ]
    first = getattr(clause, "lineno", None) or min(lines)
    return min([first, *lines]), max([first, *lines])


def _chains(clause: Any, own: list[ast.AST]) -> Iterator[tuple[list[Watch], bool]]:
    for name in _bound_names(clause):
        yield [Watch(name, None, "name", name)], True
    for node in own:
        pattern = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(pattern, str) and type(node).__name__.startswith("Match"):
            yield [Watch(pattern, None, "name", pattern)], True
        looked_up = _looked_up(node)
        if looked_up:
            yield looked_up, False
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        chain = chain_of(node)
        if not chain and isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield chain_of(node.value), True  # the key is not known, but the container is
        if chain:
            is_load = isinstance(node.ctx, ast.Load)
            if len(chain) > 1:
                yield chain[:-1], False
            if is_load or isinstance(clause, ast.AugAssign):
                yield chain, False
            if not is_load:
                yield chain, True


def _looked_up(node: ast.AST) -> list[Watch]:
    """The item that `d.get(key)` and its like look for."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return []
    if node.func.attr not in ("get", "pop", "setdefault"):
        return []
    return chain_of(ast.Subscript(value=node.func.value, slice=node.args[0], ctx=ast.Load()))


def _bound_names(clause: Any) -> Iterator[str]:
    if isinstance(clause, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        if clause.name:
            yield clause.name
    elif isinstance(clause, (ast.Import, ast.ImportFrom)):
        for alias in clause.names:
            yield alias.asname or alias.name.partition(".")[0]


def chain_of(node: ast.AST) -> list[Watch]:
    """The chain of an expression, what it starts from first; empty for an expression that only running could answer."""
    if isinstance(node, ast.Name):
        return [Watch(node.id, None, "name", node.id)]
    if isinstance(node, ast.Attribute):
        before = chain_of(node.value)
        key = before[-1].key + "." + node.attr if before else ""
        return [*before, Watch(key, before[-1].key, "attribute", node.attr)] if before else []
    if isinstance(node, ast.Subscript):
        return _item_chain(node)
    return []


def _item_chain(node: ast.Subscript) -> list[Watch]:
    before = chain_of(node.value)
    index: Any = node.slice
    if type(index).__name__ == "Index":  # Python 3.8
        index = index.value
    if not before:
        return []
    base = before[-1].key
    constant = _constant(index)
    if constant is not None:
        return [*before, Watch(base + "[" + repr(constant[0]) + "]", base, "item", constant[0])]
    inner = chain_of(index)
    if not inner:
        return []
    key = inner[-1].key
    return [*inner, *before, Watch(base + "[" + key + "]", base, "item-of", key)]


def _constant(node: ast.AST) -> tuple[Any] | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if not isinstance(node, ast.Constant):
        return None
    value = node.value
    if type(value) is int and sign < 0:
        return (-value,)
    return (value,) if type(value) in (str, bytes, int, float, bool, type(None)) and sign > 0 else None
