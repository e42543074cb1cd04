"""From an element that a call gave, one by one, back to the yield, the function or the iterable that it is from."""

from __future__ import annotations

import ast

from selfdebug.stages.origin.arguments import Argument
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.history import is_same
from selfdebug.stages.origin.program import called_name
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest

_MAPPERS = frozenset({"map", "starmap", "imap", "imap_unordered"})


def through_iterator(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What a generator or a function over iterables gave: on to its yield or to the iterable that it took."""
    rest = quest.path[1:]
    made = evidence.history.made_during(quest.spot)
    fitting = [entry for entry in made if entry[1].kind == "yield" and (rest or is_same(entry[1].value, quest.value))]
    packed = [entry for entry in made if entry[1].kind == "yield" and entry[1].value is None]
    if fitting or packed:
        chosen = (fitting or packed)[-1]
        return from_step(evidence, quest.at(call, path=rest), chosen, chosen[0].function, observed=bool(fitting))
    if called_name(call.func) in _MAPPERS and call.args:
        return _mapped(evidence, quest, call)
    filled = _filled(evidence, quest, call)
    if filled is not None:
        return filled
    taken = _taken(quest.path, call)
    return Found((), quest.at(taken.expression, path=taken.path)) if taken is not None else None


def _filled(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What `zip_longest` puts where one of its iterables is over."""
    if called_name(call.func) != "zip_longest" or len(quest.path) != 2 or not isinstance(quest.path[1], Item):
        return None
    column, index = quest.path[1].key, getattr(quest.path[0], "index", None)
    iterable = call.args[column] if isinstance(column, int) and column < len(call.args) else None
    held = evidence.value(iterable, quest.spot) if iterable is not None else None
    count = len(iterable.elts) if isinstance(iterable, ast.List | ast.Tuple) else held.size if held else None
    if iterable is None or count is None or index is None or index < count:
        return None
    fill = next((one.value for one in call.keywords if one.arg == "fillvalue"), None)
    said = evidence.text(fill, quest.spot) if fill is not None else "None"
    sentence = f"{evidence.text(iterable, quest.spot)} was over, so zip_longest() gave {said}."
    return evidence.end(quest, "exhausted", sentence)


def _mapped(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What the function returned that `map` called, in this thread or (of an executor) in another."""
    history, wanted = (
        evidence.history,
        called_name(call.args[0]) if not isinstance(call.args[0], ast.Lambda) else "<lambda>",
    )
    low = history.extent(quest.spot)[0]
    ran = sorted(
        (frame for frame in evidence.frames_called(wanted, quest.spot) if frame.started > low),
        key=lambda one: one.started,
    )
    index = getattr(quest.path[0], "index", None)
    if isinstance(index, int) and index < len(ran):
        ran = [ran[index], *ran]
    inner = quest.at(call, path=quest.path[1:])
    for frame in ran:
        end = frame.steps[-1] if frame.steps else None
        if end is not None and end.kind == "return" and evidence.agrees(inner, end.value):
            return from_step(evidence, inner, (frame, end), frame.function)
    return None


def _taken(path: Path, call: ast.Call) -> Argument | None:
    """The iterable that a built-in function went over, with the way from there."""
    first, rest = path[0], path[1:]
    found: Argument | None = None
    match called_name(call.func), call.args:
        case "enumerate", [iterable, *_] if rest and rest[0] == Item(1):
            found = Argument(iterable, (first, *rest[1:]))
        case "chain", iterables if all(isinstance(one, ast.List | ast.Tuple) for one in iterables):
            found = _chained(path, iterables)
        case (("zip" | "zip_longest"), iterables) if (
            rest and isinstance(rest[0], Item) and isinstance(rest[0].key, int)
        ):
            found = Argument(iterables[rest[0].key], (first, *rest[1:])) if rest[0].key < len(iterables) else None
        case (("reversed" | "sorted" | "set" | "frozenset" | "islice" | "cycle"), [iterable, *_]):
            found = Argument(iterable, (Element(), *rest))
        case "groupby", [iterable] if rest == (Item(0),):
            found = Argument(iterable, (Element(),))
        case "filter", [_, iterable]:
            found = Argument(iterable, (Element(), *rest))
        case (("list" | "tuple" | "iter" | "deque"), [iterable]):
            found = Argument(iterable, path)
        case ("keys" | "values" | "items") as name, [] if isinstance(call.func, ast.Attribute):
            found = _of_view(path, name, call.func.value)
    return found


def _of_view(path: Path, name: str, mapping: ast.expr) -> Argument | None:
    """The mapping that `keys()`, `values()` or `items()` showed, with the way to its key or value."""
    index, rest = getattr(path[0], "index", None), path[1:]
    if name == "items":
        if not rest or rest[0] not in (Item(0), Item(1)):
            return None
        return Argument(mapping, (Element(index, rest[0] == Item(1)), *rest[1:]))
    return Argument(mapping, (Element(index, name == "values"), *rest))


def _chained(path: Path, displays: list[ast.expr]) -> Argument | None:
    """The display in a chain of them that has the element."""
    index = getattr(path[0], "index", None)
    for display in displays:
        count = len(getattr(display, "elts", ()))
        if isinstance(index, int) and index < count:
            return Argument(display, (Element(index), *path[1:]))
        index = index - count if isinstance(index, int) else None
    return None
