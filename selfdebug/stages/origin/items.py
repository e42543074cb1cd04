"""From an item back to its container, and into the display or the comprehension that made the container."""

from __future__ import annotations

import ast

from codemods.selfdebug.expressions import constant_of
from selfdebug.model import TracedFrame
from selfdebug.stages.origin import known
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.history import is_same
from selfdebug.stages.origin.program import COMPREHENSIONS, called_name, clause_nodes, key_of
from selfdebug.stages.origin.puts import put_in
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest


def follow_item(evidence: Evidence, quest: Quest) -> Found:
    """Where the item of a container comes from."""
    node = quest.expression
    assert isinstance(node, ast.Subscript)
    if isinstance(node.slice, ast.Slice):
        return _of_slice(evidence, quest, node, node.slice)
    made = _by_default_factory(evidence, quest, node)
    if made is not None:
        return made
    key = known.key_value(evidence, quest, node.slice)
    if key is None:
        return evidence.unknown(quest, f"the index {evidence.text(node.slice, quest.spot)} was not recorded")
    return Found((), quest.at(node.value, path=(Item(key[0]), *quest.path)))


def _of_slice(evidence: Evidence, quest: Quest, node: ast.Subscript, part: ast.Slice) -> Found:
    """A part of a container; an element of it is on its way from the whole."""
    if not quest.path or not isinstance(quest.path[0], Item | Element):
        return evidence.end(quest, "slice", f"{evidence.text(node, quest.spot)} is a part of its container.")
    selector = quest.path[0]
    position = selector.key if isinstance(selector, Item) else selector.index
    lower = known.key_value(evidence, quest, part.lower) if part.lower is not None else (0,)
    start = lower[0] if lower is not None and part.step is None else None
    is_counted = isinstance(position, int) and position >= 0 and isinstance(start, int) and start >= 0
    first: Item | Element = Element()
    if is_counted and isinstance(position, int) and isinstance(start, int):
        first = Item(position + start)
    return Found((), quest.at(node.value, path=(first, *quest.path[1:])))


def _by_default_factory(evidence: Evidence, quest: Quest, node: ast.Subscript) -> Found | None:
    """The key was missing, and `__missing__`, `__getitem__` or a default factory of the project made the value."""
    held = evidence.history.before(node, quest.spot)
    called = {called_name(inner) for clause in evidence.history.clauses(quest.spot)
              for inner in clause_nodes(clause) if isinstance(inner, ast.Call)}  # fmt: skip
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


def descend(evidence: Evidence, quest: Quest) -> Found:
    """Into a display: the element that the path asks for."""
    node, selector, rest = quest.expression, quest.path[0], quest.path[1:]
    if isinstance(node, COMPREHENSIONS):
        return _of_comprehension(evidence, quest, node)
    if isinstance(node, ast.Dict) and isinstance(selector, Item):
        found = _of_dict(evidence, quest, node, selector.key)
    else:
        found = _of_sequence(evidence, quest, node, rest)
    return found or _changed_elsewhere(evidence, quest)


def _changed_elsewhere(evidence: Evidence, quest: Quest) -> Found:
    """The display does not hold the value: what the container was given to, outside the project, may have put it in."""
    history, made = evidence.history, f"{evidence.text(quest.expression, quest.spot)} was made here"
    clause = evidence.program(quest.spot).clause_of(quest.expression)
    key = key_of(clause.targets[0]) if isinstance(clause, ast.Assign) else None
    owner = history.stored(key, quest.spot) if key else None
    frame = quest.spot.frame
    for spot in history.line_steps(frame, len(frame.steps)) if owner is not None else ():
        for _, call in evidence.program(spot).calls_at(spot.step.line):
            held = [evidence.value(one, spot) for one in call.args]
            is_given = owner is not None and any(is_same(value, owner) for value in held)
            if is_given and spot.sequence > quest.spot.sequence:
                called = evidence.text(call.func, spot)
                sentence = f"{made}; {called}() got it at {frame.file}:{spot.step.line} and may have put it in."
                return evidence.end(quest, "outside", sentence, observed=False)
    if not list(ast.iter_child_nodes(quest.expression))[: -1 if hasattr(quest.expression, "ctx") else None]:
        return evidence.unknown(quest, f"{made} empty, and what put it in was not seen")
    return evidence.end(quest, "literal", f"{made}.", observed=False)


