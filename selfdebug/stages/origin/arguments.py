"""What a call passes for each parameter: which call began a frame, and which of its arguments became what."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codemods.selfdebug.scopes import parameter_defaults
from selfdebug.model import TracedFrame, TracedValue
from selfdebug.stages.origin.contents import keys_in
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import COMPREHENSIONS, FUNCTIONS, called_name, evaluated, in_order_of_evaluation
from selfdebug.stages.origin.quest import Element, Evidence, Item, Path

CONSTRUCTORS = frozenset({"__init__", "__new__", "__call__", "__post_init__"})
"""Functions that a call by the name of their class runs."""


@dataclass(frozen=True, slots=True)
class Argument:
    """The expression that was passed for a parameter, and the way from its value to the parameter's."""

    expression: ast.expr
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Began:
    """The beginning of `frame`, which executes `scope`: by `call`, at `spot` in the caller."""

    frame: TracedFrame
    scope: ast.AST
    call: ast.Call
    spot: Spot


def parameter_names(scope: ast.AST) -> dict[str, ast.arg]:
    """The parameters of a function, in order; empty for every other scope."""
    if not isinstance(scope, FUNCTIONS):
        return {}
    given = scope.args
    stars = [star for star in (given.vararg, given.kwarg) if star]
    return {one.arg: one for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *stars)}


def default_of(scope: ast.AST, name: str) -> ast.expr | None:
    """The default of a parameter."""
    assert isinstance(scope, FUNCTIONS)
    return dict(parameter_defaults(scope)).get(name)


def call_of(evidence: Evidence, frame: TracedFrame, spot: Spot) -> ast.Call | None:
    """The call in the caller's clause that began `frame`; None where it is none or not certain."""
    calls = [
        node for clause in evidence.history.clauses(spot) for node in evaluated(clause) if isinstance(node, ast.Call)
    ]
    named = [call for call in calls if called_name(call.func) == frame.function]
    if frame.function in CONSTRUCTORS:
        named = [call for call in calls if called_name(call.func) in built_by(frame)] or named
    if not named:
        plain = [call for call in calls if isinstance(call.func, ast.Name)]
        one = calls if len(calls) == 1 else plain
        is_alias = len(one) == 1 and frame.way == 0 and not _is_given_to(one[0], frame, evidence.history.scope(frame))
        return one[0] if is_alias and not _is_implicit(frame.function) else None
    low, high = evidence.history.extent(spot)
    alike = [
        child
        for child in evidence.history.children.get(spot.frame.number, ())
        if child.function == frame.function and low < child.started < high and built_by(child) == built_by(frame)
    ]
    if any(child.way < frame.way for child in alike):
        return None  # the calls of the clause ran that one, and library code this
    siblings = [child.number for child in alike if child.way == frame.way]
    if len(named) == 1 and (len(siblings) <= 1 or _is_repeated(evidence, named[0], spot)):
        return named[0]
    clause = evidence.program(spot).clause_of(named[0])
    ordered = [node for node in in_order_of_evaluation(clause) if node in named] if clause else []
    # The last of the calls that were begun is the one that failed: what comes after it has not run.
    position = siblings.index(frame.number) if frame.number in siblings else len(named)
    is_certain = position < len(ordered) and (len(siblings) <= len(ordered) or len(ordered) == 1)
    found = ordered[position] if is_certain else None
    return found if isinstance(found, ast.Call) else None


def built_by(frame: TracedFrame) -> frozenset[str]:
    """The names of the classes whose call can run a constructor: that of the new object, else the one it stands in."""
    if frame.function not in CONSTRUCTORS:
        return frozenset()
    own = frame.arguments[0][1].type.rpartition(".")[2] if frame.arguments else ""
    return frozenset({own if own not in ("", "type") else frame.qualified.rpartition(".")[0].rpartition(".")[2]})


def _is_implicit(name: str) -> bool:
    """Whether a method is one that operators, copies and protocols call, and no call by another name."""
    return name.startswith("__") and name.endswith("__") and name not in (*CONSTRUCTORS, "__call__")


def _is_repeated(evidence: Evidence, call: ast.Call, spot: Spot) -> bool:
    """Whether the clause evaluates a call again and again, in a comprehension."""
    program, clause = evidence.program(spot), evidence.program(spot).clause_of(call)
    node: ast.AST | None = call
    while node is not None and node is not clause:
        if isinstance(node, COMPREHENSIONS):
            return True
        node = program.parents.get(node)
    return False


