"""Where the value of a call comes from: a function of the project that ran for it, or code outside that is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfdebug.model import TracedValue
from selfdebug.stages.origin import known
from selfdebug.stages.origin.arguments import built_by
from selfdebug.stages.origin.calls import Made, from_step, returned_by
from selfdebug.stages.origin.iterables import through_iterator
from selfdebug.stages.origin.library import ran_elsewhere, through_library
from selfdebug.stages.origin.members import attribute_of
from selfdebug.stages.origin.other_processes import from_other_process
from selfdebug.stages.origin.program import called_name, evaluated
from selfdebug.stages.origin.pytest_values import mocked_call
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Member, Quest


def follow_call(evidence: Evidence, quest: Quest) -> Found:
    """Where the value of a call comes from: a function of the project, or a source outside."""
    call = quest.expression
    assert isinstance(call, ast.Call)
    if quest.path and isinstance(quest.path[0], Item) and _is_generator(evidence, quest, call):
        index = quest.path[0].key
        quest = quest.at(call, path=(Element(index if isinstance(index, int) else None), *quest.path[1:]))
    return (
        _into_its_value(evidence, quest, call)
        or _from_its_return(evidence, quest, call)
        or _from_outside(evidence, quest, call)
        or _given_within(evidence, quest, call)
        or ran_elsewhere(evidence, quest, call)
        or known.outside(evidence, quest, call)
    )


def _into_its_value(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """Into the object that the call made, or to one of the elements that it gave, where such a part is followed."""
    match quest.path:
        case (Member(), *_):
            return _constructed(evidence, quest, call)
        case (Element(), *_):
            return through_iterator(evidence, quest, call)
    return None


def _from_its_return(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    own = [made for made in returned_by(evidence, call, quest.spot) if evidence.agrees(quest, made[1].value)]
    return from_step(evidence, quest, own[-1], called_name(call.func)) if own else None


def _from_outside(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    return (
        from_other_process(evidence, quest, call)
        or mocked_call(evidence, quest, call)
        or known.source(evidence, quest, call)
        or through_library(evidence, quest, call)
    )


def _given_within(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    others = list(_made_within(evidence, quest, call))
    if not others or quest.path:
        return None
    one = len({frame.number for frame, _ in others}) == 1
    return from_step(evidence, quest, others[-1], others[-1][0].function, observed=one or not quest.value.is_none)


def _made_within(evidence: Evidence, quest: Quest, call: ast.Call) -> Iterator[Made]:
    """What functions gave that the call may have run: not what other calls of the clause returned, nor for a class."""
    if called_name(call.func) == quest.value.type.rpartition(".")[2]:
        return
    clause = evidence.program(quest.spot).clause_of(call)
    nodes = evaluated(clause) if clause is not None else ()
    named = {called_name(node.func) for node in nodes if isinstance(node, ast.Call) and node is not call}
    for frame, step in evidence.history.made_during(quest.spot):
        is_of_another = step.kind == "return" and frame.way == 0 and frame.function in named
        if evidence.agrees(quest, step.value) and not is_of_another:
            yield frame, step


def _is_generator(evidence: Evidence, quest: Quest, call: ast.Call) -> bool:
    """Whether a call ran a generator of that name."""
    name = called_name(call.func)
    return any(
        frame.function == name and step.kind == "yield" for frame, step in evidence.history.made_during(quest.spot)
    )


def _constructed(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The attribute of an object that a call of its class has just built."""
    name, history = called_name(call.func), evidence.history
    assert isinstance(quest.path[0], Member)
    inner = quest.at(call, path=quest.path[1:])
    low, high = history.extent(quest.spot)
    for frame in history.children.get(quest.spot.frame.number, ()):
        if name in built_by(frame) and low < frame.started < high and frame.arguments:
            return attribute_of(evidence, inner, frame.arguments[0][1], quest.path[0].name, high)
    for body in evidence.frames_called(name, quest.spot):
        if isinstance(history.scope(body), ast.ClassDef):
            module = body.file.removesuffix(".py").replace("/", ".")
            return attribute_of(evidence, inner, TracedValue(-1, f"{module}.{name}", "<an object>"), quest.path[0].name)
    return None
