"""From a call back into the function that it called, and to the expression that this returned or yielded."""

from __future__ import annotations

import ast

from codemods.selfdebug.source import Clause
from selfdebug.model import TracedFrame, TracedStep
from selfdebug.stages.origin.control import absent_return
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import called_name, evaluated, in_order_of_evaluation, own_lines
from selfdebug.stages.origin.quest import Element, Evidence, Found, Path, Quest
from selfdebug.stages.origin.truths import truth

Made = tuple[TracedFrame, TracedStep]


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
            for node in in_order_of_evaluation(clause)
            if isinstance(node, ast.Call) and called_name(node.func) == name
        ]
        if clause
        else []
    )
    direct = [entry for entry in made if entry[0].way == 0 and entry[0].caller == spot.frame.number]
    if len(calls) > 1 and len(calls) == len(direct) and call in calls:
        return [direct[calls.index(call)]]
    return made


def from_step(evidence: Evidence, quest: Quest, made: Made, name: str, *, observed: bool = True) -> Found:
    """From the return or yield of a function on to the expression that it returned."""
    frame, step = made
    history = evidence.history
    index = next(number for number, other in enumerate(frame.steps) if other is step)
    scope = history.scope(frame)
    last = next(history.line_steps(frame, index), None)
    if last is None and history.gap_before(frame, index) is not None:
        last = Spot(frame, index)
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
    spots = list(evidence.history.line_steps(end.frame, end.index)) or [end]
    last = spots[0]
    for spot in spots:
        for clause in evidence.history.clauses(spot):
            if not isinstance(clause, ast.Return):
                continue
            reached = _is_reached(evidence, spot, clause)
            if reached is None:
                return evidence.unknown(quest, f"whether the return in line {spot.step.line} was reached is not known")
            if reached:
                return _by_return(evidence, quest, spot, clause, name, observed)
        if not _is_left_through(evidence, spot):
            break
    sentence = f"{name}() reached its end without a return statement, so it returned None."
    node = evidence.history.clauses(last)[-1:] or (None,)
    link = evidence.link(quest, "fell-off-end", sentence, spot=last, node=node[0], observed=observed)
    return Found((link, *absent_return(evidence, quest, last)))


def _by_return(  # noqa: PLR0913, PLR0917 - the return of a function, and what is told of it
    evidence: Evidence, quest: Quest, spot: Spot, clause: ast.Return, name: str, observed: bool
) -> Found:
    if clause.value is not None:
        return _gave(evidence, quest, spot, clause.value, ("return", f"{name}()", observed))
    sentence = f"{name}() has a bare return here, which returns None."
    link = evidence.link(quest, "explicit-none", sentence, spot=spot, node=clause, observed=observed)
    return Found((link, *absent_return(evidence, quest, spot)))


def _is_reached(evidence: Evidence, spot: Spot, clause: ast.Return) -> bool | None:
    """Whether a return was executed and not only its line: `if x: return y` has both; None where that is not known."""
    program = evidence.program(spot)
    below: ast.AST = clause
    for parent in program.around(clause, evidence.history.scope(spot.frame)):
        if isinstance(parent, Clause) and own_lines(parent)[0] <= clause.lineno <= own_lines(parent)[1]:
            was = truth(evidence, parent.test, spot) if isinstance(parent, ast.If) else None
            if not isinstance(parent, ast.If) or was is None:
                return None
            if was is (below in parent.orelse):
                return False
        below = parent
    return True


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
