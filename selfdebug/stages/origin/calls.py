"""From a call back into the function that it called, and from a parameter back to the argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selfdebug.model import TracedFrame, TracedStep, TracedValue
from selfdebug.stages.origin import known
from selfdebug.stages.origin.control import absent_return
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import FUNCTIONS, called_name, evaluated
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Member, Path, Quest

Made = tuple[TracedFrame, TracedStep]
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__call__", "__post_init__"})


# ---------------------------------------------------------------- returns


def follow_call(evidence: Evidence, quest: Quest) -> Found:
    """Where the value of a call comes from: a function of the project, or a source outside."""
    call = quest.expression
    assert isinstance(call, ast.Call)
    if quest.path and isinstance(quest.path[0], Member):
        made = _constructed(evidence, quest, call)
        if made is not None:
            return made
    if quest.path and isinstance(quest.path[0], Item) and _is_generator(evidence, quest, call):
        index = quest.path[0].key
        quest = quest.at(call, path=(Element(index if isinstance(index, int) else None), *quest.path[1:]))
    if quest.path and isinstance(quest.path[0], Element):
        from selfdebug.stages.origin.iterables import through_iterator

        found = through_iterator(evidence, quest, call)
        if found is not None:
            return found
    own = [made for made in returned_by(evidence, call, quest.spot) if evidence.agrees(quest, made[1].value)]
    if own:
        return from_step(evidence, quest, own[-1], called_name(call.func))
    from selfdebug.stages.origin.library import ran_elsewhere, through_library
    from selfdebug.stages.origin.pytest_values import mocked_call

    told = (
        mocked_call(evidence, quest, call)
        or known.source(evidence, quest, call)
        or through_library(evidence, quest, call)
    )
    if told is not None:
        return told
    others = [made for made in evidence.history.made_during(quest.spot) if evidence.agrees(quest, made[1].value)]
    if others and not quest.path:
        one = len({frame.number for frame, _ in others}) == 1
        return from_step(evidence, quest, others[-1], others[-1][0].function, observed=one or not quest.value.is_none)
    return ran_elsewhere(evidence, quest, call) or known.outside(evidence, quest, call)


def _is_generator(evidence: Evidence, quest: Quest, call: ast.Call) -> bool:
    """Whether a call ran a generator of that name."""
    name = called_name(call.func)
    return any(
        frame.function == name and step.kind == "yield" for frame, step in evidence.history.made_during(quest.spot)
    )


def _constructed(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The attribute of an object that a call of its class has just built."""
    from selfdebug.stages.origin.members import attribute_of

    name, history = called_name(call.func), evidence.history
    assert isinstance(quest.path[0], Member)
    inner = quest.at(call, path=quest.path[1:])
    low, high = history.extent(quest.spot)
    for frame in history.children.get(quest.spot.frame.number, ()):
        is_it = frame.function in _CONSTRUCTORS and frame.qualified.rpartition(".")[0].rpartition(".")[2] == name
        if is_it and low < frame.started < high and frame.arguments:
            return attribute_of(evidence, inner, frame.arguments[0][1], quest.path[0].name, high)
    for body in evidence.frames_called(name, quest.spot):
        if isinstance(history.scope(body), ast.ClassDef):
            module = body.file.removesuffix(".py").replace("/", ".")
            return attribute_of(evidence, inner, TracedValue(-1, f"{module}.{name}", "<an object>"), quest.path[0].name)
    return None


def returned_by(evidence: Evidence, call: ast.Call, spot: Spot) -> list[Made]:
    """The returns of the functions of that name that the clause called, for this call where several have the name."""
    name = called_name(call.func)
    made = [
        (frame, step)
        for frame, step in evidence.history.made_during(spot)
        if step.kind == "return" and frame.function == name
    ]
    program = evidence.program(spot)
    clause = program.clause_of(call)
    calls = (
        [
            node
            for node in _in_order_of_evaluation(clause)
            if isinstance(node, ast.Call) and called_name(node.func) == name
        ]
        if clause
        else []
    )
    direct = [entry for entry in made if entry[0].way == 0 and entry[0].caller == spot.frame.number]
    if len(calls) > 1 and len(calls) == len(direct) and call in calls:
        return [direct[calls.index(call)]]
    return made


