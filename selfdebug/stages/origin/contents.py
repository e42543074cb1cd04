"""What was put into a container and taken out of it again, by the identity of the container."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedValue
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.known import key_value
from selfdebug.stages.origin.program import key_of
from selfdebug.stages.origin.quest import Evidence, Quest

ADDING = frozenset(["append", "appendleft", "add", "put", "put_nowait", "insert"])
_PUTTING = ADDING | {"extend", "extendleft", "update", "setdefault"}
_TAKING = frozenset(["pop", "popitem", "popleft", "remove", "discard", "clear", "get_nowait"])
_MOVING = frozenset(["sort", "reverse", "rotate"])
_MAX_SHOWN = 4
_OBJECT = re.compile(r"<[^<>'\"]*>")


@dataclass(frozen=True, slots=True)
class Change:
    """One executed clause that changed what a container holds.

    `node` did: a subscript, a call of a method, or the value of `+=` and `|=`; `key` is in a tuple where it is known;
    `before` is the container as it was.
    """

    spot: Spot
    clause: Clause
    node: ast.expr
    key: tuple[object] | None
    before: TracedValue | None = None

    @property
    def method(self) -> str:
        """The name of the method; empty for a subscript, `+=` for an augmented assignment."""
        if isinstance(self.node, ast.Subscript) and not isinstance(self.clause, ast.AugAssign):
            return ""
        is_call = isinstance(self.node, ast.Call) and isinstance(self.node.func, ast.Attribute)
        return getattr(getattr(self.node, "func", None), "attr", "+=") if is_call else "+="

    @property
    def is_removal(self) -> bool:
        """Whether it took something out."""
        return self.method in _TAKING or (isinstance(self.node, ast.Subscript) and isinstance(self.node.ctx, ast.Del))

    @property
    def keeps_order(self) -> bool:
        """Whether every element is still at its place, counted from the first."""
        if self.method == "":
            return isinstance(self.node, ast.Subscript) and not (
                self.is_removal or isinstance(self.node.slice, ast.Slice)
            )
        is_last = self.method == "pop" and isinstance(self.node, ast.Call) and not self.node.args
        return is_last or self.method in ("append", "extend", "+=")

    def removes(self, key: object) -> bool:
        """Whether it took the key away, alone or with all others."""
        return self.method == "clear" or (self.is_removal and self.key is not None and self.key[0] == key)


def changes_of(evidence: Evidence, quest: Quest, owner: TracedValue) -> list[Change]:
    """The changes of the very container before the moment of the quest, newest first."""
    if owner.identity <= 0:
        return []
    since = evidence.history.born(owner, quest.spot.sequence)
    found = [*_stored(evidence, quest, owner), *_called(evidence, quest, owner), *_augmented(evidence, quest, owner)]
    return sorted(
        (change for change in found if change.spot.sequence >= since),
        key=lambda change: change.spot.sequence,
        reverse=True,
    )


def _stored(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Change]:
    for store in evidence.history.stores_to(owner, "[]", quest.spot.sequence):
        target = store.target
        assert isinstance(target, ast.Subscript)
        key = key_value(evidence, quest.at(target, store.spot), target.slice)
        yield Change(store.spot, store.clause, target, key, evidence.history.before(target.value, store.spot))


def _called(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Change]:
    history = evidence.history
    for spot, clause, call in history.calls(_PUTTING | _TAKING | _MOVING, quest.spot.sequence):
        if not isinstance(call.func, ast.Attribute) or not key_of(call.func.value):
            continue
        held = history.before(call.func.value, spot)
        if held is None or not is_same(held, owner) or history.was_interrupted(spot):
            continue
        by_value = ("remove", "discard") if held.type == "set" else ()
        is_keyed = call.func.attr in ("pop", "setdefault", *by_value) and call.args
        key = key_value(evidence, quest.at(call, spot), call.args[0]) if is_keyed else None
        yield Change(spot, clause, call, key, held)


def _augmented(evidence: Evidence, quest: Quest, owner: TracedValue) -> Iterator[Change]:
    history = evidence.history
    for spot in history.givers(owner, quest.spot.sequence):
        for clause in history.clauses(spot):
            if not isinstance(clause, ast.AugAssign) or history.was_interrupted(spot):
                continue
            key = key_of(clause.target)
            after = history.stored(key, spot) if key else None
            if is_same(after, owner) and history.group(spot)[0] == spot.index:
                target = clause.target
                held = history.before(ast.copy_location(_loaded(target), target), spot)
                yield Change(spot, clause, clause.value, None, held)


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Attribute(value=value, attr=attr):
            return ast.Attribute(value, attr, ast.Load())
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
    return target


def history_of(evidence: Evidence, quest: Quest, owner: TracedValue, wanted: tuple[object] | None) -> list[Link]:
    """The links that tell how the container came to hold what it holds, newest first.

    They end at the clause that took the `wanted` key away, if one did; of many, the newest are shown.
    """
    changes = [change for change in changes_of(evidence, quest, owner) if change.method not in _MOVING]
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
    node, text = change.node, evidence.text(change.node, change.spot)
    if change.method == "+=":
        return f"{text} was added to it here."
    if isinstance(node, ast.Subscript):
        what = f"The key {change.key[0]!r}" if change.key else f"What {text} names"
        if change.is_removal:
            return f"{what} was deleted from it here."
        given = change.clause.value if isinstance(change.clause, ast.Assign) else None
        return f"{what} was put in here{f' with {evidence.text(given, change.spot)}' if given is not None else ''}."
    if change.method == "clear":
        return "clear() emptied it here."
    verb = "took something out" if change.is_removal else "put something in"
    held = ", ".join(
        f"{evidence.text(one, change.spot)} was {known.text}"
        for one in getattr(node, "args", ())
        if not isinstance(one, ast.Constant) and (known := evidence.value(one, change.spot)) is not None
    )
    return f"{text} {verb} here" + (f" ({held})." if held else ".")


def keys_in(value: TracedValue) -> list[object]:
    """The plain keys of a dict, as far as its recorded text tells."""
    text = _OBJECT.sub("...", value.text.replace(", ...}", "}"))
    try:
        shown = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    return [key.value for key in shown.keys if isinstance(key, ast.Constant)] if isinstance(shown, ast.Dict) else []
