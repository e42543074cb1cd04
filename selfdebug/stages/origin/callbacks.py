"""Parameters that code outside the project passed: to a callback, a partial, a thread, a task."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfdebug.model import TracedFrame
from selfdebug.stages.origin.arguments import parameter_names
from selfdebug.stages.origin.bindings import latest_binding
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import called_name, clause_nodes
from selfdebug.stages.origin.quest import Element, Evidence, Found, Path, Quest

_GOING_OVER = frozenset({"map", "filter", "reduce", "starmap", "accumulate", "takewhile", "dropwhile", "submit"})
_SORTING = frozenset({"sorted", "max", "min", "groupby", "nlargest", "nsmallest"})
_STARTERS = frozenset({"Thread", "Timer", "Process", "submit", "apply_async", "run_in_executor", "to_thread"})


def from_outside(evidence: Evidence, quest: Quest, spot: Spot, scope: ast.AST, name: str) -> Found | None:
    """A parameter of a function that code outside the project called while the clause of `spot` was executed."""
    frame = quest.spot.frame
    before = _earlier_result(evidence, quest, spot) if name == next(iter(parameter_names(scope)), "") else None
    if before is not None:
        return before
    passed = _held_by(evidence, quest, spot) or _gone_over(evidence, spot)
    if passed is None:
        return None
    expression, path = passed
    what = evidence.with_path(evidence.text(expression, spot), path)
    sentence = f"{frame.function}() was called by code outside the project, which got {what} here."
    link = evidence.link(quest, "through-library", sentence, spot=spot, node=expression, observed=False)
    return Found((link,), quest.at(expression, spot, (*path, *quest.path)))


def _held_by(evidence: Evidence, quest: Quest, spot: Spot) -> tuple[ast.expr, Path] | None:
    """The only argument in the caller's clause that held the very value."""
    clauses = evidence.history.clauses(spot)
    if quest.path or len(clauses) != 1:
        return None
    calls = (node for node in clause_nodes(clauses[0]) if isinstance(node, ast.Call))
    given = [one for call in calls for one in (*call.args, *(keyword.value for keyword in call.keywords))]
    held = [one for one in given if evidence.agrees(quest, evidence.value(one, spot))]
    return (held[0], ()) if len(held) == 1 else None


def _gone_over(evidence: Evidence, spot: Spot) -> tuple[ast.expr, Path] | None:
    """The iterable over which a function of the library calls back: of `map`, `sorted(key=...)`, `reduce`."""
    for clause in evidence.history.clauses(spot):
        for node in clause_nodes(clause):
            if not isinstance(node, ast.Call):
                continue
            name = called_name(node.func)
            if name in _GOING_OVER and len(node.args) > 1:
                return node.args[1], (Element(),)
            if name in _SORTING and node.args:
                return node.args[-1 if name.startswith("n") else 0], (Element(),)
            if name == "sort" and isinstance(node.func, ast.Attribute):
                return node.func.value, (Element(),)
    return None


def _earlier_result(evidence: Evidence, quest: Quest, spot: Spot) -> Found | None:
    """What `reduce` passes first: what the call before returned."""
    history, frame = evidence.history, quest.spot.frame
    if not any(called_name(call.func) in ("reduce", "accumulate") for call in _calls(evidence, spot)):
        return None
    siblings = [one for one in history.children.get(spot.frame.number, ()) if one.function == frame.function]
    earlier = [one for one in siblings if one.started < frame.started and one.steps]
    if not earlier or not evidence.agrees(quest, earlier[-1].steps[-1].value):
        return None
    end = earlier[-1].steps[-1]
    return from_step(evidence, quest, (earlier[-1], end), frame.function)


def _calls(evidence: Evidence, spot: Spot) -> Iterator[ast.Call]:
    for clause in evidence.history.clauses(spot):
        yield from (node for node in clause_nodes(clause) if isinstance(node, ast.Call))


# ---------------------------------------------------------------- partials


def from_partial(  # noqa: PLR0913, PLR0917 - a call and what it called
    evidence: Evidence, quest: Quest, spot: Spot, call: ast.Call, scope: ast.AST, name: str
) -> Found | None:
    """A parameter that a `functools.partial` had bound, when the partial was made."""
    if not isinstance(call.func, ast.Name):
        return None
    frames = [one for one in evidence.history.trace.frames if one.file == spot.frame.file]
    own = latest_binding(evidence, [spot.frame], call.func.id, spot)
    binding = own or latest_binding(evidence, [one for one in frames if one.function == "<module>"], call.func.id, spot)
    made = getattr(binding.clause, "value", None) if binding is not None else None
    if binding is None or not isinstance(made, ast.Call) or called_name(made.func) not in ("partial", "partialmethod"):
        return None
    names = list(parameter_names(scope))
    bound = dict(zip(names, made.args[1:], strict=False)) | {
        keyword.arg: keyword.value for keyword in made.keywords if keyword.arg
    }
    given = dict(zip(names[len(made.args) - 1 :], call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    place, argument = (spot, given[name]) if name in given else (binding.spot, bound.get(name))
    if argument is None:
        return None
    how = "" if name in given else ", which partial() had bound"
    sentence = f"{quest.spot.frame.function}() got {evidence.text(argument, place)} for {name}{how}."
    link = evidence.link(quest, "parameter", sentence, spot=place, node=argument)
    return Found((link,), quest.at(argument, place))


# ---------------------------------------------------------------- threads and tasks


def started_elsewhere(evidence: Evidence, quest: Quest, scope: ast.AST, name: str) -> Found | None:
    """A parameter of a function that another thread or the event loop runs: on to the call that handed it over."""
    frame, history = quest.spot.frame, evidence.history
    names = list(parameter_names(scope))
    position = names.index(name) - (frame.qualified.count(".") > 0 and names[0] in ("self", "cls"))
    coroutine = (frame.function,) if isinstance(scope, ast.AsyncFunctionDef) else ()
    for spot, _, call in history.calls((*_STARTERS, *coroutine), frame.started):
        argument = _handed_over(call, frame, position, name)
        if argument is None:
            continue
        inner = quest.at(argument, spot)
        held = evidence.value(argument, spot)
        fits = evidence.may_be(inner, argument) if isinstance(argument, ast.Constant) else evidence.agrees(inner, held)
        if fits:
            sentence = f"{evidence.text(call.func, spot)}() was given {evidence.text(argument, spot)} for {name}."
            link = evidence.link(quest, "parameter", sentence, spot=spot, node=argument, observed=False)
            return Found((link,), inner)
    return None


def _handed_over(call: ast.Call, frame: TracedFrame, position: int, name: str) -> ast.expr | None:
    """The expression that a call hands to a parameter of the function of a frame, which it starts."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if called_name(call.func) == frame.function:  # the coroutine of a task
        return call.args[position] if position < len(call.args) else keywords.get(name)
    target = keywords.get("target")
    if target is not None:
        packed = keywords.get("args")
        is_it = called_name(target) == frame.function and isinstance(packed, ast.Tuple | ast.List)
        return (
            packed.elts[position]
            if is_it and isinstance(packed, ast.Tuple | ast.List) and position < len(packed.elts)
            else None
        )
    places = [
        index
        for index, one in enumerate(call.args)
        if not isinstance(one, ast.Constant) and called_name(one) == frame.function
    ]
    if not places:
        return None
    return call.args[places[0] + 1 + position] if places[0] + 1 + position < len(call.args) else keywords.get(name)
