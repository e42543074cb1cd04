"""Why the value that would have been right was not reached: a branch not taken, a loop without a hit, an exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.source import Clause
from selfdebug.model import Link
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import Program, clause_nodes, key_of, stored_names
from selfdebug.stages.origin.quest import Evidence, Quest

MAX_DECISIONS = 4
CONTROL = frozenset({"branch-not-taken", "branch-taken", "loop-not-entered", "swallowed-exception", "not-called"})


def absent_return(evidence: Evidence, quest: Quest, spot: Spot) -> tuple[Link, ...]:
    """Why no return with a value was reached in the frame of `spot`; nothing when the function has none."""
    program, scope = evidence.program(spot), evidence.history.scope(spot.frame)
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return ()
    wanted = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value)
        and program.scope_of(node) is scope
    ]  # fmt: skip
    swallowed = _swallowed(evidence, quest, spot) or _swallowed_among(evidence, quest, spot, wanted)
    return swallowed or not_reached(evidence, quest, spot, wanted)


def _swallowed_among(evidence: Evidence, quest: Quest, spot: Spot, wanted: Sequence[ast.AST]) -> tuple[Link, ...]:
    """The last exception that came out of a `try` block with one of the wanted clauses."""
    program = evidence.program(spot)
    for index in range(spot.index, -1, -1):
        step = spot.frame.steps[index]
        if step.kind != "raise":
            continue
        for clause in program.clauses_at(step.line):
            tries = (parent for parent in program.around(clause) if isinstance(parent, ast.Try | ast.TryStar))
            block = [node for one in tries for part in one.body for node in ast.walk(part)]
            if any(node in block for node in wanted):
                return (_swallow_link(evidence, quest, Spot(spot.frame, index)),)
    return ()


def absent_assignment(evidence: Evidence, quest: Quest, name: str, since: Spot, until: Spot) -> tuple[Link, ...]:
    """Why a name kept the value of `since` up to `until`, where other assignments to it stand in between."""
    program, scope = evidence.program(since), evidence.history.scope(since.frame)
    if scope is None or since.frame.number != until.frame.number:
        return ()
    swallowed = _swallowed_assignment(evidence, quest, name, since, until)
    if swallowed:
        return swallowed
    first = min((clause.lineno for clause in _statements(evidence.history.clauses(since))), default=0)
    wanted = [
        clause
        for clause in ast.walk(scope)
        if isinstance(clause, ast.stmt)
        and clause.lineno > first
        and program.scope_of(clause) is scope
        and any(stored == name for stored, _ in stored_names(clause))
        and not isinstance(clause, ast.Delete)
    ]
    return not_reached(evidence, quest, until, wanted, since)


def _statements(clauses: Sequence[Clause]) -> Iterator[ast.stmt]:
    return (clause for clause in clauses if isinstance(clause, ast.stmt))


def not_reached(
    evidence: Evidence, quest: Quest, spot: Spot, wanted: Sequence[ast.AST], since: Spot | None = None
) -> tuple[Link, ...]:
    """The innermost executed conditions or loops around the wanted clauses that let them be passed by."""
    history, program = evidence.history, evidence.program(spot)
    scope = history.scope(spot.frame)
    low = since.index if since is not None else -1
    reached = [
        (place, clause)
        for place in history.line_steps(spot.frame, spot.index + 1)
        if place.index >= low
        for clause in history.clauses(place)
    ]
    ran = {clause for _, clause in reached}
    links: dict[tuple[int, str], Link] = {}
    for clause in wanted:
        if clause in ran:
            continue
        node: ast.AST = clause
        for parent in program.around(clause, scope):
            place = next((place for place, found in reached if found is parent), None)
            link = _decision(evidence, quest, place, parent, node) if place is not None else None
            if link is not None and place is not None:
                links.setdefault((link.line, link.kind), link)
                links.update(_earlier_decision(evidence, quest, place, parent) if len(links) == 1 else {})
                break
            node = parent
    return tuple(links.values())[:MAX_DECISIONS]


def _earlier_decision(evidence: Evidence, quest: Quest, place: Spot, parent: ast.AST) -> dict[tuple[int, str], Link]:
    """Why the name that decided a condition had its value, where a condition decided that, too."""
    from selfdebug.stages.origin.walk import walk

    test = parent.test if isinstance(parent, ast.If | ast.While) else None
    decider = test.operand if isinstance(test, ast.UnaryOp) else test
    if not isinstance(decider, ast.Name | ast.Attribute):
        return {}
    value = evidence.value(decider, place)
    if value is None or value.is_missing:
        return {}
    way = walk(evidence, type(quest)(decider, place, (), value))
    return {(link.line, link.kind): link for link in way} if any(link.kind in CONTROL for link in way) else {}


def _decision(evidence: Evidence, quest: Quest, place: Spot, parent: ast.AST, below: ast.AST) -> Link | None:
    match parent:
        case ast.If(test=test) | ast.While(test=test):
            was = "true" if below in parent.orelse else "false"
            values = deciding_values(evidence, test, place)
            because = f" ({values})" if values else ""
            what = "while" if isinstance(parent, ast.While) else "if"
            sentence = f"The condition of this {what} was {was}{because}, so line {_line(below)} was not executed."
            return evidence.link(quest, "branch-not-taken", sentence, spot=place, node=test, clause=parent)
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            if _was_entered(evidence, place, parent):
                return _left_early(evidence, quest, place, parent, below)
            held = evidence.value(iterable, place)
            given = f" ({evidence.text(iterable, place)} was {held.text})" if held is not None else ""
            sentence = f"The loop had nothing to go over{given}, so line {_line(below)} was not executed."
            return evidence.link(quest, "loop-not-entered", sentence, spot=place, node=iterable, clause=parent)
        case ast.Match(subject=subject):
            held = evidence.value(subject, place)
            given = f": {evidence.text(subject, place)} was {held.text}" if held is not None else ""
            sentence = f"No case with line {_line(below)} matched{given}."
            return evidence.link(quest, "branch-not-taken", sentence, spot=place, node=subject, clause=parent)
    return None


def _was_entered(evidence: Evidence, place: Spot, loop: ast.AST) -> bool:
    """Whether a clause of the loop's body was executed in the frame, or may have been while that was not looked at."""
    history, program = evidence.history, evidence.program(place)
    return history.gap_before(place.frame, len(place.frame.steps)) is not None or any(
        loop in program.around(clause)
        for spot in history.line_steps(place.frame, len(place.frame.steps))
        for clause in history.clauses(spot)
    )