def _in_order_of_evaluation(node: ast.AST) -> Iterator[ast.AST]:
    """The own expressions of a clause, arguments before the call that takes them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case | ast.Lambda):
            yield from _in_order_of_evaluation(child)
            yield child


def from_step(evidence: Evidence, quest: Quest, made: Made, name: str, *, observed: bool = True) -> Found:
    """From the return or yield of a function on to the expression that it returned."""
    frame, step = made
    history = evidence.history
    index = next(number for number, other in enumerate(frame.steps) if other is step)
    scope = history.scope(frame)
    last = next(history.line_steps(frame, index), None)
    if scope is None or last is None or history.program(frame) is None:
        return evidence.unknown(quest, f"{name}() returned it, but its source does not fit what ran")
    if isinstance(scope, ast.Lambda):
        return _gave(evidence, quest, last, scope.body, ("return", "the lambda", observed))
    if isinstance(scope, ast.GeneratorExp) and step.kind == "yield":
        return _gave(evidence, quest, last, scope.elt, ("yield", "the generator expression", observed))
    if step.kind == "yield":
        return _yielded(evidence, quest, last, name, observed)
    if isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return evidence.unknown(quest, "a comprehension gave it")
    return _returned(evidence, quest, Spot(frame, index), name, observed)


def _returned(evidence: Evidence, quest: Quest, end: Spot, name: str, observed: bool) -> Found:
    last = next(evidence.history.line_steps(end.frame, end.index), end)
    for spot in evidence.history.line_steps(end.frame, end.index):
        for clause in evidence.history.clauses(spot):
            if isinstance(clause, ast.Return):
                if clause.value is None:
                    sentence = f"{name}() has a bare return here, which returns None."
                    link = evidence.link(quest, "explicit-none", sentence, spot=spot, node=clause, observed=observed)
                    return Found((link, *absent_return(evidence, quest, spot)))
                return _gave(evidence, quest, spot, clause.value, ("return", f"{name}()", observed))
        if not _is_left_through(evidence, spot):
            break
    sentence = f"{name}() reached its end without a return statement, so it returned None."
    node = evidence.history.clauses(last)[-1:] or (None,)
    link = evidence.link(quest, "fell-off-end", sentence, spot=last, node=node[0], observed=observed)
    return Found((link, *absent_return(evidence, quest, last)))


def _is_left_through(evidence: Evidence, spot: Spot) -> bool:
    """Whether a clause may run between a return statement and the return: a `with`, a part of a `finally` block."""
    program = evidence.program(spot)
    for clause in evidence.history.clauses(spot):
        if isinstance(clause, ast.With | ast.AsyncWith):
            return True
        node: ast.AST = clause
        for parent in program.around(clause):
            if isinstance(parent, ast.Try | ast.TryStar) and node in parent.finalbody:
                return True
            node = parent
    return False


def _gave(evidence: Evidence, quest: Quest, spot: Spot, value: ast.expr, how: tuple[str, str, bool]) -> Found:
    kind, name, observed = how
    verb = "yielded" if kind == "yield" else "returned"
    what = evidence.with_path(evidence.text(value, spot), quest.path)
    sentence = f"{name} {verb} {what}, which was {quest.text}."
    link = evidence.link(quest, kind, sentence, spot=spot, node=value, observed=observed)
    if isinstance(value, ast.Constant) and not evidence.may_be(quest, value):
        return evidence.not_written(quest.at(value, spot), value, spot)
    if isinstance(value, ast.Constant):
        said = "None explicitly" if value.value is None else evidence.text(value, spot)
        kind = "explicit-none" if value.value is None else "literal"
        sentence = f"{name} {verb} {said}."
        link = evidence.link(quest, kind, sentence, spot=spot, node=value, observed=observed)
        return Found((link, *absent_return(evidence, quest, spot)))
    return Found((link,), quest.at(value, spot))


def _yielded(evidence: Evidence, quest: Quest, spot: Spot, name: str, observed: bool) -> Found:
    for clause in evidence.history.clauses(spot):
        for node in evaluated(clause):
            if isinstance(node, ast.Yield):
                if node.value is None:
                    return evidence.end(quest.at(node, spot), "explicit-none", f"{name}() yielded nothing, so None.")
                return _gave(evidence, quest, spot, node.value, ("yield", f"{name}()", observed))
            if isinstance(node, ast.YieldFrom):
                path: Path = quest.path if quest.path else (Element(),)
                link = evidence.link(
                    quest, "yield", f"{name}() passed on what {evidence.text(node.value, spot)} gave.", spot=spot,
                    node=node, observed=observed,
                )  # fmt: skip
                return Found((link,), quest.at(node.value, spot, path))
    return evidence.unknown(quest, f"{name}() yielded it in a way that could not be read")


# ---------------------------------------------------------------- parameters


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
    given = scope.args
    positional = [*given.posonlyargs, *given.args]
    for parameter, default in zip(reversed(positional), reversed(given.defaults), strict=False):
        if parameter.arg == name:
            return default
    return next(
        (value for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if one.arg == name), None
    )


def call_of(evidence: Evidence, frame: TracedFrame, spot: Spot) -> ast.Call | None:
    """The call in the caller's clause that began `frame`; None where it is none or not certain."""
    calls = [
        node for clause in evidence.history.clauses(spot) for node in evaluated(clause) if isinstance(node, ast.Call)
    ]
    named = [call for call in calls if called_name(call.func) == frame.function]
    if frame.function in _CONSTRUCTORS:
        cls = frame.qualified.rpartition(".")[0].rpartition(".")[2]
        named = [call for call in calls if called_name(call.func) == cls] or named
    if not named:
        plain = [call for call in calls if isinstance(call.func, ast.Name)]
        one = calls if len(calls) == 1 else plain
        is_alias = len(one) == 1 and frame.way == 0 and not _is_given_to(one[0], frame, evidence.history.scope(frame))
        return one[0] if is_alias else None
    if len(named) == 1:
        return named[0]
    low, high = evidence.history.extent(spot)
    siblings = [
        child.number
        for child in evidence.history.children.get(spot.frame.number, ())
        if child.function == frame.function and low < child.started < high and child.way == frame.way
    ]
    clause = evidence.program(spot).clause_of(named[0])
    ordered = [node for node in _in_order_of_evaluation(clause) if node in named] if clause else []
    # The last of the calls that were begun is the one that failed: what comes after it has not run.
    position = siblings.index(frame.number) if frame.number in siblings else len(named)
    found = ordered[position] if len(siblings) <= len(ordered) and position < len(ordered) else None
    return found if isinstance(found, ast.Call) else None


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
        if is_owner and began.frame.function not in _CONSTRUCTORS:
            assert isinstance(call.func, ast.Attribute)
            return Argument(call.func.value, path)
    rest = next((keyword.value for keyword in call.keywords if keyword.arg is None), None)  # **options
    return Argument(rest, (Item(name), *path)) if rest is not None else None


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
        if owner is not None and owner.type == "type" and frame.function not in _CONSTRUCTORS:
            return 0
    return 1
