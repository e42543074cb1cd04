"""From a container back to the clause that put the wanted element into it: a store, `append`, `update`, `+=` ..."""

from __future__ import annotations

import ast

from codemods.selfdebug.expressions import constant_of
from selfdebug.model import TracedValue
from selfdebug.stages.origin import known
from selfdebug.stages.origin.bindings import Binding, follow_binding, with_kind
from selfdebug.stages.origin.contents import ADDING, Change, changes_of, keys_in
from selfdebug.stages.origin.history import is_same
from selfdebug.stages.origin.program import key_of
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest

_ORDERED = frozenset({"list", "collections.deque"})
_MAPPINGS = frozenset({"dict", "collections.OrderedDict", "collections.defaultdict", "collections.Counter"})


def put_in(evidence: Evidence, quest: Quest) -> Found | None:
    """The clause that put the wanted element into the very container that the quest's expression gave.

    None where no clause of the project did: then the container was made with it.
    """
    selector = quest.path[0]
    owner = evidence.value(quest.expression, quest.spot)
    if owner is None or owner.identity <= 0 or not isinstance(selector, Item | Element):
        return None
    changes = changes_of(evidence, quest, owner)
    if owner.type in _ORDERED:
        return _by_position(evidence, quest, owner, changes)
    if isinstance(selector, Item):
        return _by_key(evidence, quest, changes, selector.key)
    if owner.type in _MAPPINGS:
        return _of_mapping(evidence, quest, owner, changes, selector)
    return _by_value(evidence, quest, changes)


# ---------------------------------------------------------------- what a mapping gives in a loop


def _of_mapping(
    evidence: Evidence, quest: Quest, owner: TracedValue, changes: list[Change], selector: Element
) -> Found | None:
    """A value of a mapping: on under its key, which the order of the keys tells. A key: the store that brought it."""
    if not selector.is_value:
        return _as_key(evidence, quest, changes)
    keys, index = keys_in(owner), selector.index
    if index is None or len(keys) != owner.size or index >= len(keys):
        return None
    return Found((), quest.at(quest.expression, path=(Item(keys[index]), *quest.path[1:])))


def _is_under(evidence: Evidence, quest: Quest, change: Change) -> bool:
    """Whether the followed value, or one equal to it, is the key of a change."""
    if change.key is not None:
        return change.key[0] is None if quest.value.is_none else repr(change.key[0]) == quest.value.text
    node = change.node
    return isinstance(node, ast.Subscript) and is_same(evidence.value(node.slice, change.spot), quest.value)


def _as_key(evidence: Evidence, quest: Quest, changes: list[Change]) -> Found | None:
    """The oldest of the stores under the key since it was not there."""
    oldest: Change | None = None
    for change in changes:
        is_it = _is_under(evidence, quest, change)
        if is_it and change.is_removal:
            break
        if is_it and isinstance(change.node, ast.Subscript):
            oldest = change
    if oldest is None or quest.path[1:]:
        return None
    assert isinstance(oldest.node, ast.Subscript)
    name, text = oldest.node.slice, evidence.text(oldest.node, oldest.spot)
    inner = quest.at(name, oldest.spot, ())
    is_written = isinstance(name, ast.Constant)
    kind = known.kind_of_constant(name) if isinstance(name, ast.Constant) else "put"
    sentence = f"The key {quest.text} was put in with {text}."
    return Found((evidence.link(inner, kind, sentence, clause=oldest.clause),), None if is_written else inner)


# ---------------------------------------------------------------- under a key


def _by_key(evidence: Evidence, quest: Quest, changes: list[Change], key: object) -> Found | None:
    for change in changes:
        if isinstance(change.node, ast.Subscript) and change.method == "":
            if change.key is None:
                return evidence.unknown(quest, f"line {change.spot.step.line} stored under a key that was not recorded")
            if change.key[0] == key:
                return _of_store(evidence, quest, change)
        elif change.method == "setdefault" and change.key is not None and change.key[0] == key:
            found = _of_setdefault(evidence, quest, change)
            if found is not None:
                return found
        elif change.method in ("update", "+="):
            given = _given_under(evidence, change, key)
            if given is not None:
                return _put(evidence, quest, change, *given)
    return None


def _of_store(evidence: Evidence, quest: Quest, change: Change) -> Found:
    target = change.node
    inner = quest.at(target, change.spot, quest.path[1:])
    text, full = evidence.text(target, change.spot), key_of(target)
    agreed = evidence.agrees(inner, evidence.history.stored(full, change.spot) if full else None)
    if agreed is False:
        return evidence.unknown(quest, f"line {change.spot.step.line} had stored another value in {text}")
    found = follow_binding(evidence, inner, Binding(text, change.spot, change.clause, target, bool(agreed)))
    return with_kind(found, "item")


def _of_setdefault(evidence: Evidence, quest: Quest, change: Change) -> Found | None:
    """The default that `setdefault` put in, where the key was missing."""
    call = change.node
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    item = ast.Subscript(value=call.func.value, slice=call.args[0], ctx=ast.Load())
    before = evidence.history.before(item, change.spot) if key_of(item) else None
    if before is not None and not before.is_missing:
        return None
    if len(call.args) > 1:
        return _put(evidence, quest, change, call.args[1], ())
    sentence = f"{evidence.text(call, change.spot)} put None under the key, which was missing."
    node = quest.at(call, change.spot, ())
    return Found((evidence.link(node, "missing-key", sentence, observed=before is not None),))


