"""Where the way back begins: the frame of the trace that failed at a place, and the expression there to ask about."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

from codemods.selfdebug.source import Source
from selfdebug.model import FaultKind, FaultLocation, Link, Trace, TracedValue
from selfdebug.stages.origin.absences import absent_attribute, absent_item, absent_name
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.history import NONE, History, Spot
from selfdebug.stages.origin.program import Program, called_name, clause_nodes
from selfdebug.stages.origin.quest import Element, Evidence, Quest
from selfdebug.stages.origin.raising import raised_on_purpose
from selfdebug.stages.origin.walk import walk

_TAKERS = frozenset({"remove", "pop", "popleft", "popitem"})
_NOT_THERE = ("KeyError", "IndexError", "ValueError")
_CONTAINERS = frozenset({"set", "list", "dict", "collections.deque", "collections.OrderedDict"})


def chain_of_fault(location: FaultLocation, trace: Trace, sources: Callable[[str], Source | str]) -> tuple[Link, ...]:
    """The chain of the receiver of a fault; empty when the trace did not come by, or no value is at fault."""
    evidence = _evidence(trace, sources)
    lines = (location.statement.start_line, location.statement.end_line)
    spot = _failed_at(evidence.history, location.file, lines)
    if spot is None:
        return ()
    match location.kind:
        case FaultKind.ASSERTION:
            return _of_assertion(evidence, spot)
        case FaultKind.DELIBERATE_RAISE:
            return raised_on_purpose(evidence, spot)
    found = (evidence.program(spot).expression_at(receiver.receiver) for receiver in location.receivers)
    nodes = [node for node in found if node is not None and not isinstance(node, ast.Constant)]
    expression = _first_none(evidence, nodes, spot) if location.kind.is_none else next(iter(nodes), None)
    if location.kind is FaultKind.OTHER and expression is not None:
        container = _emptied(evidence, expression, spot)
        if container is not None:
            return absent_item(evidence, *container)
        expression = _argument_of(evidence, expression, spot)
    return () if expression is None else _of_receiver(evidence, location.kind, expression, spot)


def _first_none(evidence: Evidence, receivers: list[ast.expr], spot: Spot) -> ast.expr | None:
    """The first receiver that was None; where none is known to have been, the likeliest."""
    held = ((node, evidence.value(node, spot)) for node in receivers)
    return next((node for node, value in held if value is not None and value.is_none), next(iter(receivers), None))


def _of_part(evidence: Evidence, receiver: ast.expr, spot: Spot) -> tuple[Link, ...]:
    """The None is not the receiver itself: a function that was called back gave it, or it is an element."""
    called = {called_name(node) for clause in evidence.history.clauses(spot)
              for node in clause_nodes(clause) if isinstance(node, ast.Call)}  # fmt: skip
    for frame, step in reversed(evidence.history.made_during(spot)):
        if step.value is not None and step.value.is_none and frame.function not in called:
            quest = Quest(receiver, spot, (), NONE)
            found = from_step(evidence, quest, (frame, step), frame.function)
            return (*found.links, *(walk(evidence, found.next) if found.next is not None else ()))
    return walk(evidence, Quest(receiver, spot, (Element(),), NONE))


def _none_argument(evidence: Evidence, called: ast.expr, spot: Spot) -> ast.expr:
    """The argument that was None, where a function outside the project complains of it: `"{:>9}".format(name)`."""
    call = evidence.program(spot).parents.get(called)
    if not isinstance(call, ast.Call) or call.func is not called:
        return called
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    held = ((one, evidence.value(one, spot)) for one in given)
    return next((one for one, value in held if value is not None and value.is_none), called)


def _emptied(evidence: Evidence, called: ast.expr, spot: Spot) -> tuple[ast.expr, Spot, TracedValue] | None:
    """The container whose own method found nothing to take: of `queue.popleft()`, `names.remove(name)`."""
    step = spot.frame.steps[evidence.history.group(spot)[1] + 1 :][:1]
    raised = step[0].exception if step and step[0].kind == "raise" else ""
    if not isinstance(called, ast.Attribute) or called.attr not in _TAKERS or not raised.startswith(_NOT_THERE):
        return None
    owner = evidence.value(called.value, spot)
    return (called.value, spot, owner) if owner is not None and owner.type in _CONTAINERS else None


def _argument_of(evidence: Evidence, called: ast.expr, spot: Spot) -> ast.expr:
    """What a function was given that complains itself: `text` of `int(text)`."""
    call = evidence.program(spot).parents.get(called)
    if not isinstance(call, ast.Call) or call.func is not called:
        return called
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return next((one for one in given if not isinstance(one, ast.Constant | ast.Starred)), called)


def _of_receiver(evidence: Evidence, kind: FaultKind, receiver: ast.expr, spot: Spot) -> tuple[Link, ...]:
    """The chain that answers for the kind of fault: of the value, or of why something is not there."""
    if kind in (FaultKind.UNBOUND_LOCAL, FaultKind.UNDEFINED_NAME):
        return absent_name(evidence, receiver, spot)
    seen = evidence.value(receiver, spot)
    if kind.is_none and seen is not None and not (seen.is_none or seen.is_missing):
        return _of_part(evidence, receiver, spot)
    if kind.is_none and (seen is None or seen.is_missing):
        receiver = _none_argument(evidence, receiver, spot)
    value = NONE if kind.is_none else seen
    if value is None:
        return ()
    if kind in (FaultKind.MISSING_KEY, FaultKind.INDEX_RANGE):
        return absent_item(evidence, receiver, spot, value)
    if kind is FaultKind.MISSING_ATTRIBUTE:
        return absent_attribute(evidence, receiver, spot, value)
    return walk(evidence, Quest(receiver, spot, (), value))


def chain_at(
    file: str, line: int, text: str | None, trace: Trace, sources: Callable[[str], Source | str]
) -> tuple[str, tuple[Link, ...]] | str:
    """The chain of any expression (by default the only one that was None) where a line was last executed.

    Returns its source with its chain, or one sentence that says why there is none.
    """
    evidence = _evidence(trace, sources)
    spot = _failed_at(evidence.history, file, (line, line)) or _last_at(evidence.history, file, line)
    if spot is None:
        return f"{file}:{line} was not executed by the failing test."
    expression = _expression(evidence, spot, text)
    if expression is None:
        return f"{file}:{line} has no expression {text}." if text else f"{file}:{line} has no value that was None."
    value = evidence.value(expression, spot)
    if value is None or value.is_missing:
        shown = evidence.text(expression, spot)
        return f"What {shown} was at {file}:{line} was not recorded."
    return evidence.text(expression, spot), walk(evidence, Quest(expression, spot, (), value))


def _evidence(trace: Trace, sources: Callable[[str], Source | str]) -> Evidence:
    @cache
    def program_of(file: str) -> Program | None:
        source = sources(file)
        return Program(file, source) if isinstance(source, Source) else None

    return Evidence(History(trace, program_of))


def _failed_at(history: History, file: str, lines: tuple[int, int]) -> Spot | None:
    """The last line step of the place that an exception ended and that left its frame."""
    found: Spot | None = None
    for frame in history.trace.frames:
        if frame.file != file or history.program(frame) is None:
            continue
        for index, step in enumerate(frame.steps):
            if step.kind == "raise" and lines[0] <= step.line <= lines[1]:
                place = next(history.line_steps(frame, index), None)
                if place is None or not lines[0] <= place.step.line <= lines[1]:
                    place = Spot(frame, index)  # its line event was not recorded
                if found is None or found.sequence < place.sequence:
                    found = place
    return found


def _last_at(history: History, file: str, line: int) -> Spot | None:
    found: Spot | None = None
    for frame in history.trace.frames:
        if frame.file == file and history.program(frame) is not None:
            for index, step in enumerate(frame.steps):
                is_here = step.kind == "line" and step.line == line
                if is_here and (found is None or found.sequence < step.sequence):
                    found = Spot(frame, index)
    return found


def _expression(evidence: Evidence, spot: Spot, text: str | None) -> ast.expr | None:
    """The expression of that source in the clauses of `spot`; without one, the first that was None."""
    wanted = ast.dump(ast.parse(text, mode="eval").body) if text else None
    for clause in evidence.history.clauses(spot):
        for node in clause_nodes(clause):
            if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                continue
            if wanted is not None:
                if ast.dump(node) == wanted:
                    return node
            elif not isinstance(node, ast.Constant):
                held = evidence.value(node, spot)
                if held is not None and held.is_none:
                    return node
    return None


def _of_assertion(evidence: Evidence, spot: Spot) -> tuple[Link, ...]:
    """The first part of an asserted expression that was None, followed back."""
    for clause in evidence.history.clauses(spot):
        for node in _compared(clause):
            held = evidence.value(node, spot)
            if held is not None and held.is_none:
                return walk(evidence, Quest(node, spot, (), NONE))
    return ()


def _compared(clause: ast.AST) -> list[ast.expr]:
    """What an assertion looks at: the operands of an assert statement, the arguments of `self.assertEqual(...)`."""
    match clause:
        case ast.Assert(test=test):
            return _asserted(test)
        case ast.Expr(value=ast.Call(func=ast.Attribute(), args=arguments)):
            return [part for part in arguments if not isinstance(part, ast.Constant)]
    return []


def _asserted(test: ast.expr) -> list[ast.expr]:
    """The operands of an asserted expression that may be followed, left to right."""
    match test:
        case ast.Compare(left=left, comparators=others):
            return [part for part in (left, *others) if not isinstance(part, ast.Constant)]
        case ast.BoolOp(values=parts):
            return [inner for part in parts for inner in _asserted(part)]
        case ast.UnaryOp(operand=operand):
            return _asserted(operand)
    return [test]