def _of_dict(evidence: Evidence, quest: Quest, node: ast.Dict, key: object) -> Found | None:
    for name, value in reversed(list(zip(node.keys, node.values, strict=True))):
        if name is None:  # **others
            inner = quest.at(value)
            return put_in(evidence, inner) or Found((), inner)
        constant = constant_of(name) or known.key_value(evidence, quest.at(name, path=()), name)
        if constant is not None and constant[0] == key:
            return _element(evidence, quest, value, quest.path[1:], f"[{key!r}]")
    return None


def _of_sequence(evidence: Evidence, quest: Quest, node: ast.expr, rest: Path) -> Found | None:
    selector = quest.path[0]
    elements: list[ast.expr] = getattr(node, "elts", [])
    if isinstance(node, ast.Dict):
        is_value = isinstance(selector, Element) and selector.is_value
        if None in node.keys:  # **others
            return None
        elements = node.values if is_value else [key for key in node.keys if key is not None]
    index = selector.key if isinstance(selector, Item) else getattr(selector, "index", None)
    is_plain = isinstance(node, ast.List | ast.Tuple | ast.Dict)
    is_plain = is_plain and not any(isinstance(one, ast.Starred) for one in elements)
    if is_plain and isinstance(index, int) and -len(elements) <= index < len(elements):
        return _element(evidence, quest, elements[index], rest, f" at position {index}")
    fitting = [one for one in elements if _may_hold(evidence, quest, one, rest)]
    if isinstance(selector, Element) and len(fitting) == 1:
        return _element(evidence, quest, fitting[0], rest, "")
    return None


def _may_hold(evidence: Evidence, quest: Quest, one: ast.expr, rest: Path) -> bool:
    """Whether an element can be the followed value, or a display that holds it."""
    if not rest:
        return _may_be(evidence, quest, one)
    if isinstance(one, ast.List | ast.Tuple | ast.Set) and isinstance(rest[0], Element):
        return any(_may_hold(evidence, quest, inner, rest[1:]) for inner in one.elts)
    return False


def _may_be(evidence: Evidence, quest: Quest, expression: ast.expr) -> bool:
    inner = quest.at(expression, path=())
    if isinstance(expression, ast.Constant):
        return evidence.may_be(inner, expression)
    return evidence.agrees(inner, evidence.value(expression, quest.spot)) is True


def _element(evidence: Evidence, quest: Quest, value: ast.expr, path: Path, where: str) -> Found:
    inner = quest.at(value, path=path)
    if isinstance(value, ast.Constant) and not evidence.may_be(inner, value):
        return evidence.not_written(inner, value, quest.spot)
    if isinstance(value, ast.Constant) and not path:
        said = "None" if value.value is None else evidence.text(value, quest.spot)
        kind = "explicit-none" if value.value is None else "literal"
        return evidence.end(inner, kind, f"The element{where} is written as {said} here.")
    sentence = f"The element{where} is {evidence.text(value, quest.spot)}."
    return Found((evidence.link(inner, "item", sentence),), inner)


def _of_comprehension(evidence: Evidence, quest: Quest, node: ast.expr) -> Found:
    """The value of a comprehension's element: the last call that gave the value, or the element's own expression."""
    rest = quest.path[1:]
    value = getattr(node, "elt", None)
    if isinstance(node, ast.DictComp):
        value = node.key if quest.path[0] in (Element(), Element(getattr(quest.path[0], "index", None))) else node.value
    assert isinstance(value, ast.expr)
    inner = quest.at(value, path=rest)
    sentence = f"The comprehension made it from {evidence.text(value, quest.spot)}."
    link = evidence.link(inner, "comprehension", sentence, observed=False)
    if isinstance(value, ast.Constant):
        return Found((link,))
    frame, end = _run_of(evidence, quest, node)
    if frame is None:
        return Found((link,), inner)
    spot = next(evidence.history.line_steps(frame, end), None)
    return Found((link,), inner if spot is None else quest.at(value, spot, rest))


def _run_of(evidence: Evidence, quest: Quest, node: ast.expr) -> tuple[TracedFrame | None, int]:
    """The frame of a comprehension, and the step at which it gave the value (of a generator: its yield)."""
    history = evidence.history
    if isinstance(node, ast.GeneratorExp):
        for frame in reversed(history.trace.frames):
            if history.scope(frame) is not node:
                continue
            for index, step in reversed(list(enumerate(frame.steps))):
                if step.kind == "yield" and evidence.agrees(quest.at(node, path=quest.path[1:]), step.value):
                    return frame, index
    made = reversed(history.made_during(quest.spot))
    frames = (frame for frame, step in made if history.scope(frame) is node and step.kind == "return")
    found = next(frames, None)
    return found, len(found.steps) if found is not None else 0
