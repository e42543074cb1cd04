"""Neutral objects of a project's own classes and of well-known ones: `Decimal(0)`, `datetime.min`, `Style()`.

Where passing runs had an object of a class, a literal cannot stand in for it. How the module makes an empty one tells
best; then a class that is made of nothing, and what the standard library has for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

from codemods.selfdebug.expressions import constant_of, last_name
from codemods.selfdebug.scopes import bound_by, parameter_defaults
from selfdebug.stages.propose.defaults import Default, is_plain, literal

_AS_ELSEWHERE, _MADE_OF_NOTHING, _NAMED = 1, 2, 0
_NEUTRAL_NAMES = frozenset({"min", "empty", "zero", "none", "null", "nil", "default", "unknown", "missing", "nothing"})
_KNOWN = {
    **dict.fromkeys(("Decimal", "Fraction"), "(0)"),
    **dict.fromkeys(("datetime", "date", "time"), ".min"),
    **dict.fromkeys(("timedelta", "Counter", "deque", "StringIO", "BytesIO", "SimpleNamespace"), "()"),
}


def of_classes(types: Iterable[str], module: ast.Module) -> Iterator[Default]:
    """Neutral objects of the classes of these names (qualified or not), as far as the module can name the classes."""
    for name in dict.fromkeys(each.rpartition(".")[2] for each in types):
        spelled = spelling(name, module)
        if spelled is not None:
            yield from _made_elsewhere(name, spelled, module)
            if _is_made_of_nothing(name, module):
                yield Default(f"{spelled}()", f"{name} is made of nothing", _MADE_OF_NOTHING)
            elif name in _KNOWN:
                yield Default(f"{spelled}{_KNOWN[name]}", f"nothing of the class {name}", _MADE_OF_NOTHING)


def no_context(readable: Set[str]) -> Default:
    """The context manager that does nothing, as code with these names can make it."""
    if "nullcontext" not in readable and "contextlib" in readable:
        return Default("contextlib.nullcontext()", "a context that does nothing", _MADE_OF_NOTHING)
    needs = "from contextlib import nullcontext"
    return Default("nullcontext()", "a context that does nothing", _MADE_OF_NOTHING, needs=needs)


def named_values(module: ast.Module, literals: Sequence[str]) -> Iterator[Default]:
    """The constants of a module whose value is one of the literals, which a failing test names."""
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_plain(value) and literal(value) in literals:
                yield Default(name, "the failing test names its value", _NAMED)


def instances_of(type_name: str, module: ast.Module) -> Iterator[str]:
    """The names of the module for the one object of a class: its sentinels (`MISSING = _Missing()`)."""
    name_of_class = type_name.rpartition(".")[2]
    spelled = name_of_class if type_name == "object" else spelling(name_of_class, module)
    for node in module.body if spelled is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[], keywords=[])):
                if ast.unparse(function) == spelled:
                    yield name


def is_constructed(node: ast.expr, module: ast.Module) -> bool:
    """Whether an expression makes an object of constants only, or reads a constant: `Decimal(0)`, `date.min`, `NONE`.

    A call counts where it names a class.
    """
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            name = last_name(function)
            is_class = name[:1].isupper() or name in _KNOWN
            values = (*args, *(keyword.value for keyword in keywords))
            return is_class and _is_of_module(function, module) and all(is_plain(value) for value in values)
        case ast.Attribute(attr=name):
            return (name.isupper() or name.lower() in _NEUTRAL_NAMES) and _is_of_module(node, module)
        case ast.Name(id=name):
            return name.isupper() and _is_of_module(node, module)
    return False


def _is_of_module(node: ast.expr, module: ast.Module) -> bool:
    """Whether a dotted name begins with a name that the module imports, defines or assigns."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in bound_by(module.body)


def spelling(name: str, module: ast.Module) -> str | None:
    """How a module names the class of this last name, if it can."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom | ast.ClassDef) and name in bound_by([node]):
            return name
    dotted = (node for node in ast.walk(module) if isinstance(node, ast.Attribute) and node.attr == name)
    return next((ast.unparse(node) for node in dotted if _is_of_module(node, module)), None)


def _made_elsewhere(name: str, spelled: str, module: ast.Module) -> Iterator[Default]:
    for node in ast.walk(module):
        match node:
            case ast.Call(func=function, args=args, keywords=[]) if ast.unparse(function) == spelled:
                is_neutral = all(_is_nothing(value) for value in args)
            case ast.Attribute(value=owner, attr=attribute) if attribute.lower() in _NEUTRAL_NAMES:
                is_neutral = ast.unparse(owner) == spelled
            case ast.ClassDef() if node.name == name:
                yield from _members(node, spelled)
                continue
            case _:
                continue
        if is_neutral:
            yield Default(ast.unparse(node), f"{name} as in line {node.lineno}", _AS_ELSEWHERE)


def _members(owner: ast.ClassDef, spelled: str) -> Iterator[Default]:
    """What a class, an enumeration for instance, has of its own for nothing."""
    for node in owner.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=member)]) if member.lower() in _NEUTRAL_NAMES:
                yield Default(f"{spelled}.{member}", f"{spelled} has it for nothing", _AS_ELSEWHERE)


def _is_nothing(node: ast.expr) -> bool:
    constant = constant_of(node)
    return not constant[0] if constant else is_plain(node)


def _is_made_of_nothing(name: str, module: ast.Module) -> bool:
    """Whether a class of the module has an `__init__` of its own that asks for nothing."""
    owner = next((node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name), None)
    for node in owner.body if owner is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = {parameter for parameter, _ in parameter_defaults(node)}
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            return all(argument.arg in given for argument in arguments[1:])
    return False
