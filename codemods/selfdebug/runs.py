"""The run of statements that must be skipped together, because later ones need what earlier ones bind."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.scopes import bound_by, used_in

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Site
    from codemods.selfdebug.source import Level, Statement

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_LOOPS = ast.For | ast.AsyncFor | ast.While
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


def dependent_run(site: Site) -> int:
    """How many statements, from the guarded one on, must be skipped together with it.

    Raises RefusedError when a name that they bind is needed outside the run, or when skipping would drop a `return`.
    """
    statement = site.statement
    siblings = statement.levels[-1].siblings[statement.levels[-1].index :]
    count = 1
    while True:
        run = siblings[:count]
        _refuse_unskippable(run)
        needed = bound_by(run) - surely_bound_before(statement)
        last = max((i for i, each in enumerate(siblings) if needed & used_in([each])), default=0) + 1
        if last <= count:
            break
        count = last
    _refuse_outside_use(site, run, needed)
    return count


def _refuse_unskippable(run: Sequence[ast.AST]) -> None:
    for node in run:
        if isinstance(node, _DEFINITIONS):
            raise RefusedError("a definition or import would be skipped")
        if isinstance(node, ast.Return | ast.Raise):
            raise RefusedError("what the function returns or raises here would be dropped")


def _refuse_outside_use(site: Site, run: Sequence[ast.AST], needed: frozenset[str]) -> None:
    """Raise RefusedError when names bound only in the run are read elsewhere in the scope, or seen from outside it."""
    if not needed:
        return
    scope = site.block_scope
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        raise RefusedError("a name of the module or class would be missing")
    inside = {id(node) for each in run for node in ast.walk(each)}
    outside = {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
    }
    declared = {name for node in ast.walk(scope) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    if needed & (outside | declared):
        raise RefusedError("a name bound here is needed later")


def surely_bound_before(statement: Statement) -> frozenset[str]:
    """The names that have a value whenever the statement is reached."""
    names: set[str] = set()
    for level in reversed(statement.levels):
        for sibling in level.siblings[: level.index]:
            names |= surely_bound_by(sibling)
        names |= _bound_by_owner(level)
        if isinstance(level.owner, _SCOPES):
            break
    return frozenset(names)


def surely_bound_by(node: ast.AST) -> frozenset[str]:
    """The names that have a value once the statement has run to its end."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Import | ast.ImportFrom):
        is_bare = isinstance(node, ast.AnnAssign) and node.value is None
        return frozenset() if is_bare else bound_by([node])
    if isinstance(node, _SCOPES):
        return frozenset({node.name})
    if isinstance(node, ast.With | ast.AsyncWith):
        return bound_by(list(node.items)) | _all_of(node.body)
    if isinstance(node, ast.If) and node.orelse:
        return _all_of(node.body) & _all_of(node.orelse)
    return frozenset()


def _all_of(body: Sequence[ast.AST]) -> frozenset[str]:
    return frozenset().union(*(surely_bound_by(node) for node in body))


def _bound_by_owner(level: Level) -> frozenset[str]:
    owner = level.owner
    if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = ast.walk(owner.args)
        return frozenset(node.arg for node in arguments if isinstance(node, ast.arg))
    if isinstance(owner, ast.For | ast.AsyncFor) and level.block == "body":
        return bound_by([owner.target])
    if isinstance(owner, ast.With | ast.AsyncWith):
        return bound_by(list(owner.items))
    if isinstance(owner, ast.ExceptHandler) and owner.name:
        return frozenset({owner.name})
    return frozenset()
