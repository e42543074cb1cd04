"""From an attribute back to the store that put it there, by the identity of its owner."""

from __future__ import annotations

import ast

from selfdebug.model import TracedValue
from selfdebug.stages.origin import pytest_values
from selfdebug.stages.origin.bindings import Binding, follow_binding, with_kind
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.classes import of_class
from selfdebug.stages.origin.enclosing import global_name, module_frame
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.known import key_value
from selfdebug.stages.origin.other_processes import stream_of_process
from selfdebug.stages.origin.program import key_of
from selfdebug.stages.origin.quest import Evidence, Found, Item, Member, Path, Quest
from selfdebug.stages.origin.setters import never_set


def follow_attribute(evidence: Evidence, quest: Quest) -> Found:
    """Where the attribute of an object comes from."""
    node = quest.expression
    assert isinstance(node, ast.Attribute)
    for made in reversed(evidence.history.made_during(quest.spot)):
        is_getter = made[0].function in (node.attr, "__getattr__", "__getattribute__", "__get__")
        if is_getter and made[1].kind == "return" and evidence.agrees(quest, made[1].value):
            sentence = f"{evidence.text(node, quest.spot)} is computed by {made[0].qualified}()."
            link = evidence.link(quest, "property", sentence)
            found = from_step(evidence, quest, made, made[0].function)
            return Found((link, *found.links), found.next)
    owner, name = evidence.value(node.value, quest.spot), evidence.program(quest.spot).attribute(node)
    if owner is None:
        return Found((), quest.at(node.value, path=(Member(name), *quest.path)))
    if owner.type == "module":
        return _of_module(evidence, quest, node)
    # What a call of this very clause gave got its attributes while the clause was executed.
    is_new = isinstance(node.value, ast.Call | ast.Await)
    return attribute_of(evidence, quest, owner, name, evidence.history.extent(quest.spot)[1] if is_new else None)


def attribute_of(evidence: Evidence, quest: Quest, owner: TracedValue, name: str, before: int | None = None) -> Found:
    """The last store to an attribute of that very object (`before` a moment); else the class, or what built it."""
    history = evidence.history
    store = next(history.stores_to(owner, f".{name}", before or quest.spot.sequence), None)
    if store is not None:
        target = store.target
        text = evidence.text(target, store.spot)
        key = key_of(target)
        agreed = evidence.agrees(quest, history.stored(key, store.spot) if key else None)
        if agreed is False:
            return evidence.unknown(quest, f"line {store.spot.step.line} had given {text} another value")
        found = follow_binding(evidence, quest, Binding(text, store.spot, store.clause, target, bool(agreed)))
        if found.next is None and found.links[-1].kind == "explicit-none":
            return Found((*found.links, *never_set(evidence, quest, owner, name)))
        return with_kind(found, "attribute")
    given = (
        _set_by_call(evidence, quest, owner, name)
        or pytest_values.replaced_name(evidence, quest, name, owner)
        or _of_exception(evidence, quest, owner, name)
    )
    given = given or stream_of_process(evidence, quest, owner, name)
    if given is not None:
        return given
    if owner.type.endswith("Mock"):
        return pytest_values.mocked_attribute(evidence, quest, owner, name)
    return of_class(evidence, quest, owner, name)


