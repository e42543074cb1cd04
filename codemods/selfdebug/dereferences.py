"""Every place in a statement where a value is used in a way that None, or a value of a wrong kind, cannot serve.

Read off the concrete syntax tree rather than `ast`, whose positions inside f-strings are wrong before Python 3.12.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import singledispatch

import libcst as cst

from codemods.selfdebug.source import Clause, Source
from codemods.selfdebug.spans import Span, text_at
from codemods.selfdebug.units import Unit, line_unit


class Operation(StrEnum):
    """How the receiver is used."""

    ATTRIBUTE = "attribute"
    SUBSCRIPT = "subscript"
    INDEX = "index"
    CALL = "call"
    ARGUMENT = "argument"
    ITERATE = "iterate"
    ASYNC_ITERATE = "async-iterate"
    UNPACK = "unpack"
    STAR = "star"
    DOUBLE_STAR = "double-star"
    OPERAND = "operand"
    COMPARE = "compare"
    CONTAINS = "contains"
    SORT_KEY = "sort-key"
    ELEMENT = "element"
    ELEMENTS = "elements"
    FORMAT = "format"
    AWAIT = "await"
    CONTEXT = "context"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Dereference:
    """One use of one receiver.

    `name` is the attribute, the operator, the source of the subscript or of the called function; `position` tells the
    left operand (0) from the right one (1), and arguments from each other; `code` is the receiver's source. Of
    `elements` the receiver is their container.
    """

    operation: Operation
    name: str
    position: int
    expression: Span
    receiver: Span
    code: str
    is_literal: bool


# Expressions whose value is never None, whatever runs: a receiver among them cannot have raised for a None.
_NEVER_NONE = (
    cst.BaseNumber,
    cst.BaseString,
    cst.Tuple,
    cst.BaseList,
    cst.BaseDict,
    cst.BaseSet,
    cst.BaseComp,
    cst.Lambda,
    cst.Comparison,
)

_TAKING_ELEMENTS = frozenset({"sum", "max", "min", "sorted", "join", "fsum", "prod", "mean"})

_Use = tuple[Operation, str, int, cst.CSTNode, cst.BaseExpression]


def dereferences(source: Source, statement: Clause) -> tuple[Dereference, ...]:
    """The dereferences in the own expressions of a statement or clause, in source order, without those of its body.

    Raises RefusedError or TargetNotFoundError when the statement cannot be parsed apart.
    """
    region = source.extent(statement)
    inner = [source.extent(child) for child in _nested_statements(statement)]
    unit = line_unit(source, source.statement_at(region), whole=False)
    found = [
        _dereference(source, unit, use)
        for node in unit.positions
        for use in _uses(node)
        if _is_own(unit.positions[use[4]], region, inner)
    ]
    return tuple(sorted(found, key=lambda found: (found.receiver, found.expression, found.operation)))


def _is_own(span: Span, region: Span, inner: list[Span]) -> bool:
    return region.contains(span) and not any(child.contains(span) for child in inner)


def _nested_statements(statement: Clause) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def _dereference(source: Source, unit: Unit, use: _Use) -> Dereference:
    operation, name, position, expression, receiver = use
    span = unit.positions[receiver]
    return Dereference(
        operation,
        name,
        position,
        unit.positions[expression],
        span,
        text_at(source.lines, span),
        isinstance(receiver, _NEVER_NONE),
    )


@singledispatch
def _uses(_node: cst.CSTNode) -> Iterator[_Use]:
    """The dereferences that one node makes itself."""
    return iter(())


def _code(node: cst.CSTNode) -> str:
    return cst.Module(()).code_for_node(node)


@_uses.register
def _attribute(node: cst.Attribute) -> Iterator[_Use]:
    yield Operation.ATTRIBUTE, node.attr.value, 0, node, node.value


@_uses.register
def _subscript(node: cst.Subscript) -> Iterator[_Use]:
    index = ", ".join(_code(element.slice) for element in node.slice)
    yield Operation.SUBSCRIPT, index, 0, node, node.value
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            yield Operation.INDEX, index, 1, node, element.slice.value


@_uses.register
def _call(node: cst.Call) -> Iterator[_Use]:
    name = _code(node.func)
    yield Operation.CALL, name, 0, node, node.func
    for position, argument in enumerate(node.args):
        if argument.star == "*":
            yield Operation.STAR, name, position, node, argument.value
        elif argument.star == "**":
            yield Operation.DOUBLE_STAR, name, position, node, argument.value
        else:
            yield Operation.ARGUMENT, name, position, node, argument.value
        is_key = argument.keyword is not None and argument.keyword.value == "key"
        if is_key and isinstance(argument.value, cst.Lambda):
            yield Operation.SORT_KEY, name, position, node, argument.value.body
    yield from _elements(node, name)


def _elements(node: cst.Call, name: str) -> Iterator[_Use]:
    """The elements that are added, joined or compared: the expression that gives them, or the container as a whole."""
    plain = [argument.value for argument in node.args if argument.keyword is None and not argument.star]
    if name.rpartition(".")[2] not in _TAKING_ELEMENTS or not plain:
        return
    if isinstance(plain[0], cst.GeneratorExp | cst.ListComp | cst.SetComp):
        yield Operation.ELEMENT, name, 0, node, plain[0].elt
    elif len(plain) == 1 or name == "sum":
        yield Operation.ELEMENTS, name, 0, node, plain[0]


@_uses.register
def _for(node: cst.For | cst.CompFor) -> Iterator[_Use]:
    operation = Operation.ASYNC_ITERATE if node.asynchronous else Operation.ITERATE
    yield operation, "for", 0, node.iter, node.iter


@_uses.register
def _assign(node: cst.Assign) -> Iterator[_Use]:
    if any(isinstance(target.target, cst.Tuple | cst.List) for target in node.targets):
        yield Operation.UNPACK, "=", 0, node.value, node.value


@_uses.register
def _starred(node: cst.StarredElement) -> Iterator[_Use]:
    yield Operation.STAR, "*", 0, node.value, node.value


@_uses.register
def _starred_dict(node: cst.StarredDictElement) -> Iterator[_Use]:
    yield Operation.DOUBLE_STAR, "**", 0, node.value, node.value


@_uses.register
def _binary(node: cst.BinaryOperation) -> Iterator[_Use]:
    name = _code(node.operator).strip()
    yield Operation.OPERAND, name, 0, node, node.left
    yield Operation.OPERAND, name, 1, node, node.right
    if name == "%" and isinstance(node.right, cst.Tuple):
        for position, element in enumerate(node.right.elements):
            yield Operation.ARGUMENT, name, position, node, element.value


@_uses.register
def _augmented(node: cst.AugAssign) -> Iterator[_Use]:
    name = _code(node.operator).strip()
    yield Operation.OPERAND, name, 0, node.target, node.target
    yield Operation.OPERAND, name, 1, node.value, node.value


@_uses.register
def _unary(node: cst.UnaryOperation) -> Iterator[_Use]:
    if not isinstance(node.operator, cst.Not):
        yield Operation.OPERAND, _code(node.operator).strip(), 0, node, node.expression


@_uses.register
def _comparison(node: cst.Comparison) -> Iterator[_Use]:
    left = node.left
    for target in node.comparisons:
        name = " ".join(_code(target.operator).split())
        if isinstance(target.operator, cst.In | cst.NotIn):
            yield Operation.CONTAINS, name, 1, node, target.comparator
        elif not isinstance(target.operator, cst.Is | cst.IsNot):
            yield Operation.COMPARE, name, 0, node, left
            yield Operation.COMPARE, name, 1, node, target.comparator
        left = target.comparator


@_uses.register
def _await(node: cst.Await) -> Iterator[_Use]:
    yield Operation.AWAIT, "await", 0, node, node.expression


@_uses.register
def _yield_from(node: cst.From) -> Iterator[_Use]:
    yield Operation.ITERATE, "yield from", 0, node.item, node.item


@_uses.register
def _with_item(node: cst.WithItem) -> Iterator[_Use]:
    yield Operation.CONTEXT, "with", 0, node.item, node.item


@_uses.register
def _format(node: cst.FormattedStringExpression) -> Iterator[_Use]:
    if node.format_spec is not None:
        yield Operation.FORMAT, "format", 0, node.expression, node.expression


@_uses.register
def _name(node: cst.Name) -> Iterator[_Use]:
    yield Operation.NAME, node.value, 0, node, node
