"""An attribute that no code of the project stored on the object: a variable of its class, or built in."""

from __future__ import annotations

import ast
from dataclasses import replace

from selfdebug.model import TracedFrame, TracedValue
from selfdebug.stages.origin.arguments import Began, argument_for
from selfdebug.stages.origin.bindings import Binding, follow_binding, latest_binding, with_kind
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.program import called_name, clause_nodes, key_of
from selfdebug.stages.origin.quest import Evidence, Found, Member, Quest


def of_class(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found:
    """An attribute that no code of the project has stored on the object: of its class, or of the call that built it."""
    copied = _copied(evidence, quest, owner, name)
    if copied is not None:
        return copied
    cls = owner.text.strip("<>") if owner.type == "type" else owner.type
    stored = _set_on_class(evidence, quest, cls, name)
    if stored is not None:
        return stored
    for body in class_bodies(evidence, quest, cls):
        found = _built(evidence, quest, owner, body, name) or _in_body(evidence, quest, body, name)
        if found is not None:
            return found
    return evidence.unknown(quest, f"no assignment to {name} of this {cls.rpartition('.')[2]} was seen")


def _copied(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found | None:
    """The object is a copy, or was made with its attributes as arguments: `deepcopy(x)`, `SimpleNamespace(a=1)`."""
    from selfdebug.stages.origin.library import copied, parsed_option

    for spot in evidence.history.givers(owner, quest.spot.sequence):
        for _, call in evidence.program(spot).calls_at(spot.step.line):
            inner = quest.at(call, spot, (Member(name), *quest.path))
            found = copied(evidence, inner, call) or parsed_option(evidence, inner, call)
            if found is not None:
                return found
    return None


def _set_on_class(evidence: Evidence, quest: Quest, cls: str, name: str) -> Found | None:
    """The last store to the attribute of the class itself, after its body."""
    history = evidence.history
    for store in history.stores_named(f".{name}", quest.spot.sequence):
        key = key_of(store.target.value)
        held = history.stored(key, store.spot) if key else None
        if held is None or held.type != "type" or held.text.strip("<>") != cls:
            continue
        text, full = evidence.text(store.target, store.spot), key_of(store.target)
        agreed = evidence.agrees(quest, history.stored(full, store.spot) if full else None)
        if agreed is False:
            return evidence.unknown(quest, f"line {store.spot.step.line} had given {text} another value")
        binding = Binding(text, store.spot, store.clause, store.target, bool(agreed))
        return with_kind(follow_binding(evidence, quest, binding), "class-attribute")
    return None


def _in_body(evidence: Evidence, quest: Quest, body: TracedFrame, name: str) -> Found | None:
    """A variable of the class itself."""
    own = name.removeprefix(f"_{body.function.lstrip('_')}") if "__" in name else name
    binding = latest_binding(evidence, [body], own, quest.spot)
    if binding is None or isinstance(binding.clause, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    agreed = evidence.agrees(quest, evidence.history.stored(own, binding.spot))
    if agreed is False:
        return evidence.unknown(quest, f"the class {body.function} had another {name}")
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))
    if found.links[-1].kind == "explicit-none":
        sentence = f"{name} is None in the class {body.function}, and nothing has set it on the object."
        return Found((replace(found.links[-1], kind="class-attribute", sentence=sentence),))
    return found


def class_bodies(evidence: Evidence, quest: Quest, cls: str) -> list[TracedFrame]:
    """The executed class bodies of a class (by its name with its module) and of its bases, as the source names them."""
    history = evidence.history
    found: list[TracedFrame] = []
    module, _, name = cls.rpartition(".")
    todo = [(name, f"{module.replace('.', '/')}.py")]
    while todo and len(found) < 10:
        wanted, file = todo.pop(0)
        bodies = list(history.frames_of(wanted))
        own = [frame for frame in bodies if f"/{frame.file}".endswith(f"/{file}")]
        for frame in own or bodies:
            scope = history.scope(frame)
            if isinstance(scope, ast.ClassDef) and frame.started < quest.spot.sequence and frame not in found:
                found.append(frame)
                # A base is of the same file, or imported: then no class of that name is defined in it.
                todo += [(called_name(base), frame.file) for base in scope.bases if called_name(base)]
                break
    return found


def _built(evidence: Evidence, quest: Quest, owner: TracedValue, body: TracedFrame, name: str) -> Found | None:
    """A field of a dataclass (or attrs class, named tuple): the argument of the call that built the object."""
    history = evidence.history
    scope = history.scope(body)
    if not isinstance(scope, ast.ClassDef):
        return None
    fields = {
        node.target.id: node
        for node in scope.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    is_generated = any(isinstance(node, ast.FunctionDef) and node.name == "__init__" for node in scope.body)
    if name not in fields or is_generated or owner.type == "type":
        return None
    place = _construction(evidence, owner, scope.name, quest.spot.sequence)
    if place is None:
        return evidence.unknown(quest, f"the call that built this {scope.name} was not found")
    spot, call = place
    argument = next((given.value for given in call.keywords if given.arg == name), None)
    position = list(fields).index(name)
    if argument is None and position < len(call.args):
        argument = call.args[position]
    if argument is None and not any(given.arg is None for given in call.keywords):
        return _by_default(evidence, quest, body, fields[name], place)
    if argument is None or isinstance(argument, ast.Starred):
        return evidence.unknown(quest, f"{scope.name}() was built with * or ** at line {spot.step.line}")
    sentence = f"{scope.name}() was built with {evidence.text(argument, spot)} for {name}."
    link = evidence.link(quest, "parameter", sentence, spot=spot, node=argument)
    return Found((link,), quest.at(argument, spot))


def _by_default(
    evidence: Evidence, quest: Quest, body: TracedFrame, field: ast.AnnAssign, place: tuple[Spot, ast.Call]
) -> Found:
    """The default that the class gives a field."""
    spot, _ = place
    name = ast.unparse(field.target)
    own = next((Spot(body, index) for index, step in enumerate(body.steps) if step.line == field.lineno), None)
    if own is None or field.value is None:
        return evidence.unknown(quest, f"{body.function}() was built without {name}")
    default = _default_of_field(field.value)
    sentence = (
        f"{body.function}() was built without {name} at {spot.frame.file}:{spot.step.line}, "
        f"and its default is {evidence.text(default, own)}."
    )
    link = evidence.link(quest, "default", sentence, spot=own, node=default, clause=field)
    return Found((link,), None if isinstance(default, ast.Constant) else quest.at(default, own))


def _default_of_field(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg == "default":
                return keyword.value
            if keyword.arg == "default_factory":
                return keyword.value.body if isinstance(keyword.value, ast.Lambda) else value
    return value


def _construction(evidence: Evidence, owner: TracedValue, cls: str, before: int) -> tuple[Spot, ast.Call] | None:
    """The newest executed call of the class whose clause gave the very object."""
    for spot in evidence.history.givers(owner, before):
        for clause in evidence.history.clauses(spot):
            for node in clause_nodes(clause):
                if isinstance(node, ast.Call) and called_name(node.func) == cls:
                    return spot, node
    return _argument_construction(evidence, owner, cls, before)


def _argument_construction(
    evidence: Evidence, owner: TracedValue, cls: str, before: int
) -> tuple[Spot, ast.Call] | None:
    """The object was built in the argument of a call: `f(Customer(...))`."""
    history = evidence.history
    for frame in reversed(history.trace.frames):
        scope = history.scope(frame)
        spot = history.caller(frame)
        if frame.started >= before or spot is None or not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for name, value in frame.arguments:
            if not is_same(value, owner):
                continue
            for clause in history.clauses(spot):
                for node in clause_nodes(clause):
                    if isinstance(node, ast.Call) and called_name(node.func) == frame.function:
                        given = argument_for(evidence, Began(frame, scope, node, spot), name)
                        if given and isinstance(given.expression, ast.Call) and called_name(given.expression) == cls:
                            return spot, given.expression
    return None