def _of_exception(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found | None:
    """The `args` that an exception was raised with; the `value` of a StopIteration is what the generator returned."""
    history = evidence.history
    if name == "value" and owner.type == "StopIteration":
        for frame in reversed(history.trace.frames):
            end = frame.steps[-1] if frame.steps else None
            is_generator = any(step.kind == "yield" for step in frame.steps)
            if is_generator and end is not None and end.kind == "return" and end.sequence < quest.spot.sequence:
                return from_step(evidence, quest, (frame, end), frame.function)
    if name != "args" or not quest.path or not isinstance(quest.path[0], Item):
        return None
    position = quest.path[0].key
    for spot, clause, call in history.calls((owner.type.rpartition(".")[2],), quest.spot.sequence):
        if isinstance(clause, ast.Raise) and isinstance(position, int) and 0 <= position < len(call.args):
            argument = call.args[position]
            sentence = f"{owner.type} was raised here with {evidence.text(argument, spot)}."
            link = evidence.link(quest, "raised", sentence, spot=spot, node=argument)
            return Found((link,), quest.at(argument, spot, quest.path[1:]))
    return None


def _set_by_call(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found | None:
    """`setattr(owner, name, value)`, `object.__setattr__(...)` or `owner.__dict__.update(...)`."""
    history = evidence.history
    since = history.born(owner, quest.spot.sequence)
    for spot, clause, call in history.calls(("setattr", "__setattr__", "update"), quest.spot.sequence):
        given = _given_by(evidence, quest, spot, call, owner, name)
        if given is None or spot.sequence < since or history.was_interrupted(spot):
            continue
        inner, text = quest.at(given[0], spot, (*given[1], *quest.path)), evidence.text(call, spot)
        value = evidence.value(given[0], spot)
        if not given[1] and evidence.agrees(inner, value) is False and not isinstance(given[0], ast.Constant):
            return evidence.unknown(quest, f"line {spot.step.line} had given {name} another value")
        link = evidence.link(inner, "attribute", f"{name} was set by {text}.", clause=clause)
        return Found((link,), inner)
    return None


def _given_by(  # noqa: PLR0913, PLR0917 - a call and what is looked for
    evidence: Evidence, quest: Quest, spot: Spot, call: ast.Call, owner: TracedValue, name: str
) -> tuple[ast.expr, Path] | None:
    """The value that a call gave to an attribute of the object, with the way into it."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=of, attr="__dict__"), attr="update")):
            rest = [*call.args, *(one.value for one in call.keywords if one.arg is None)]
            named: tuple[ast.expr, Path] | None = next(
                ((one.value, ()) for one in call.keywords if one.arg == name), None
            )
            given = named or ((rest[0], (Item(name),)) if rest else None)
        case ast.Call(func=ast.Name(id="setattr") | ast.Attribute(attr="__setattr__"), args=[of, word, value]):
            known_name = key_value(evidence, quest.at(word, spot, ()), word)
            given = (value, ()) if known_name == (name,) else None
        case _:
            return None
    held = evidence.value(of, spot)
    return given if is_same(held, owner) else None


def _of_module(evidence: Evidence, quest: Quest, node: ast.Attribute) -> Found:
    module = evidence.program(quest.spot).text(node.value)
    owner = evidence.value(node.value, quest.spot)
    if owner is not None and next(evidence.history.stores_to(owner, f".{node.attr}", quest.spot.sequence), None):
        return attribute_of(evidence, quest, owner, node.attr)
    imported = _imported_as(evidence, quest, node.value) or module
    frame = module_frame(evidence, imported)
    program = evidence.history.program(frame) if frame is not None else None
    if program is None:
        patched = pytest_values.replaced_name(evidence, quest, node.attr, owner or module)
        return patched or evidence.end(quest, "outside", f"{node.attr} is a value of the module {module}.")
    return global_name(evidence, quest, program, node.attr)


def _imported_as(evidence: Evidence, quest: Quest, node: ast.expr) -> str | None:
    """The module that a name was imported as."""
    if not isinstance(node, ast.Name):
        return None
    for clause in ast.walk(evidence.program(quest.spot).source.tree):
        if isinstance(clause, ast.Import | ast.ImportFrom):
            for alias in clause.names:
                if (alias.asname or alias.name) == node.id:
                    prefix = f"{clause.module}." if isinstance(clause, ast.ImportFrom) and clause.module else ""
                    return prefix + alias.name
    return None


def follow_member(evidence: Evidence, quest: Quest) -> Found | None:
    """The attribute of an object that the quest's expression gave and whose identity is known by now."""
    selector = quest.path[0]
    owner = evidence.value(quest.expression, quest.spot)
    if not isinstance(selector, Member) or owner is None or owner.is_none:
        return None
    return attribute_of(evidence, quest.at(quest.expression, path=quest.path[1:]), owner, selector.name)
