"""Why something is not there: a key, an index, a name or an attribute that the program asked for."""

from __future__ import annotations

import ast
import difflib

from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedFrame, TracedValue
from selfdebug.stages.origin.bindings import latest_binding
from selfdebug.stages.origin.contents import history_of, keys_in
from selfdebug.stages.origin.control import absent_assignment, not_reached
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.known import key_value
from selfdebug.stages.origin.program import Program, key_of, stored_names
from selfdebug.stages.origin.quest import Evidence, Quest, UnseenError
from selfdebug.stages.origin.setters import Setter, never_set, setters_of, static_link
from selfdebug.stages.origin.walk import walk

_UNBOUND = TracedValue(0, "", "<unbound>")
_ENVIRONMENTS = ("os.environ", "environ")


def absent_item(evidence: Evidence, container: ast.expr, spot: Spot, value: TracedValue) -> tuple[Link, ...]:
    """Why a container has no such key or index: what was asked for, and how the container came to hold what it holds.

    The links: what is missing, the way of the key or index (unless it is written there), the way of the container,
    what was put in and taken out, newest first, and the container's birth.
    """
    quest = Quest(container, spot, (), value)
    asked = _asked(evidence, container, spot)
    key = key_value(evidence, quest, asked) if asked is not None else None
    links = [_missing(evidence, quest, asked, key)]
    if _is_environment(evidence, quest):
        return tuple(links)
    if asked is not None and not isinstance(asked, ast.Constant | ast.UnaryOp | ast.Slice):
        held = evidence.value(asked, spot)
        links += walk(evidence, Quest(asked, spot, (), held)) if held is not None else ()
    way = walk(evidence, quest)
    links += [*way[:-1], *history_of(evidence, quest, value, key), *way[-1:]]
    if key is not None:
        links += _passed_by(evidence, quest, key[0])
    return tuple(links)


def _asked(evidence: Evidence, container: ast.expr, spot: Spot) -> ast.expr | None:
    """The key or index that the container was asked for."""
    parents = evidence.program(spot).parents
    around = parents.get(container)
    if isinstance(around, ast.Subscript) and around.value is container:
        return around.slice
    call = parents.get(around) if isinstance(around, ast.Attribute) else None
    return call.args[0] if isinstance(call, ast.Call) and call.func is around and call.args else None


def _is_environment(evidence: Evidence, quest: Quest) -> bool:
    return evidence.text(quest.expression, quest.spot) in _ENVIRONMENTS


def _missing(evidence: Evidence, quest: Quest, asked: ast.expr | None, key: tuple[object] | None) -> Link:
    """The link at the crash: what was asked for, and what there was."""
    name, value = evidence.text(quest.expression, quest.spot), quest.value
    shown = repr(key[0]) if key else evidence.text(asked, quest.spot) if asked is not None else ""
    if _is_environment(evidence, quest):
        return evidence.link(quest, "environment", f"The environment variable {shown} is not set.")
    is_by_key = "dict" in value.type.lower() or value.type == "set" or (key and not isinstance(key[0], int))
    around = evidence.program(quest.spot).parents.get(quest.expression)
    is_by_value = value.type == "set" or (isinstance(around, ast.Attribute) and around.attr == "remove")
    if asked is not None and is_by_value:
        sentence = f"{name} does not hold {shown} here; it was {value.text}."
        return evidence.link(quest, "missing-key", sentence)
    if is_by_key and asked is not None:
        sentence = f"{name} has no key {shown} here{_nearest(key, keys_in(value))}; it was {value.text}."
        return evidence.link(quest, "missing-key", sentence)
    count = "no elements" if value.size == 0 else f"{value.size} element{'s' * (value.size != 1)}"
    size = f"{name} has {count} here" if value.size is not None else f"{name} was {value.text}"
    missing = f"there is no element {shown}" if asked is not None else "there is nothing to take"
    return evidence.link(quest, "missing-index", f"{size}, so {missing}.")


