"""From an item back to the store that put it into its container, by the identity of the container."""

from __future__ import annotations

import ast

from selfdebug.stages.origin import known
from selfdebug.stages.origin.bindings import Binding, follow_binding, with_kind
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.program import COMPREHENSIONS, constant_of, key_of, last_name, own_nodes
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest


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
        return with_kind(found, "item")
    return None


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
