"""What was put into a container and taken out of it again, by the identity of the container."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedValue
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.known import key_value
from selfdebug.stages.origin.program import key_of
from selfdebug.stages.origin.quest import Evidence, Quest

_PUTTING = frozenset(
    ["append", "appendleft", "add", "insert", "extend", "extendleft", "update", "setdefault", "difference_update"]
)
_TAKING = frozenset(["pop", "popitem", "popleft", "remove", "discard", "clear"])
_MAX_SHOWN = 4
_OBJECT = re.compile(r"<[^<>'\"]*>")


@dataclass(frozen=True, slots=True)
class Change:
    """One executed clause that changed what a container holds; `key` is in a tuple where it is known."""

    spot: Spot
    clause: Clause
    node: ast.expr
    is_removal: bool
    key: tuple[object] | None

    def removes(self, key: object) -> bool:
        """Whether it took the key away, alone or with all others."""
        is_all = isinstance(self.node, ast.Call) and getattr(self.node.func, "attr", "") == "clear"
        return self.is_removal and (is_all or (self.key is not None and self.key[0] == key))


def changes_of(evidence: Evidence, quest: Quest, owner: TracedValue) -> list[Change]:
    """The changes of the very container before the moment of the quest, newest first."""
    if owner.identity <= 0:
        return []
    found = [*_stored(evidence, quest, owner), *_called(evidence, quest, owner)]
    return sorted(found, key=lambda change: change.spot.sequence, reverse=True)


def _stored(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Change]:
    for store in evidence.history.stores_to(owner, "[]", quest.spot.sequence):
        target = store.target
        assert isinstance(target, ast.Subscript)
        key = key_value(evidence, quest.at(target, store.spot), target.slice)
        yield Change(store.spot, store.clause, target, isinstance(target.ctx, ast.Del), key)


def _called(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Change]:
    history = evidence.history
    for spot, clause, call in history.method_calls(_PUTTING | _TAKING, quest.spot.sequence):
        assert isinstance(call.func, ast.Attribute)
        held = history.before(call.func.value, spot) if key_of(call.func.value) else None
        if held is None or held.identity != owner.identity or history.was_interrupted(spot):
            continue
        is_keyed = call.func.attr in ("pop", "setdefault") and call.args
        key = key_value(evidence, quest.at(call, spot), call.args[0]) if is_keyed else None
        yield Change(spot, clause, call, call.func.attr in _TAKING, key)


def history_of(evidence: Evidence, quest: Quest, owner: TracedValue, wanted: tuple[object] | None) -> list[Link]:
    """The links that tell how the container came to hold what it holds, newest first.

    They end at the clause that took the `wanted` key away, if one did; of many, the newest are shown.
    """
    changes = changes_of(evidence, quest, owner)
    removal = next((change for change in changes if wanted is not None and change.removes(wanted[0])), None)
    if removal is not None:
        return [_link(evidence, quest, removal)]
    return [_link(evidence, quest, change) for change in changes[:_MAX_SHOWN]]


def _link(evidence: Evidence, quest: Quest, change: Change) -> Link:
    kind = "removed" if change.is_removal else "put"
    return evidence.link(
        quest, kind, _sentence(evidence, change), spot=change.spot, node=change.node, clause=change.clause
    )


def _sentence(evidence: Evidence, change: Change) -> str:
    node = change.node
    if isinstance(node, ast.Subscript):
        what = f"The key {change.key[0]!r}" if change.key else f"What {evidence.text(node, change.spot)} names"
        if change.is_removal:
            return f"{what} was deleted from it here."
        given = change.clause.value if isinstance(change.clause, ast.Assign) else None
        value = f" with {evidence.text(given, change.spot)}" if given is not None else ""
        return f"{what} was put in here{value}."
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if node.func.attr == "clear":
        return "clear() emptied it here."
    verb = "took something out" if change.is_removal else "put something in"
    held = ", ".join(
        f"{evidence.text(one, change.spot)} was {known.text}"
        for one in node.args
        if not isinstance(one, ast.Constant) and (known := evidence.value(one, change.spot)) is not None
    )
    return f"{evidence.text(node, change.spot)} {verb} here" + (f" ({held})." if held else ".")


def keys_in(value: TracedValue) -> list[object]:
    """The plain keys of a dict, as far as its recorded text tells."""
    text = _OBJECT.sub("...", value.text.replace(", ...}", "}"))
    try:
        shown = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    return [key.value for key in shown.keys if isinstance(key, ast.Constant)] if isinstance(shown, ast.Dict) else []