def _nearest(key: tuple[object] | None, keys: list[object]) -> str:
    """The key that was probably meant, in words."""
    if key is None:
        return ""
    for other in keys:
        if str(other) == str(key[0]) and other != key[0]:
            return f" (but {other!r}, which is of the class {type(other).__name__})"
    texts = [other for other in keys if isinstance(other, str)]
    wanted = key[0]
    if isinstance(wanted, str):
        near = [text for text in texts if text.lower() == wanted.lower()] or difflib.get_close_matches(wanted, texts)
        return f" (but {near[0]!r})" if near else ""
    return ""


def _passed_by(evidence: Evidence, quest: Quest, key: object) -> tuple[Link, ...]:
    """A store under the key that stands in a function which ran, and that was passed by."""
    history = evidence.history
    for frame in reversed(history.trace.frames):
        program, scope = history.program(frame), history.scope(frame)
        if program is None or scope is None or frame.started > quest.spot.sequence:
            continue
        for clause, base in program.stores_under(key):
            if program.scope_of(clause) is scope and _held(frame, base, quest.value):
                last = next(history.line_steps(frame, len(frame.steps)), None)
                if last is not None:
                    return not_reached(evidence, quest, last, [clause])
    return ()


def _held(frame: TracedFrame, base: ast.expr, owner: TracedValue) -> bool:
    """Whether an expression was the very object at some step of a frame."""
    key = key_of(base)
    return any(
        name == key and is_same(value, owner) for step in frame.steps for name, value in (*step.reads, *step.stores)
    ) or any(name == key and is_same(value, owner) for name, value in frame.arguments)


# ---------------------------------------------------------------- names


def absent_name(evidence: Evidence, name: ast.expr, spot: Spot) -> tuple[Link, ...]:
    """Why a name has no value: it was deleted, or no assignment to it was reached."""
    if not isinstance(name, ast.Name):
        return ()
    quest = Quest(name, spot, (), _UNBOUND)
    program, scope = evidence.program(spot), evidence.history.scope(spot.frame)
    if scope is None:
        return ()
    is_local = not isinstance(scope, ast.Module) and _first_binding(program, scope, name.id) is not None
    frames = [spot.frame] if is_local else _module_frames(evidence, program, name.id)
    deleted = _deleted(evidence, quest, frames, name.id)
    if deleted:
        return deleted
    if is_local:
        passed_by = absent_assignment(evidence, quest, name.id, Spot(spot.frame, 0), spot)
        return passed_by or _later(evidence, quest, _first_binding(program, scope, name.id), scope)
    return _absent_global(evidence, quest, program, name.id)


def _module_frames(evidence: Evidence, program: Program, name: str) -> list[TracedFrame]:
    history = evidence.history
    return [
        frame
        for frame in history.trace.frames
        if frame.file == program.file
        and (frame.function == "<module>" or history.scope(frame) in program.globals_of.get(name, ()))
    ]


def _first_binding(program: Program, scope: ast.AST, name: str) -> Clause | None:
    """The first clause of a scope that binds the name."""
    found = [
        clause
        for clause in ast.walk(scope)
        if isinstance(clause, Clause) and clause is not scope and program.scope_of(clause) is scope
        and any(stored == name for stored, _ in stored_names(clause))
    ]  # fmt: skip
    return min(found, key=lambda clause: getattr(clause, "lineno", 0), default=None)


def _deleted(evidence: Evidence, quest: Quest, frames: list[TracedFrame], name: str) -> tuple[Link, ...]:
    try:
        binding = latest_binding(evidence, frames, name, quest.spot)
    except UnseenError as unseen:
        return evidence.unknown(quest, str(unseen)).links
    if binding is None:
        return ()
    if isinstance(binding.clause, ast.Delete):
        sentence = f"{name} is deleted here."
    elif isinstance(binding.clause, ast.ExceptHandler):
        sentence = f"{name} is the exception of this except clause, which deletes the name at its end."
    else:
        return ()
    return (evidence.link(quest, "deletion", sentence, spot=binding.spot, node=binding.clause, clause=binding.clause),)