def _given_under(evidence: Evidence, change: Change, key: object) -> tuple[ast.expr, Path] | None:
    """What `update(...)` or `|=` put under a key, if they did."""
    node = change.node
    given: list[ast.expr] = [node]
    if isinstance(node, ast.Call) and change.method == "update":
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg == key:
                return keyword.value, ()
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is None)]
    for one in given:
        if isinstance(one, ast.Dict):
            for name, value in zip(one.keys, one.values, strict=True):
                if name is not None and constant_of(name) == (key,):
                    return value, ()
        held = evidence.value(one, change.spot)
        if held is not None and key in keys_in(held):
            return one, (Item(key),)
    return None


# ---------------------------------------------------------------- at a position


def _by_position(evidence: Evidence, quest: Quest, owner: TracedValue, changes: list[Change]) -> Found | None:
    """The element of a list, counted from its end where the index is negative."""
    selector = quest.path[0]
    position = selector.key if isinstance(selector, Item) else getattr(selector, "index", None)
    if isinstance(position, int) and position < 0:
        position = owner.size + position if owner.size is not None else None
    sizes = [change.before is not None and change.before.size is not None for change in changes]
    if not isinstance(position, int) or not all(sizes) or not all(change.keeps_order for change in changes):
        found = _by_value(evidence, quest, changes)
        if found is None and changes and selector != Element():
            return Found((), quest.at(quest.expression, path=(Element(), *quest.path[1:])))
        return found
    for change in changes:
        size = change.before.size if change.before is not None else None
        if isinstance(change.node, ast.Subscript) and change.method == "":
            key = change.key[0] if change.key else None
            if isinstance(key, int) and (key if key >= 0 else (size or 0) + key) == position:
                return _of_store(evidence, quest, change)
        elif size is not None and position >= size and change.method in ("append", "extend", "+="):
            argument = change.node.args[0] if isinstance(change.node, ast.Call) else change.node
            way: Path = () if change.method == "append" else (Item(position - size),)
            return _put(evidence, quest, change, argument, way)
    return None


def _by_value(evidence: Evidence, quest: Quest, changes: list[Change]) -> Found | None:
    """The only argument that was put in and can be the followed value; with an identity of its own, the newest."""
    fitting = [
        (change, argument)
        for change in changes
        if change.method in ADDING and isinstance(change.node, ast.Call) and change.node.args
        if _may_be(evidence, quest, argument := change.node.args[-1], change)
    ]
    if not fitting:
        return _in_bulk(evidence, quest, changes)
    if len(fitting) > 1 and (quest.value.is_none or quest.path[1:]):
        lines = ", ".join(str(change.spot.step.line) for change, _ in fitting[:4])
        return evidence.unknown(quest, f"more than one such value was put in (lines {lines})")
    return _put(evidence, quest, *fitting[0], ())


def _in_bulk(evidence: Evidence, quest: Quest, changes: list[Change]) -> Found | None:
    """A display with the value that was added as a whole."""
    for change in changes:
        added = _added(change)
        fits = isinstance(added, ast.List | ast.Tuple | ast.Set) and any(
            _may_be(evidence, quest, one, change) for one in added.elts
        )
        if fits and added is not None:
            return _put(evidence, quest, change, added, (Element(),))
    return None


def _added(change: Change) -> ast.expr | None:
    """What a change added as a whole: the argument of `extend`, the right side of `+=` or of a store to a slice."""
    if isinstance(change.node, ast.Call):
        is_bulk = change.method in ("extend", "extendleft", "update") and change.node.args
        return change.node.args[0] if is_bulk else None
    if isinstance(change.node, ast.Subscript) and change.method == "":
        value = getattr(change.clause, "value", None)
        return value if isinstance(change.node.slice, ast.Slice) else None
    return change.node


def _may_be(evidence: Evidence, quest: Quest, argument: ast.expr, change: Change) -> bool:
    part, way = part_of(argument, quest.path[1:])
    inner = quest.at(part, change.spot, way)
    if isinstance(part, ast.Constant):
        return evidence.may_be(inner, part)
    held = evidence.value(part, change.spot)
    return evidence.agrees(inner, held) is True


def part_of(display: ast.expr, path: Path) -> tuple[ast.expr, Path]:
    """The expression in a display that a way of positions leads to, and what is left of the way."""
    while path and isinstance(path[0], Item) and isinstance(display, ast.Tuple | ast.List):
        key = path[0].key
        is_there = isinstance(key, int) and -len(display.elts) <= key < len(display.elts)
        if not is_there or any(isinstance(one, ast.Starred) for one in display.elts) or not isinstance(key, int):
            break
        display, path = display.elts[key], path[1:]
    return display, path


def _put(evidence: Evidence, quest: Quest, change: Change, argument: ast.expr, way: Path) -> Found:
    """The link for an argument that was put in, and on from there."""
    inner = quest.at(argument, change.spot, (*way, *quest.path[1:]))
    what = evidence.with_path(evidence.text(argument, change.spot), way)
    if isinstance(argument, ast.Constant) and not inner.path:
        if not evidence.may_be(inner, argument):
            return evidence.not_written(inner, argument, change.spot)
        kind = known.kind_of_constant(argument)
        sentence = f"{what} was put in with {evidence.text(change.node, change.spot)}."
        return Found((evidence.link(inner, kind, sentence, clause=change.clause),))
    sentence = f"{what} was put in with {evidence.text(change.node, change.spot)}."
    return Found((evidence.link(inner, "put", sentence, clause=change.clause),), inner)


def taken_out(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What `pop()`, `popleft()` or the `get()` of a queue took out of a container: on to where it was put in."""
    assert isinstance(call.func, ast.Attribute)
    owner = evidence.value(call.func.value, quest.spot)
    if owner is None or owner.identity <= 0:
        return None
    inner = quest.at(call.func.value, path=(Element(), *quest.path))
    found = _by_value(evidence, inner, changes_of(evidence, inner, owner))
    return found or (Found((), inner) if owner.type in _ORDERED else None)
