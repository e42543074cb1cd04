"""What tells that a value should never have become None, so that it gets its default where it was handed on.

A place where a None passes has such signs if the attribute or the result is declared without None, if the class uses
the attribute in several methods and asks nowhere whether it is None, if the function gives other parameters their
defaults, or if something is called its default. Without a sign a None may be meant, and the place that cannot do with
it is at fault.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.selfdebug.scopes import own_nodes, parameter_defaults
from selfdebug.stages.propose.defaults import named_types
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.namesakes import has_default
from selfdebug.stages.propose.records import Sign

_WITH_NONE = frozenset({"None", "Optional", "Any", "object"})
_SEVERAL = 2
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def signs_at(statement: ast.Assign | ast.AnnAssign | ast.Return, tree: ast.Module) -> tuple[Sign, ...]:
    """The signs of a statement of the module that hands a None on."""
    function = enclosing_function(tree, statement.lineno)
    found = []
    if _excludes_none(_declared(statement, function)):
        found.append(Sign.DECLARED)
    attribute = _stored_attribute(statement)
    owner = _class_around(tree, statement.lineno) if attribute else None
    if attribute and owner is not None and _is_taken_for_granted(attribute, owner):
        found.append(Sign.TAKEN_FOR_GRANTED)
    if function is not None and _is_left_out(statement, function):
        found.append(Sign.LIKE_OTHERS)
    if isinstance(statement.value, ast.Name) and has_default(statement.value.id, tree, statement.lineno):
        found.append(Sign.HAS_DEFAULT)
    return tuple(found)


def _declared(statement: ast.stmt, function: _Function | None) -> ast.expr | None:
    if isinstance(statement, ast.AnnAssign):
        return statement.annotation
    return function.returns if isinstance(statement, ast.Return) and function is not None else None


def _excludes_none(annotation: ast.expr | None) -> bool:
    names = named_types(annotation)
    return bool(names) and not _WITH_NONE & set(names)


def _stored_attribute(statement: ast.stmt) -> str | None:
    match statement:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)])
            | ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name))
        ):
            return name
    return None


def _class_around(tree: ast.Module, line: int) -> ast.ClassDef | None:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _is_taken_for_granted(attribute: str, owner: ast.ClassDef) -> bool:
    """Whether several methods of the class use what the attribute has, and none asks whether there is something."""
    if any(_is_own(asked, attribute) for node in ast.walk(owner) for asked in _asked(node)):
        return False
    using = [
        method
        for method in owner.body
        if isinstance(method, _Function)
        and any(_is_own(used, attribute) for node in ast.walk(method) for used in _used(node))
    ]
    return len(using) >= _SEVERAL


def _is_own(node: ast.expr, attribute: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == attribute
    return False


def _asked(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that a node asks for their truth or compares."""
    match node:
        case ast.Compare():
            yield from (node.left, *node.comparators)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            yield test
        case ast.BoolOp():
            yield from node.values
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id="isinstance" | "callable"), args=[subject, *_]):
            yield subject


def _used(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose value a node takes for something that None is not."""
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Call(func=value) | ast.Starred(value=value):
            yield value
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.keyword(arg=None, value=value):
            yield value
        case ast.BinOp():
            yield from (node.left, node.right)


def _is_left_out(statement: ast.stmt, function: _Function) -> bool:
    """Whether the statement stores a parameter as it is, and the function gives others a value when they are None."""
    value = getattr(statement, "value", None)
    optional = {
        name
        for name, default in parameter_defaults(function)
        if isinstance(default, ast.Constant) and default.value is None
    }
    if not isinstance(value, ast.Name) or value.id not in optional:
        return False
    others = optional - {value.id}
    return any(name in others for node in own_nodes(function) for name in _given_a_value(node))


def _given_a_value(node: ast.AST) -> Iterator[str]:
    """The names for which a node puts something else where they are None or false."""
    match node:
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)])], orelse=[]):
            if any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(test)):
                yield name
        case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=name), *_]):
            yield name
        case ast.IfExp(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()])):
            yield name
