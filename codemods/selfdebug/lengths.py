"""How long a sequence has to be for the statements that come after the one that found it too short."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from codemods.selfdebug.base import Test
from codemods.selfdebug.conditions import SUBJECT
from codemods.selfdebug.expressions import constant_of, parsed
from codemods.selfdebug.facts import LEAVES, rebinds

if TYPE_CHECKING:
    from codemods.selfdebug.conditions import Condition
    from codemods.selfdebug.sites import Site

_NOT_ALWAYS = ast.IfExp | ast.BoolOp | ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


def with_later_uses(site: Site, condition: Condition) -> Condition:
    """The condition on a length, widened to what the rest of the block surely needs; any other as it is.

    `row[2]` three lines below needs more than `row[0]` here, and `a, b = row` needs exactly two: what is turned away
    in addition would have raised there; inside of a `try` that may be what is wanted.
    """
    if condition.test is not Test.IN_RANGE or any(isinstance(level.owner, ast.Try) for level in site.statement.levels):
        return condition
    level = site.statement.levels[-1]
    subject = parsed(site.code(condition.subject))
    later = [node for node in level.siblings[level.index :] if isinstance(node, ast.stmt)]
    needs = list(_needs(later, subject))
    exact = [count for count, is_exact in needs if is_exact]
    least = max((count for count, is_exact in needs if not is_exact), default=0)
    length = f"len({SUBJECT})"
    if exact and exact[0] >= least:
        return replace(condition, holds=f"{length} == {exact[0]}", fails=f"{length} != {exact[0]}")
    if least > 1 and f"{length} >" in condition.holds:
        return replace(condition, holds=f"{length} >= {least}", fails=f"{length} < {least}")
    return condition


def _needs(statements: Sequence[ast.stmt], subject: ast.expr) -> Iterator[tuple[int, bool]]:
    """How many items each use surely needs, and whether it needs exactly so many, up to where the name changes."""
    code = ast.dump(subject)
    for statement in statements:
        if hasattr(statement, "body"):
            return
        yield from _of_unpacking(statement, code)
        for node in _always(statement):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and ast.dump(node.value) == code:
                index = _constant(node.slice)
                if index is not None:
                    yield (index + 1 if index >= 0 else -index), False
        if isinstance(statement, LEAVES) or rebinds([statement], subject):
            return


def _of_unpacking(statement: ast.stmt, code: str) -> Iterator[tuple[int, bool]]:
    if isinstance(statement, ast.Assign) and ast.dump(statement.value) == code:
        for target in statement.targets:
            if isinstance(target, ast.Tuple | ast.List):
                starred = sum(isinstance(element, ast.Starred) for element in target.elts)
                yield len(target.elts) - starred, not starred


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is evaluated whenever it is."""
    yield node
    if not isinstance(node, _NOT_ALWAYS):
        for child in ast.iter_child_nodes(node):
            yield from _always(child)


def _constant(node: ast.expr) -> int | None:
    found = constant_of(node)
    return found[0] if found and type(found[0]) is int else None
