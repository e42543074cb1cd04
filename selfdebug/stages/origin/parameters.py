"""From a parameter back to the argument that the call passed for it, or to its default."""

from __future__ import annotations

import ast

from codemods.selfdebug.source import Clause
from selfdebug.model import TracedFrame
from selfdebug.stages.origin import pytest_values
from selfdebug.stages.origin.arguments import Began, argument_for, built_by, call_of, default_of, parameter_names
from selfdebug.stages.origin.callbacks import from_outside, from_partial, started_elsewhere
from selfdebug.stages.origin.control import deciding_values
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import FUNCTIONS, called_name
from selfdebug.stages.origin.quest import Evidence, Found, Quest


def from_argument(evidence: Evidence, quest: Quest, scope: ast.AST, name: str) -> Found:
    """Where the value of a parameter of the frame's function comes from."""
    history, frame = evidence.history, quest.spot.frame
    given = dict(frame.arguments).get(name)
    observed = evidence.agrees(quest, given)
    if observed is False:
        return evidence.unknown(quest, f"{frame.function} was called with another {name}")
    spot = history.caller(frame)
    call = call_of(evidence, frame, spot) if spot is not None else None
    if spot is None or (call is None and _is_called_by_pytest(frame, scope)):
        elsewhere = started_elsewhere(evidence, quest, scope, name)
        return elsewhere or pytest_values.follow_parameter(evidence, quest, scope, name)
    if call is None:
        return _without_call(evidence, quest, spot, scope, name)
    if called_name(call.func) != frame.function:
        partial = from_partial(evidence, quest, spot, call, scope, name)
        if partial is not None:
            return partial
    argument = argument_for(evidence, Began(frame, scope, call, spot), name, quest.path)
    if argument is not None:
        what = evidence.with_path(evidence.text(argument.expression, spot), argument.path)
        sentence = f"{frame.function}() was called with {what} for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=argument.expression, observed=bool(observed))
        return Found((link,), quest.at(argument.expression, spot, argument.path))
    return _defaulted(evidence, quest, spot, scope, name)


def _defaulted(evidence: Evidence, quest: Quest, spot: Spot, scope: ast.AST, name: str) -> Found:
    """The call at `spot` left the parameter to its default, or passed it under another name of the function."""
    frame = quest.spot.frame
    call = call_of(evidence, frame, spot)
    aliased = _of_alias(evidence, quest, spot, call) if call is not None else None
    if call is not None and aliased is not None:
        sentence = f"{frame.function}() was called as {evidence.text(call.func, spot)} with it, probably for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=aliased, observed=False)
        return Found((link,), quest.at(aliased, spot))
    default = default_of(scope, name)
    given = dict(frame.arguments).get(name)
    if default is None and _is_star(scope, name) and not quest.path and given is not None and given.size == 0:
        sentence = f"{frame.function}() was called with nothing for {name} here, so that is empty."
        return Found((evidence.link(quest, "parameter", sentence, spot=spot, node=call),))
    if default is None:
        return evidence.unknown(quest, f"the call at line {spot.step.line} does not show what it passed for {name}")
    sentence = (
        f"{frame.function}() was called without {name} at {spot.frame.file}:{spot.step.line}, "
        f"and its default is {evidence.program(quest.spot).text(default)}."
    )
    own = Spot(frame, 0)
    link = evidence.link(quest, "default", sentence, spot=own, node=default, clause=_function(scope))
    return Found((link,), None if isinstance(default, ast.Constant) else quest.at(default, own))


def _is_star(scope: ast.AST, name: str) -> bool:
    """Whether a parameter takes the rest of the arguments."""
    assert isinstance(scope, FUNCTIONS)
    return any(star is not None and star.arg == name for star in (scope.args.vararg, scope.args.kwarg))


def _of_alias(evidence: Evidence, quest: Quest, spot: Spot, call: ast.Call) -> ast.expr | None:
    """The only argument that had the value, of a call by another name (a partial, say)."""
    frame = quest.spot.frame
    if called_name(call.func) in {frame.function, *built_by(frame)} or quest.path:
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    fitting = [one for one in given if evidence.agrees(quest, evidence.value(one, spot))]
    return fitting[0] if len(fitting) == 1 else None


def _function(scope: ast.AST) -> Clause | None:
    return scope if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _is_called_by_pytest(frame: TracedFrame, scope: ast.AST) -> bool:
    """Whether the call went through pytest: a test or fixture that a project frame (a hook, a plugin) is above of."""
    return frame.way > 8 and isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)


def _without_call(evidence: Evidence, quest: Quest, spot: Spot, scope: ast.AST, name: str) -> Found:
    """Called by code outside the project, or by an operator: the caller's values are all that is known."""
    frame = quest.spot.frame
    operand = _operand(evidence, spot, frame, scope, name)
    if operand is not None:
        sentence = f"{frame.function}() was called by the operator with {evidence.text(operand, spot)} for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=operand)
        return Found((link,), quest.at(operand, spot))
    passed = from_outside(evidence, quest, spot, scope, name) or started_elsewhere(evidence, quest, scope, name)
    if passed is not None:
        return passed
    values = ""
    for clause in evidence.history.clauses(spot):
        values = values or deciding_values(evidence, ast.Tuple([n for n in ast.iter_child_nodes(clause)
                                           if isinstance(n, ast.expr)], ast.Load()), spot)  # fmt: skip
    caller = f"code {evidence.outside}"
    why = f"{frame.function} was called by {caller} from {spot.frame.file}:{spot.step.line}"
    return evidence.unknown(quest, f"{why} ({values})" if values else why)


def _operand(evidence: Evidence, spot: Spot, frame: TracedFrame, scope: ast.AST, name: str) -> ast.expr | None:
    """The operand or index that became the second parameter of an operator's method."""
    names = list(parameter_names(scope))
    if not (frame.function.startswith("__") and len(names) > 1 and names[1] == name) or frame.way:
        return None
    found = [
        node
        for clause in evidence.history.clauses(spot)
        for node in ast.walk(clause)
        if isinstance(node, ast.BinOp | ast.Subscript | ast.Compare)
    ]
    if len(found) != 1:
        return None
    match found[0]:
        case ast.BinOp(left=left, right=right):
            return left if frame.function.startswith("__r") else right
        case ast.Subscript(slice=index):
            return index
        case ast.Compare(comparators=[right]):
            return right
    return None