def _is_given_to(call: ast.Call, frame: TracedFrame, scope: ast.AST | None) -> bool:
    """Whether a call passes on the function of the frame, instead of calling it by another name."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(
        node is scope or (isinstance(node, ast.Name | ast.Attribute) and called_name(node) == frame.function)
        for one in given
        for node in ast.walk(one)
    )


def argument_for(evidence: Evidence, began: Began, name: str, path: Path = ()) -> Argument | None:
    """What a call passes for a parameter; None when it leaves the parameter to its default or is not certain.

    The argument's way takes the place of `path` for a part of `*args` or `**kwargs`, and comes before it otherwise.
    """
    call, scope = began.call, began.scope
    assert isinstance(scope, FUNCTIONS)
    for keyword in call.keywords:
        if keyword.arg == name:
            return Argument(keyword.value, path)
    given = scope.args
    positional = [one.arg for one in (*given.posonlyargs, *given.args)]
    collected = _collected(call, given, name, path)
    if collected is not None:
        return _part(evidence, began, collected, path)
    if name in positional:
        found = _at_position(call, positional.index(name) - _bound(evidence, began))
        if found is not None:
            return Argument(found.expression, (*found.path, *path))
        is_owner = positional[0] == name and isinstance(call.func, ast.Attribute) and _bound(evidence, began)
        if is_owner and began.frame.function not in CONSTRUCTORS:
            assert isinstance(call.func, ast.Attribute)
            return Argument(call.func.value, path)
    rest = next((keyword.value for keyword in call.keywords if keyword.arg is None), None)  # **options
    has_it = rest is not None and _may_have(evidence.value(rest, began.spot), name)
    return Argument(rest, (Item(name), *path)) if rest is not None and has_it else None


def _may_have(mapping: TracedValue | None, key: str) -> bool:
    """Whether a mapping may have a key: unless all of its keys were recorded, and it is not among them."""
    keys = keys_in(mapping) if mapping is not None else []
    return mapping is None or mapping.size != len(keys) or key in keys


def _part(evidence: Evidence, began: Began, collected: tuple[int | None, str | None], path: Path) -> Argument | None:
    """The argument that became a part of `*args` or `**kwargs`."""
    position, key = collected
    if position is not None:
        found = _at_position(began.call, position - _bound(evidence, began))
        return Argument(found.expression, (*found.path, *path[1:])) if found is not None else None
    named = next((each.value for each in began.call.keywords if each.arg == key), None)
    return Argument(named, path[1:]) if named is not None else None


def _collected(call: ast.Call, given: ast.arguments, name: str, path: Path) -> tuple[int | None, str | None] | None:
    """The position or the keyword of what is looked for in `*args` or `**kwargs`; None for every other parameter."""
    if path and isinstance(path[0], Element) and given.kwarg is not None and given.kwarg.arg == name:
        own = {one.arg for one in (*given.args, *given.kwonlyargs)}
        others = [keyword.arg for keyword in call.keywords if keyword.arg not in own]
        return (None, others[0]) if len(others) == 1 else None
    if not path or not isinstance(path[0], Item):
        return None
    key = path[0].key
    if given.vararg is not None and given.vararg.arg == name and isinstance(key, int) and key >= 0:
        return len(given.posonlyargs) + len(given.args) + key, None
    if given.kwarg is not None and given.kwarg.arg == name and isinstance(key, str):
        return None, key
    return None


def _at_position(call: ast.Call, position: int) -> Argument | None:
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return Argument(argument.value, (Item(position - index),)) if position >= index else None
        if index == position:
            return Argument(argument)
    return None


def _bound(evidence: Evidence, began: Began) -> int:
    """1 when the first parameter is filled by the binding of a method, 0 when by the first argument."""
    frame, call = began.frame, began.call
    program = evidence.history.program(frame)
    assert program is not None
    if not isinstance(program.parents.get(began.scope), ast.ClassDef):
        return 0
    decorators = [called_name(each) for each in getattr(began.scope, "decorator_list", ())]
    if "staticmethod" in decorators:
        return 0
    if isinstance(call.func, ast.Attribute) and "classmethod" not in decorators:
        owner = evidence.value(call.func.value, began.spot)
        if owner is not None and owner.type == "type" and frame.function not in CONSTRUCTORS:
            return 0
    return 1
