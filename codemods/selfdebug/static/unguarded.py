"""Where a value that may be None is used unguarded in a way that None cannot serve.

A use counts when the nearest binding above it, on the way from the start of its function, is a parameter or a plain
assignment of something that may be None, and no condition on that way rules the None out. In doubt, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codemods.selfdebug.base import Parameters, RefusedError, Target, TargetNotFoundError
from codemods.selfdebug.conditions import condition_for
from codemods.selfdebug.dereferences import Dereference, Operation, dereferences
from codemods.selfdebug.expressions import parsed
from codemods.selfdebug.scopes import bound_by, own_nodes, own_statements
from codemods.selfdebug.source import BLOCKS, Source, Statement
from codemods.selfdebug.static.optional_functions import Function
from codemods.selfdebug.static.optional_values import Names, parameter_reason

_FAILING = frozenset(Operation) - {
    Operation.ARGUMENT,
    Operation.COMPARE,
    Operation.ELEMENT,
    Operation.ELEMENTS,
    Operation.FORMAT,
    Operation.INDEX,
    Operation.NAME,
    Operation.SORT_KEY,
}
_REFUSING_NONE = frozenset(
    {"len", "iter", "list", "tuple", "set", "sorted", "enumerate", "reversed", "int", "float", "abs"}
)
_SWALLOWING = frozenset({"AttributeError", "TypeError", "Exception", "BaseException"})
_NONE_HAS = frozenset(dir(None))


@dataclass(frozen=True, slots=True)
class Unguarded:
    """One use: the target for a guard, the receiver's source, and why it may be None."""

    target: Target
    code: str
    operation: Operation
    name: str
    reason: str


def unguarded(source: Source, names: Names) -> Iterator[Unguarded]:
    """The unguarded uses of a file in the order of the source; of uses that only run after another, just the first."""
    for owner in ast.walk(source.tree):
        for node in ast.iter_child_nodes(owner):
            if isinstance(node, Function):
                yield from _Search(source, names, node, owner if isinstance(owner, ast.ClassDef) else None).uses()


_Cause = tuple[ast.AST, str | None]
"""What bound the value, and why that may be None."""


class _Search:
    """One function, a method where `owner` is its class."""

    def __init__(self, source: Source, names: Names, function: Function, owner: ast.ClassDef | None) -> None:
        self._source = source
        self._names = names
        self._function = function
        self._owner = owner
        self._told: dict[tuple[str, ast.AST], list[ast.AST]] = {}

    def uses(self) -> Iterator[Unguarded]:
        names, calls = self._suspects()
        for node in own_statements(self._function):
            own = list(_own_expressions(node))
            if any(each in calls or (isinstance(each, ast.Name) and each.id in names) for each in own):
                yield from self._in_statement(node)

    def _suspects(self) -> tuple[frozenset[str], frozenset[ast.AST]]:
        """The names and the expressions that may be None at all: most statements have none of them.

        Parsing a statement for its concrete syntax is what costs, so this look at the ast comes first.
        """
        nodes = list(own_nodes(self._function))
        optional = frozenset(each for each in nodes if isinstance(each, ast.expr) and self._why(each) is not None)
        arguments = [each.arg for each in ast.walk(self._function.args) if isinstance(each, ast.arg)]
        names = {name for name in arguments if parameter_reason(self._function, name) is not None}
        for each in nodes:
            if isinstance(each, ast.Assign | ast.AnnAssign) and each.value in optional:
                names |= bound_by([each])
        return frozenset(names), optional

    def _why(self, node: ast.expr) -> str | None:
        return self._names.why_optional(node, self._function, self._owner)

    def _in_statement(self, node: ast.stmt) -> Iterator[Unguarded]:
        try:
            uses = [use for use in dereferences(self._source, node) if _fails_for_none(use) and not use.is_literal]
        except (RefusedError, TargetNotFoundError):
            return
        for use in uses:
            statement = self._source.statement_at(use.expression)
            binding, reason = self._cause(use, statement)
            told = self._told.setdefault((use.code, binding), [])
            if reason is not None and not self._is_answered(use, statement, told):
                told.append(statement.node)
                yield Unguarded(Target(use.expression, use.receiver), use.code, use.operation, use.name, reason)

    def _cause(self, use: Dereference, statement: Statement) -> _Cause:
        node = parsed(use.code)
        if not isinstance(node, ast.Name):
            return statement.node, self._why(node)
        if node.id in _bound_inside(statement.node):
            return statement.node, None
        return self._cause_of_name(node.id, statement)

    def _cause_of_name(self, name: str, statement: Statement) -> _Cause:
        """The nearest binding above the statement, and why it may have left None in the name."""
        owners = [level.owner for level in statement.levels]
        for level in reversed(statement.levels[owners.index(self._function) :]):
            for sibling in reversed(level.siblings[: level.index]):
                if name in bound_by([sibling]):
                    value = _assigned(sibling, name)
                    return sibling, None if value is None else self._why(value)
            if level.owner is not self._function and name in bound_by(_header(level.owner)):
                return level.owner, None
        return self._function, parameter_reason(self._function, name)

    def _is_answered(self, use: Dereference, statement: Statement, told: Sequence[ast.AST]) -> bool:
        """Whether the None cannot come here, is caught, or has failed before (in one of the statements `told`)."""
        if any(sibling in told for level in statement.levels for sibling in level.siblings[: level.index + 1]):
            return True
        if any(_swallows(level.owner) for level in statement.levels if level.block == "body"):
            return True
        try:
            condition_for(self._source.site(Target(use.expression, use.receiver)), Parameters())
        except (RefusedError, TargetNotFoundError):
            return True
        return False


def _own_expressions(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without the statements below it."""
    waiting = [child for field, value in ast.iter_fields(node) if field not in BLOCKS for child in _nodes(value)]
    for child in waiting:
        yield from ast.walk(child)


def _nodes(value: object) -> list[ast.AST]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, ast.AST)]


def _fails_for_none(use: Dereference) -> bool:
    if use.operation is Operation.ARGUMENT:
        return use.position == 0 and use.name in _REFUSING_NONE
    if use.operation is Operation.COMPARE:
        return use.name in ("<", "<=", ">", ">=")
    if use.operation is Operation.ATTRIBUTE:
        return use.name not in _NONE_HAS
    if use.operation is Operation.OPERAND and use.name == "%":
        return use.position == 0
    return use.operation in _FAILING


def _bound_inside(node: ast.AST) -> frozenset[str]:
    """The names that a statement's own lambdas, comprehensions and walruses bind."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Lambda):
            found |= {argument.arg for argument in ast.walk(each.args) if isinstance(argument, ast.arg)}
        elif isinstance(each, ast.comprehension | ast.NamedExpr):
            found |= {name.id for name in ast.walk(each.target) if isinstance(name, ast.Name)}
    return frozenset(found)


def _assigned(node: ast.AST, name: str) -> ast.expr | None:
    """The value of a plain assignment to just this name."""
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
        return node.value
    if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
        return node.value
    return None


def _header(owner: ast.AST) -> list[ast.AST]:
    """A compound statement or clause without the statements below it."""
    bare = type(owner)(**{field: [] if field in BLOCKS else value for field, value in ast.iter_fields(owner)})
    return [bare]


def _swallows(owner: ast.AST) -> bool:
    if not isinstance(owner, ast.Try | ast.TryStar):
        return False
    caught = [handler.type for handler in owner.handlers]
    return any(kind is None or _SWALLOWING & set(ast.unparse(kind).strip("()").split(", ")) for kind in caught)
