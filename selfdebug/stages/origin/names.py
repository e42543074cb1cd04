"""From a name back to what bound it: an assignment, a parameter, the iterable of a comprehension, or code around it."""

from __future__ import annotations

import ast
from dataclasses import replace

from selfdebug.stages.origin.arguments import parameter_names
from selfdebug.stages.origin.bindings import Binding, follow_binding, latest_binding, way_to
from selfdebug.stages.origin.control import absent_assignment
from selfdebug.stages.origin.enclosing import binds, follow_enclosing
from selfdebug.stages.origin.parameters import from_argument
from selfdebug.stages.origin.program import COMPREHENSIONS, Scope
from selfdebug.stages.origin.quest import Element, Evidence, Found, Quest, UnseenError

_CONSTANT = ("explicit-none", "literal")


def follow_name(evidence: Evidence, quest: Quest) -> Found:
    """Where a name's value comes from."""
    name = quest.expression
    assert isinstance(name, ast.Name)
    inner = _comprehension_variable(evidence, quest, name)
    if inner is not None:
        return inner
    history, frame = evidence.history, quest.spot.frame
    scope = history.scope(frame)
    if scope is None:
        return evidence.unknown(quest, f"the code of {frame.function} is not in its file")
    if isinstance(scope, COMPREHENSIONS):
        outer = history.caller(frame)
        return (
            evidence.unknown(quest, "it was run from elsewhere") if outer is None else Found((), quest.at(name, outer))
        )
    return _own(evidence, quest, scope, name.id) or follow_enclosing(evidence, quest, scope, name.id)


def _own(evidence: Evidence, quest: Quest, scope: Scope, name: str) -> Found | None:
    """A local name or a parameter of the frame's own scope."""
    if isinstance(scope, ast.Module):
        return None
    local = latest_binding(evidence, [quest.spot.frame], name, quest.spot)
    is_bound_here = binds(evidence.program(quest.spot), scope, name)
    if local is not None and not _is_declared(scope, name):
        return _bound(evidence, quest, name, local)
    if is_bound_here and quest.spot.frame.is_old:
        raise UnseenError(quest.spot.frame)
    return from_argument(evidence, quest, scope, name) if name in parameter_names(scope) else None


def _bound(evidence: Evidence, quest: Quest, name: str, binding: Binding) -> Found:
    seen = evidence.history.stored(name, binding.spot)
    agreed = evidence.agrees(quest, seen)
    if agreed is False and not isinstance(binding.clause, ast.With | ast.AsyncWith):
        return evidence.unknown(quest, f"line {binding.spot.step.line} had given {name} another value")
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))
    if found.links[-1].kind in _CONSTANT and found.next is None:
        links = absent_assignment(evidence, quest, name, binding.spot, quest.spot)
        return Found((*found.links, *links))
    return found


# ---------------------------------------------------------------- comprehensions


def _comprehension_variable(evidence: Evidence, quest: Quest, name: ast.Name) -> Found | None:
    """The name is a variable of a comprehension around it: on to the iterable."""
    program = evidence.program(quest.spot)
    below: ast.AST = name
    for node in program.around(name):
        if isinstance(node, ast.stmt):
            return None
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                targets = [found for found in ast.walk(generator.target)
                           if isinstance(found, ast.Name) and found.id == name.id]  # fmt: skip
                if targets and not (below is generator and _is_within(name, generator.iter)):
                    return _from_generator(evidence, quest, node, generator, targets[-1])
        below = node
    return None


def _is_within(node: ast.AST, outer: ast.AST) -> bool:
    return any(found is node for found in ast.walk(outer))


def _from_generator(
    evidence: Evidence, quest: Quest, node: ast.AST, generator: ast.comprehension, target: ast.Name
) -> Found:
    frame = quest.spot.frame
    spot = quest.spot
    is_first = isinstance(node, COMPREHENSIONS) and node.generators[0] is generator
    if isinstance(evidence.history.scope(frame), COMPREHENSIONS) and is_first:
        outer = evidence.history.caller(frame)
        if outer is None:
            return evidence.unknown(quest, "the comprehension was run from elsewhere")
        spot = outer
    path = (Element(), *(way_to(generator.target, target) or ()), *quest.path)
    iterable = evidence.text(generator.iter, spot)
    sentence = f"{target.id} went over {iterable} and was {quest.text} when it failed."
    link = evidence.link(quest, "comprehension", sentence, node=target)
    return Found((link,), quest.at(generator.iter, spot, path))


def _is_declared(scope: ast.AST, name: str) -> bool:
    """Whether the scope says that the name is not its own."""
    return any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(scope))
