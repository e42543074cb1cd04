"""Other places of the function that crash in the same way once the first is mended, to be changed in the same edit.

They use the same expression, which nothing stores to in between, in a way that the same bad value cannot serve.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.selfdebug.base import Family, RefusedError, TargetNotFoundError
from codemods.selfdebug.dereferences import Dereference, Operation, dereferences
from codemods.selfdebug.expressions import parsed
from codemods.selfdebug.facts import rebinds
from codemods.selfdebug.scopes import own_statements
from selfdebug.model import Receiver, Spot
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.records import LocatedSite

IN_ONE_EDIT = frozenset({Family.CONDITION_PREFIX, Family.EXPRESSION_DEFAULT, Family.LOOKUP_DEFAULT, Family.COERCION})
"""The families that change one expression and nothing after it: the others leave no second crash in the function."""

_MOST = 12
_HARMLESS_FOR_NONE = frozenset(
    {Operation.NAME, Operation.ARGUMENT, Operation.INDEX, Operation.FORMAT, Operation.ELEMENT, Operation.ELEMENTS}
)


def spots_like(site: LocatedSite, receiver: Receiver) -> tuple[Spot, ...]:
    """The places after the crash that use the receiver as it is used there, in source order, at most a dozen."""
    function = enclosing_function(site.source.tree, site.location.line)
    subject = _parsed(receiver.code)
    if function is None or subject is None:
        return ()
    return tuple(_spots(site, receiver, function, subject))[:_MOST]


def _parsed(code: str) -> ast.expr | None:
    """The expression, where it is a name or hangs on names only, so that it is the same at each place."""
    try:
        node = parsed(code)
    except (SyntaxError, ValueError):
        return None
    is_stable = all(
        isinstance(each, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.expr_context)
        for each in ast.walk(node)
    )
    return node if is_stable else None


def _spots(
    site: LocatedSite, receiver: Receiver, function: ast.FunctionDef | ast.AsyncFunctionDef, subject: ast.expr
) -> Iterator[Spot]:
    source, first = site.source, site.location.statement
    for statement in own_statements(function):
        span = source.extent(statement)
        if span.end_line < first.start_line or receiver.code not in ast.unparse(statement):
            continue
        try:
            uses = dereferences(source, statement)
        except (RefusedError, TargetNotFoundError):
            continue
        for use in uses:
            if use.code == receiver.code and use.expression > receiver.expression and _is_alike(use, site, receiver):
                yield Spot(use.expression, use.receiver)
        if span != first and rebinds([statement], subject):
            return


def _is_alike(use: Dereference, site: LocatedSite, receiver: Receiver) -> bool:
    """Whether the use fails for the same value: for None nearly any, else the same look-up or operation."""
    if site.location.kind.is_none:
        return use.operation not in _HARMLESS_FOR_NONE
    return (use.operation.value, use.name) == (receiver.operation, receiver.name)