def _left_early(evidence: Evidence, quest: Quest, place: Spot, loop: ast.AST, below: ast.AST) -> Link | None:
    """The condition under which a `continue` or `break` let the rest of the loop's body be passed by."""
    history, program = evidence.history, evidence.program(place)
    for spot in history.line_steps(place.frame, len(place.frame.steps)):
        for clause in history.clauses(spot):
            if not isinstance(clause, ast.Continue | ast.Break) or loop not in program.around(clause):
                continue
            word = "continue" if isinstance(clause, ast.Continue) else "break"
            condition = program.parents.get(clause)
            if not isinstance(condition, ast.If):
                return None
            places = history.line_steps(spot.frame, spot.index)
            decided = next((at for at in places if condition in history.clauses(at)), None)
            if decided is None:
                return None
            values = deciding_values(evidence, condition.test, decided)
            because = f" ({values})" if values else ""
            was = "false" if clause in condition.orelse else "true"
            sentence = f"The condition of this if was {was}{because}, so {word} passed line {_line(below)} by."
            return evidence.link(quest, "branch-taken", sentence, spot=decided, node=condition.test, clause=condition)
    return None


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0) or getattr(getattr(node, "pattern", None), "lineno", 0))


def deciding_values(evidence: Evidence, test: ast.expr, place: Spot) -> str:
    """The recorded values of the names, attributes and items in a condition: `key was 'x', strict was True`."""
    found: dict[str, str] = {}
    for node in (test, *clause_nodes(test)):
        key = key_of(node)
        if key is None or any(other.startswith((f"{key}.", f"{key}[")) for other in found):
            continue
        held = evidence.history.value(node, place)
        if held is not None and not held.is_missing and "function" not in held.type and held.type != "type":
            found.setdefault(key, held.text)
    return ", ".join(f"{key} was {text}" for key, text in list(found.items())[:4])


# ---------------------------------------------------------------- exceptions


def _swallowed(evidence: Evidence, quest: Quest, spot: Spot) -> tuple[Link, ...]:
    """The exception that led into the `except` clause in which `spot` lies, if it lies in one."""
    program = evidence.program(spot)
    for clause in evidence.history.clauses(spot):
        for parent in (clause, *program.around(clause)):
            if isinstance(parent, ast.ExceptHandler):
                return _raised_before(evidence, quest, spot)
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                break
    return ()


def _raised_before(evidence: Evidence, quest: Quest, spot: Spot) -> tuple[Link, ...]:
    steps = spot.frame.steps
    for index in range(spot.index - 1, -1, -1):
        if steps[index].kind == "raise":
            return (_swallow_link(evidence, quest, Spot(spot.frame, index)),)
    return ()


def _swallow_link(evidence: Evidence, quest: Quest, raised: Spot) -> Link:
    place = next(evidence.history.line_steps(raised.frame, raised.index), raised)
    clauses = evidence.history.clauses(place)
    node = clauses[-1] if clauses else None
    program = evidence.program(raised)
    is_suppressed = node is not None and not any(
        isinstance(parent, ast.Try | ast.TryStar) and parent.handlers for parent in program.around(node)
    )
    catcher = "with statement around it" if is_suppressed else "except clause that caught it"
    sentence = f"{raised.step.exception} was raised here, and the {catcher} went on without it."
    return evidence.link(quest, "swallowed-exception", sentence, spot=place, node=node)


def _swallowed_assignment(evidence: Evidence, quest: Quest, name: str, since: Spot, until: Spot) -> tuple[Link, ...]:
    """An assignment to the name that had begun, and that an exception ended."""
    program: Program = evidence.program(since)
    steps = since.frame.steps
    for index in range(until.index - 1, since.index, -1):
        if steps[index].kind != "raise":
            continue
        for clause in program.clauses_at(steps[index].line):
            block: list[ast.AST] = [clause]
            for parent in program.around(clause):
                if isinstance(parent, ast.Try | ast.TryStar):
                    block = list(parent.body)
                    break
            stored = (found for node in block for inner in ast.walk(node) if isinstance(inner, ast.stmt)
                      for found, _ in stored_names(inner))  # fmt: skip
            if name in stored:
                return (_swallow_link(evidence, quest, Spot(since.frame, index)),)
    return ()
