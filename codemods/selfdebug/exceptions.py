"""The exception classes of a guard, and the handlers that are there already."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.edits import attempt, deeper, line, replace_statement
from codemods.selfdebug.scopes import is_dotted_name
from codemods.selfdebug.source import Level, Statement

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Rewrite, Site

_BROAD = frozenset({"Exception", "BaseException"})
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def exception_names(parameters: Parameters) -> tuple[str, ...]:
    """The names of the exception classes to catch. Raises RefusedError for none, for no name and for a broad one."""
    if not parameters.classes:
        raise RefusedError("no exception class to catch")
    for name in parameters.classes:
        if not is_dotted_name(name):
            raise RefusedError("an exception class is no name")
        if name in _BROAD:
            raise RefusedError(f"catching {name} would hide every mistake")
    return parameters.classes


def tries_around(site: Site) -> Iterator[Statement]:
    """The `try` statements of the same function whose body holds the statement, innermost first."""
    for depth in range(len(site.statement.levels) - 1, -1, -1):
        level = site.statement.levels[depth]
        if isinstance(level.owner, _SCOPES):
            return
        if isinstance(level.owner, ast.Try) and level.block == "body":
            yield Statement(site.statement.levels[:depth])


def caught_by(handler: ast.ExceptHandler) -> frozenset[str]:
    """The names of the classes that a clause catches; a bare `except` catches `BaseException`."""
    if handler.type is None:
        return frozenset({"BaseException"})
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return frozenset(ast.unparse(each) for each in types)


def refuse_caught(site: Site, names: tuple[str, ...]) -> None:
    """Raise RefusedError when the nearest `try` around the statement catches one of the classes."""
    for statement in tries_around(site):
        node = statement.node
        assert isinstance(node, ast.Try)
        if any(caught_by(handler) & {*names, *_BROAD} for handler in node.handlers):
            raise RefusedError("a handler around the statement catches this already")


def handled(
    site: Site, parameters: Parameters, fallback: Callable[[], cst.BaseSmallStatement], cause: str | None = None
) -> Rewrite:
    """The unit with `try` over the one statement and `fallback` where one of the classes is raised.

    `cause` is the name that the fallback has for what was raised, if it needs one. Raises RefusedError where a handler
    would cover more than the statement, or less than what it evaluates.
    """
    names = exception_names(parameters)
    refuse_caught(site, names)
    if not isinstance(site.holder, cst.BaseSmallStatement):
        raise RefusedError("a handler would cover more than one statement")
    if any(isinstance(step.parent, cst.Lambda) and step.child is step.parent.body for step in site.path):
        raise RefusedError("the receiver is evaluated later than the statement")
    instead = line(fallback())
    exceptions = cst.parse_expression(names[0] if len(names) == 1 else f"({', '.join(names)})")

    def make(statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        return [attempt([deeper(site, statement)], exceptions, [instead], cause)]

    return replace_statement(site, make)


def handler_to_widen(site: Site) -> Statement:
    """The clause of the nearest `try` that recovers from a mistake: the first that does not end in a `raise`."""
    for statement in tries_around(site):
        node = statement.node
        assert isinstance(node, ast.Try)
        for index, handler in enumerate(node.handlers):
            if not isinstance(handler.body[-1], ast.Raise):
                return Statement((*statement.levels, Level(node, "handlers", index)))
    raise RefusedError("no except clause around the statement recovers from anything")