def _later(evidence: Evidence, quest: Quest, clause: Clause | None, scope: ast.AST) -> tuple[Link, ...]:
    """The name belongs to the function because of a clause that comes only later, or that did not get a value."""
    if clause is None:
        return ()
    name, program = evidence.text(quest.expression, quest.spot), evidence.program(quest.spot)
    if isinstance(clause, ast.For | ast.AsyncFor):
        iterable = evidence.text(clause.iter, quest.spot)
        sentence = f"{name} is set by the loop over {iterable}, which had nothing to go over."
        return (evidence.link(quest, "loop-not-entered", sentence, node=clause.iter, clause=clause),)
    function = getattr(scope, "name", "the function")
    sentence = f"{name} is a local name of {function}() because it is assigned here, which had not happened yet"
    is_shadowing = _first_binding(program, program.source.tree, name) is not None
    sentence += f"; the {name} of the module is another one." if is_shadowing else "."
    return (evidence.link(quest, "assigned-later", sentence, node=clause, clause=clause),)


def _absent_global(evidence: Evidence, quest: Quest, program: Program, name: str) -> tuple[Link, ...]:
    history = evidence.history
    module = next((frame for frame in history.frames_of("<module>") if frame.file == program.file), None)
    if module is not None and module.steps:
        last = Spot(module, len(module.steps) - 1)
        passed_by = absent_assignment(evidence, quest, name, Spot(module, 0), last)
        if passed_by:
            return passed_by
        later = _first_binding(program, program.source.tree, name)
        if later is not None:
            return _later_in_module(evidence, quest, later, name)
    ran = {history.scope(frame) for frame in history.trace.frames if frame.file == program.file}
    for scope in program.globals_of.get(name, ()):
        clause = _first_binding(program, scope, name)
        if clause is not None and scope not in ran:
            sentence = f"{name} is set by {getattr(scope, 'name', 'a function')}() here, which was not called before."
            return (evidence.link(quest, "not-called", sentence, node=clause, clause=clause),)
    return evidence.unknown(quest, f"no assignment to {name} was seen in {program.file}").links


def _later_in_module(evidence: Evidence, quest: Quest, clause: Clause, name: str) -> tuple[Link, ...]:
    sentence = f"{name} is set here, which had not happened yet."
    return (evidence.link(quest, "assigned-later", sentence, node=clause, clause=clause, observed=False),)


# ---------------------------------------------------------------- attributes


def absent_attribute(evidence: Evidence, owner: ast.expr, spot: Spot, value: TracedValue) -> tuple[Link, ...]:
    """Why an object has no such attribute, then the way of the object itself."""
    quest = Quest(owner, spot, (), value)
    around = evidence.program(spot).parents.get(owner)
    way = walk(evidence, quest)
    if not isinstance(around, ast.Attribute):
        return way
    name = evidence.program(spot).attribute(around)
    store = next(evidence.history.stores_to(value, f".{name}", spot.sequence), None)
    if store is not None and isinstance(store.target.ctx, ast.Del):
        sentence = f"{name} was deleted from it here."
        link = evidence.link(quest, "deletion", sentence, spot=store.spot, node=store.target, clause=store.clause)
        return (link, *way)
    links = never_set(evidence, quest, value, name)
    if not links:
        setters = [setter for setter in setters_of(evidence, quest, value) if setter[2] != name]
        near = difflib.get_close_matches(name, {setter[2] for setter in setters}, 1)
        links = tuple(_near(evidence, quest, one, name) for one in setters if near and one[2] == near[0])[:1]
    return (*links, *way)


def _near(evidence: Evidence, quest: Quest, setter: Setter, name: str) -> Link:
    sentence = f"There is no attribute {name}; {setter[2]} is set here."
    return static_link(evidence, quest, quest.value, "near-miss", sentence, setter)
