"""From an attribute or an item back to the store that put it there, by the identity of its owner."""

from __future__ import annotations

import ast
from dataclasses import replace

from selfdebug.model import TracedFrame, TracedValue
from selfdebug.stages.origin import known, pytest_values
from selfdebug.stages.origin.bindings import Binding, follow_binding
from selfdebug.stages.origin.calls import Began, argument_for, from_step
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.names import global_name, latest_binding, module_frame
from selfdebug.stages.origin.program import COMPREHENSIONS, constant_of, key_of, last_name, own_nodes
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Member, Path, Quest


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
    owner = evidence.value(node.value, quest.spot)
    if owner is None:
        return Found((), quest.at(node.value, path=(Member(node.attr), *quest.path)))
    if owner.type == "module":
        return _of_module(evidence, quest, node)
    return attribute_of(evidence, quest, owner, node.attr)


def attribute_of(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found:
    """The last store to an attribute of that very object; else the class, or what built it."""
    history = evidence.history
    store = next(history.stores_to(owner, f".{name}", quest.spot.sequence), None)
    if store is not None:
        target = store.target
        text = evidence.text(target, store.spot)
        key = key_of(target)
        agreed = evidence.agrees(quest, history.stored(key, store.spot) if key else None)
        if agreed is False:
            return evidence.unknown(quest, f"line {store.spot.step.line} had given {text} another value")
        found = follow_binding(evidence, quest, Binding(text, store.spot, store.clause, target, bool(agreed)))
        return _with_kind(found, "attribute")
    patched = pytest_values.replaced_name(evidence, quest, name)
    if patched is not None:
        return patched
    return _of_class(evidence, quest, owner, name)


def _with_kind(found: Found, kind: str) -> Found:
    """The same with a first link that says what kind of target was assigned to."""
    first, *rest = found.links
    if first.kind not in ("assignment", "unpacking"):
        return found
    return Found((replace(first, kind=kind), *rest), found.next)


def _of_module(evidence: Evidence, quest: Quest, node: ast.Attribute) -> Found:
    module = evidence.program(quest.spot).text(node.value)
    owner = evidence.value(node.value, quest.spot)
    if owner is not None and next(evidence.history.stores_to(owner, f".{node.attr}", quest.spot.sequence), None):
        return attribute_of(evidence, quest, owner, node.attr)
    imported = _imported_as(evidence, quest, node.value) or module
    frame = module_frame(evidence, imported)
    program = evidence.history.program(frame) if frame is not None else None
    if program is None:
        patched = pytest_values.replaced_name(evidence, quest, node.attr)
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


# ---------------------------------------------------------------- classes


def _of_class(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found:
    """An attribute that no code of the project has stored on the object: of its class, or of the call that built it."""
    cls = owner.text.strip("<>") if owner.type == "type" else owner.type
    for body in _class_bodies(evidence, quest, cls.rpartition(".")[2]):
        found = _built(evidence, quest, owner, body, name) or _in_body(evidence, quest, body, name)
        if found is not None:
            return found
    return evidence.unknown(quest, f"no assignment to {name} of this {cls.rpartition('.')[2]} was seen")


def _in_body(evidence: Evidence, quest: Quest, body: TracedFrame, name: str) -> Found | None:
    """A variable of the class itself."""
    binding = latest_binding(evidence, [body], name, quest.spot)
    if binding is None or isinstance(binding.clause, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    agreed = evidence.agrees(quest, evidence.history.stored(name, binding.spot))
    if agreed is False:
        return evidence.unknown(quest, f"the class {body.function} had another {name}")
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))
    if found.links[-1].kind == "explicit-none":
        sentence = f"{name} is None in the class {body.function}, and nothing has set it on the object."
        return Found((replace(found.links[-1], kind="class-attribute", sentence=sentence),))
    return found


def _class_bodies(evidence: Evidence, quest: Quest, name: str) -> list[TracedFrame]:
    """The executed class bodies of a class and of its bases, as their names in the source say."""
    history = evidence.history
    found: list[TracedFrame] = []
    todo = [name]
    while todo and len(found) < 10:
        wanted = todo.pop(0)
        for frame in history.frames_of(wanted):
            scope = history.scope(frame)
            if isinstance(scope, ast.ClassDef) and frame.started < quest.spot.sequence and frame not in found:
                found.append(frame)
                todo += [last_name(base) for base in scope.bases if last_name(base)]
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
    return value


def _construction(evidence: Evidence, owner: TracedValue, cls: str, before: int) -> tuple[Spot, ast.Call] | None:
    """The newest executed call of the class whose clause gave the very object."""
    for spot in evidence.history.givers(owner, before):
        for clause in evidence.history.clauses(spot):
            for node in own_nodes(clause):
                if isinstance(node, ast.Call) and last_name(node.func) == cls:
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
            if value.identity != owner.identity or value.type != owner.type:
                continue
            for clause in history.clauses(spot):
                for node in own_nodes(clause):
                    if isinstance(node, ast.Call) and last_name(node.func) == frame.function:
                        given = argument_for(evidence, Began(frame, scope, node, spot), name)
                        if given and isinstance(given.expression, ast.Call) and last_name(given.expression) == cls:
                            return spot, given.expression
    return None


# ---------------------------------------------------------------- items


def follow_item(evidence: Evidence, quest: Quest) -> Found:
    """Where the item of a container comes from."""
    node = quest.expression
    assert isinstance(node, ast.Subscript)
    if isinstance(node.slice, ast.Slice):
        return evidence.end(quest, "slice", f"{evidence.text(node, quest.spot)} is a part of its container.")
    made = _by_default_factory(evidence, quest, node)
    if made is not None:
        return made
    key = known.key_value(evidence, quest, node.slice)
    if key is None:
        return evidence.unknown(quest, f"the index {evidence.text(node.slice, quest.spot)} was not recorded")
    return Found((), quest.at(node.value, path=(Item(key[0]), *quest.path)))


def _by_default_factory(evidence: Evidence, quest: Quest, node: ast.Subscript) -> Found | None:
    """The key was missing, and `__missing__`, `__getitem__` or a default factory of the project made the value."""
    held = evidence.history.before(node, quest.spot)
    called = {last_name(inner) for clause in evidence.history.clauses(quest.spot)
              for inner in own_nodes(clause) if isinstance(inner, ast.Call)}  # fmt: skip
    for made in reversed(evidence.history.made_during(quest.spot)):
        is_implicit = made[0].function in ("__getitem__", "__missing__") or (
            held is not None and held.is_missing and made[0].function not in called
        )
        if is_implicit and made[1].kind == "return" and evidence.agrees(quest, made[1].value):
            sentence = f"{evidence.text(node, quest.spot)} is what {made[0].qualified}() made for that key."
            link = evidence.link(quest, "item", sentence)
            found = from_step(evidence, quest, made, made[0].function)
            return Found((link, *found.links), found.next)
    return None


def stored_item(evidence: Evidence, quest: Quest) -> Found | None:
    """The last store under the wanted key of the very container that the quest's expression gave, if there was one."""
    selector = quest.path[0]
    owner = evidence.value(quest.expression, quest.spot)
    if not isinstance(selector, Item) or owner is None or owner.identity <= 0:
        return None
    history = evidence.history
    for store in history.stores_to(owner, "[]", quest.spot.sequence):
        target = store.target
        assert isinstance(target, ast.Subscript)
        inner = quest.at(target, store.spot, quest.path[1:])
        key = known.key_value(evidence, inner, target.slice)
        if key is None:
            return evidence.unknown(quest, f"line {store.spot.step.line} stored under a key that was not recorded")
        if key[0] != selector.key:
            continue
        text = evidence.text(target, store.spot)
        full = key_of(target)
        agreed = evidence.agrees(inner, history.stored(full, store.spot) if full else None)
        if agreed is False:
            return evidence.unknown(quest, f"line {store.spot.step.line} had stored another value in {text}")
        found = follow_binding(evidence, inner, Binding(text, store.spot, store.clause, target, bool(agreed)))
        return _with_kind(found, "item")
    return None


def follow_member(evidence: Evidence, quest: Quest) -> Found | None:
    """The attribute of an object that the quest's expression gave and whose identity is known by now."""
    selector = quest.path[0]
    owner = evidence.value(quest.expression, quest.spot)
    if not isinstance(selector, Member) or owner is None or owner.is_none:
        return None
    return attribute_of(evidence, quest.at(quest.expression, path=quest.path[1:]), owner, selector.name)


def descend(evidence: Evidence, quest: Quest) -> Found:
    """Into a display: the element that the path asks for."""
    node, selector, rest = quest.expression, quest.path[0], quest.path[1:]
    if isinstance(node, COMPREHENSIONS):
        return _of_comprehension(evidence, quest, node)
    if isinstance(node, ast.Dict) and isinstance(selector, Item):
        found = _of_dict(evidence, quest, node, selector.key)
    else:
        found = _of_sequence(evidence, quest, node, rest)
    return found or evidence.end(quest, "literal", f"{evidence.text(node, quest.spot)} was made here.", observed=False)


def _of_dict(evidence: Evidence, quest: Quest, node: ast.Dict, key: object) -> Found | None:
    for name, value in reversed(list(zip(node.keys, node.values, strict=True))):
        if name is None:  # **others
            inner = quest.at(value)
            return stored_item(evidence, inner) or Found((), inner)
        constant = constant_of(name) or known.key_value(evidence, quest.at(name, path=()), name)
        if constant is not None and constant[0] == key:
            return _element(evidence, quest, value, quest.path[1:], f"[{key!r}]")
    return None


def _of_sequence(evidence: Evidence, quest: Quest, node: ast.expr, rest: Path) -> Found | None:
    elements: list[ast.expr] = node.values if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    selector = quest.path[0]
    index = selector.key if isinstance(selector, Item) else getattr(selector, "index", None)
    is_plain = isinstance(node, ast.List | ast.Tuple | ast.Dict)
    is_plain = is_plain and not any(isinstance(one, ast.Starred) for one in elements)
    if is_plain and isinstance(index, int) and -len(elements) <= index < len(elements):
        return _element(evidence, quest, elements[index], rest, f" at position {index}")
    fitting = [one for one in elements if _may_be(evidence, quest, one)]
    if isinstance(selector, Element) and not rest and len(fitting) == 1:
        return _element(evidence, quest, fitting[0], rest, "")
    return None


def _may_be(evidence: Evidence, quest: Quest, expression: ast.expr) -> bool:
    return evidence.agrees(quest.at(expression, path=()), evidence.value(expression, quest.spot)) is True


def _element(evidence: Evidence, quest: Quest, value: ast.expr, path: Path, where: str) -> Found:
    inner = quest.at(value, path=path)
    if isinstance(value, ast.Constant) and not path:
        said = "None" if value.value is None else evidence.text(value, quest.spot)
        kind = "explicit-none" if value.value is None else "literal"
        return evidence.end(inner, kind, f"The element{where} is written as {said} here.")
    sentence = f"The element{where} is {evidence.text(value, quest.spot)}."
    return Found((evidence.link(inner, "item", sentence),), inner)


def _of_comprehension(evidence: Evidence, quest: Quest, node: ast.expr) -> Found:
    """The value of a comprehension's element: the last call that gave the value, or the element's own expression."""
    rest = quest.path[1:]
    value = node.value if isinstance(node, ast.DictComp) else getattr(node, "elt", None)
    assert isinstance(value, ast.expr)
    inner = quest.at(value, path=rest)
    sentence = f"The comprehension made it from {evidence.text(value, quest.spot)}."
    link = evidence.link(inner, "comprehension", sentence, observed=False)
    if isinstance(value, ast.Constant):
        return Found((link,))
    frame = next(
        (made for made, step in reversed(evidence.history.made_during(quest.spot))
         if evidence.history.scope(made) is node and step.kind == "return"),
        None,
    )  # fmt: skip
    if frame is None:
        return Found((link,), inner)
    spot = next(evidence.history.line_steps(frame, len(frame.steps)), None)
    return Found((link,), inner if spot is None else quest.at(value, spot, rest))
