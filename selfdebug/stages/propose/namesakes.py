"""Values that are named as the missing one: what a project calls `default_x`, `self.x`, or gives a parameter `x`.

Where `x` is missing, developers take the attribute of that name, the default of that name, or what another function of
the module takes for a parameter of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.selfdebug.expressions import is_none, last_name
from codemods.selfdebug.scopes import own_nodes, parameter_defaults
from selfdebug.stages.propose.defaults import Default, is_plain, literal

_NAMED = 0  # it is the project's own word for such a value; what the class has comes first
_OWN = ("self", "cls")
_OWNERS_AT_MOST = 5


def namesakes(code: str, tree: ast.Module, line: int) -> Iterator[Default]:
    """Defaults for the value that the source `code` (a name, an attribute, a string key) stands for at the line."""
    name = _last_name(code)
    if name is None:
        return
    function, owner = _innermost(tree, line)
    if owner is not None and function is not None and _takes_self(function):
        for attribute in sorted(_attributes(owner, tree, function)):
            is_same = attribute == name and code not in (f"self.{name}", f"cls.{name}")
            if is_same or _is_default_of(name, attribute):
                own = f"{function.args.args[0].arg}.{attribute}"
                yield Default(own, f"{owner.name} has it for {name}", _NAMED)
    for constant in sorted(_constants(tree)):
        if _is_default_of(name, constant):
            yield Default(constant, f"the module has it for {name}", _NAMED)
    for other in ast.walk(tree):
        if isinstance(other, ast.FunctionDef | ast.AsyncFunctionDef):
            for value in _given(other, name):
                yield Default(literal(value), f"{other.name} takes it for {name}", _NAMED)


def has_default(code: str, tree: ast.Module, line: int) -> bool:
    """Whether the class or the module around a line calls something the default of what `code` stands for."""
    name = _last_name(code)
    owner = _innermost(tree, line)[1]
    given = _given_to_all(owner) if owner is not None else set()
    return name is not None and any(_is_default_of(name, each) for each in (*given, *_constants(tree)))


def hides_class_value(statement: ast.stmt | None, tree: ast.Module) -> bool:
    """Whether the statement stores an attribute of `self` that the class gives all its objects already."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
            owner = _innermost(tree, statement.lineno)[1]
            return owner is not None and any(name in _given_to_all(each) for each in _family(owner, tree))
    return False


def _given_to_all(owner: ast.ClassDef) -> set[str]:
    names = {node.id for node in own_nodes(owner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.name for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _last_name(code: str) -> str | None:
    try:
        node = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_") or None
        case ast.Constant(value=str(name)) if name.isidentifier():
            return name
    return None


def _is_default_of(name: str, other: str) -> bool:
    plain, wanted = other.lower().strip("_"), name.lower()
    return plain in (f"default_{wanted}", f"{wanted}_default", f"default{wanted}")


def _innermost(
    tree: ast.Module, line: int
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, ast.ClassDef | None]:
    """The method around the line and its class."""
    owner: ast.ClassDef | None = None
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    scope: ast.AST = tree
    while (inner := _child_around(scope, line)) is not None:
        if isinstance(inner, ast.ClassDef):
            owner, function = inner, None
        elif isinstance(scope, ast.ClassDef):
            function = inner
        scope = inner
    return function, owner


def _child_around(scope: ast.AST, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    for node in own_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            return node
    return None


def _takes_self(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(function.args.args) and function.args.args[0].arg in _OWN


def _attributes(owner: ast.ClassDef, tree: ast.Module, reader: ast.AST) -> set[str]:
    """The data attributes of a class and of its bases in the same module that have a value when `reader` runs.

    Those that `reader` itself stores have none yet; methods are left out but for properties.
    """
    return {name for each in _family(owner, tree) for name in _own_attributes(each, reader)}


def _family(owner: ast.ClassDef, tree: ast.Module) -> Iterator[ast.ClassDef]:
    """A class and its bases in the same module."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    todo, met = [owner], {owner.name}
    while todo and len(met) <= _OWNERS_AT_MOST:
        each = todo.pop()
        yield each
        for base in each.bases:
            name = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(name, ast.Name) and name.id in classes and name.id not in met:
                met.add(name.id)
                todo.append(classes[name.id])


def _own_attributes(owner: ast.ClassDef, reader: ast.AST) -> Iterator[str]:
    for node in own_nodes(owner):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef) and any(_is_property(each) for each in node.decorator_list):
            yield node.name
    for method in owner.body:
        for node in ast.walk(method) if method is not reader else ():
            match node:
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                    yield name


def _is_property(decorator: ast.expr) -> bool:
    return last_name(decorator) in ("property", "cached_property")


def _constants(tree: ast.Module) -> set[str]:
    return {node.id for node in own_nodes(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} | {
        alias.asname or alias.name
        for node in own_nodes(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[ast.expr]:
    """The plain default of the parameter of that name, if it has one that is not None."""
    for parameter, value in parameter_defaults(function):
        if parameter == name and is_plain(value) and not is_none(value):
            yield value
