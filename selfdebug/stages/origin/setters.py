"""Where the methods of a class set an attribute, and why they did not on one object: not called, or passed by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedFrame, TracedValue
from selfdebug.stages.origin.classes import class_bodies
from selfdebug.stages.origin.control import not_reached
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.quest import Evidence, Quest

Setter = tuple[ast.AST, Clause, str]
"""A method, the clause in it that sets an attribute of its object, and the attribute."""


def setters_of(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Setter]:
    """The clauses in the methods of the object's class that set attributes to something else than None."""
    for body in class_bodies(evidence, quest, owner.type):
        program, scope = evidence.history.program(body), evidence.history.scope(body)
        assert program is not None and isinstance(scope, ast.ClassDef)
        for method in scope.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args:
                for clause, attribute in program.attributes_set(method, method.args.args[0].arg):
                    if not is_none(getattr(clause, "value", None)):
                        yield method, clause, attribute


def never_set(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> tuple[Link, ...]:
    """Why no method has set the attribute on the very object."""
    history = evidence.history
    setters = [setter for setter in setters_of(evidence, quest, owner) if setter[2] == name]
    since = history.born(owner, quest.spot.sequence)
    ran = [frame for frame in history.trace.frames if frame.started >= since and _is_on(frame, owner)]
    for method, clause, _ in setters:
        for frame in reversed([frame for frame in ran if history.scope(frame) is method]):
            last = next(history.line_steps(frame, len(frame.steps)), None)
            links = not_reached(evidence, quest, last, [clause]) if last is not None else ()
            if links:
                return links
    if setters and not any(history.scope(frame) is setters[0][0] for frame in ran):
        method = setters[0][0]
        is_used = any(history.scope(frame) is method for frame in history.trace.frames)
        where = "not called on this object" if is_used else "not called"
        sentence = f"{name} is set by {getattr(method, 'name', 'a method')}() here, which was {where}."
        return (static_link(evidence, quest, owner, "not-called", sentence, setters[0]),)
    return ()


def _is_on(frame: TracedFrame, owner: TracedValue) -> bool:
    return bool(frame.arguments) and is_same(frame.arguments[0][1], owner)


def static_link(  # noqa: PLR0913, PLR0917 - the parts of a link
    evidence: Evidence, quest: Quest, owner: TracedValue, kind: str, sentence: str, setter: Setter
) -> Link:
    """A link at a clause of a method, whether it ran or not."""
    method, clause, _ = setter
    for body in class_bodies(evidence, quest, owner.type):
        program = evidence.history.program(body)
        if program is not None and method in program.parents:
            link = evidence.link(quest, kind, sentence, spot=Spot(body, 0), node=clause, clause=clause)
            return replace(link, function=f"{body.qualified}.{getattr(method, 'name', '')}")
    raise LookupError(owner.type)
