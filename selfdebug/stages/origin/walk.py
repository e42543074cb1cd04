"""The way back: one rule for each kind of expression, until the value is born or the evidence ends."""

from __future__ import annotations

import ast
from collections.abc import Callable

from codemods.selfdebug.expressions import constant_of, is_none
from selfdebug.model import Link
from selfdebug.stages.origin.call_sources import follow_call
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.contents import keys_in
from selfdebug.stages.origin.control import deciding_values
from selfdebug.stages.origin.items import descend, follow_item
from selfdebug.stages.origin.known import kind_of_constant
from selfdebug.stages.origin.members import follow_attribute, follow_member
from selfdebug.stages.origin.names import follow_name
from selfdebug.stages.origin.program import COMPREHENSIONS
from selfdebug.stages.origin.puts import put_in
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Member, Path, Quest, UnseenError
from selfdebug.stages.origin.truths import truth

_DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.Set, *COMPREHENSIONS)
MAX_LINKS = 40
MAX_TURNS = 200
# What a rule can raise over a program that it takes for another; the links found before are true, and nothing of the
# repair depends on those that are missing.
_MISREAD = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def walk(evidence: Evidence, quest: Quest) -> tuple[Link, ...]:
    """The links from the quest's expression back to the birth of its value."""
    links: list[Link] = []
    seen: set[tuple[int, int, int, object]] = set()
    following: Quest | None = quest
    while following is not None and len(links) < MAX_LINKS and len(seen) < MAX_TURNS:
        key = (id(following.expression), following.spot.frame.number, following.spot.index, following.path)
        if key in seen:
            links += evidence.unknown(following, "the way back leads in a circle").links
            break
        seen.add(key)
        try:
            found = _turn(evidence, following)
        except UnseenError as unseen:
            links += evidence.unknown(following, str(unseen)).links
            break
        except _MISREAD as error:
            links += evidence.unknown(following, f"the code was misread ({type(error).__name__}: {error})").links
            break
        links += found.links
        following = found.next
    return tuple(links)


def _turn(evidence: Evidence, quest: Quest) -> Found:
    if quest.path and isinstance(quest.path[0], Item | Element):
        stored = put_in(evidence, quest)
        if stored is not None:
            return stored
    if quest.path and isinstance(quest.path[0], Member):
        member = follow_member(evidence, quest)
        if member is not None:
            return member
    return _RULES.get(type(quest.expression), _made)(evidence, quest)


def _same(_evidence: Evidence, quest: Quest) -> Found:
    """An expression around another one whose value it has."""
    node = quest.expression
    assert isinstance(node, ast.NamedExpr | ast.Starred | ast.YieldFrom)
    return Found((), quest.at(node.value))


def _made(evidence: Evidence, quest: Quest) -> Found:
    """An expression that makes its value."""
    node, text = quest.expression, evidence.text(quest.expression, quest.spot)
    match node:
        case ast.Constant() if not evidence.may_be(quest, node):
            return evidence.not_written(quest, node, quest.spot)
        case ast.Constant():
            return evidence.end(quest, kind_of_constant(node), f"It is written as {text} here.")
        case ast.BinOp() if quest.path:
            return _joined(evidence, quest, node)
    if isinstance(node, _DISPLAYS):
        return descend(evidence, quest) if quest.path else evidence.end(quest, "literal", f"{text} was made here.")
    return _by_operator(evidence, quest) or evidence.end(quest, "computed", f"{text} was computed here.")


def _by_operator(evidence: Evidence, quest: Quest) -> Found | None:
    """What the method of an operator returned: `__add__` of `one + other`."""
    for made in reversed(evidence.history.made_during(quest.spot)):
        is_method = made[0].way == 0 and made[0].function.startswith("__") and made[0].function.endswith("__")
        if is_method and made[1].kind == "return" and evidence.agrees(quest, made[1].value):
            text = evidence.text(quest.expression, quest.spot)
            link = evidence.link(quest, "computed", f"{text} is computed by {made[0].qualified}().")
            found = from_step(evidence, quest, made, made[0].function)
            return Found((link, *found.links), found.next)
    return None


def _joined(evidence: Evidence, quest: Quest, node: ast.BinOp) -> Found:
    """An element of `one + other`, or the value under a key of `one | other`."""
    selector, sizes = quest.path[0], evidence.value(node.left, quest.spot)
    position = selector.key if isinstance(selector, Item) else getattr(selector, "index", None)
    count = len(node.left.elts) if isinstance(node.left, ast.List | ast.Tuple) else sizes.size if sizes else None
    if isinstance(node.op, ast.Add) and isinstance(position, int) and position >= 0 and count is not None:
        side = node.left if position < count else node.right
        way = replace_first(quest.path, position if position < count else position - count)
        return Found((), quest.at(side, path=way))
    if isinstance(node.op, ast.BitOr) and isinstance(selector, Item):
        held = evidence.value(node.right, quest.spot)
        keys = keys_in(held) if held is not None else []
        if isinstance(node.right, ast.Dict):
            keys = [constant[0] for key in node.right.keys if key is not None and (constant := constant_of(key))]
        return Found((), quest.at(node.right if selector.key in keys else node.left))
    return evidence.unknown(quest, "which side of the operator it is from was not recorded")


def replace_first(path: Path, position: int) -> Path:
    """The way with another position in front."""
    first = Item(position) if isinstance(path[0], Item) else Element(position)
    return (first, *path[1:])


def _awaited(evidence: Evidence, quest: Quest) -> Found:
    """What `await` gave: of a coroutine that is called here its return, of a task that of its coroutine."""
    assert isinstance(quest.expression, ast.Await)
    value = quest.expression.value
    if not isinstance(value, ast.Name | ast.Attribute):
        return Found((), quest.at(value))
    history = evidence.history
    for frame in reversed(history.trace.frames):
        scope = history.scope(frame)
        last = frame.steps[-1] if frame.steps else None
        if last is None or last.kind != "return" or not isinstance(scope, ast.AsyncFunctionDef):
            continue
        low, high = history.extent(quest.spot)
        if low < last.sequence < high and evidence.agrees(quest, last.value):
            sentence = f"{evidence.text(value, quest.spot)} ran {frame.function}(), whose result await gave."
            link = evidence.link(quest, "task", sentence, observed=False)
            found = from_step(evidence, quest, (frame, last), frame.function)
            return Found((link, *found.links), found.next)
    return evidence.unknown(quest, "what was awaited had ended before, or is outside the project")


def _chosen(evidence: Evidence, quest: Quest) -> Found:
    """A conditional expression: the branch that was taken, as far as the recorded values tell."""
    choice = quest.expression
    assert isinstance(choice, ast.IfExp)
    decided = truth(evidence, choice.test, quest.spot)
    branches = {True: choice.body, False: choice.orelse}
    fits = {
        side: evidence.agrees(quest, evidence.value(branch, quest.spot)) is not False
        for side, branch in branches.items()
    }
    if decided is None and sum(fits.values()) == 1:
        decided = fits[True]
        observed = False
    else:
        observed = decided is not None
    if decided is None:
        return evidence.unknown(quest, "which branch of the conditional expression was taken was not recorded")
    values = deciding_values(evidence, choice.test, quest.spot)
    test = evidence.text(choice.test, quest.spot)
    because = f" ({values})" if values else ""
    sentence = f"{test} was {str(decided).lower()}{because}, so it is {evidence.text(branches[decided], quest.spot)}."
    link = evidence.link(quest, "branch", sentence, observed=observed)
    branch = branches[decided]
    return Found((link,), None if is_none(branch) and not quest.path else quest.at(branch))


def _decided(evidence: Evidence, quest: Quest) -> Found:
    """`a or b`, `a and b`: the operand whose value it was."""
    operation = quest.expression
    assert isinstance(operation, ast.BoolOp)
    stops = isinstance(operation.op, ast.Or)
    for operand in operation.values[:-1]:
        was = truth(evidence, operand, quest.spot)
        if was is None and not (stops and quest.value.is_none and not quest.path):
            return evidence.unknown(quest, f"whether {evidence.text(operand, quest.spot)} was true was not recorded")
        if was is stops:
            return Found((), quest.at(operand))
    return Found((), quest.at(operation.values[-1]))


def _sent(evidence: Evidence, quest: Quest) -> Found:
    """The value of a `yield` is what `send()` gave, or None when `next()` went on."""
    history, frame = evidence.history, quest.spot.frame
    last = history.group(quest.spot)[1]
    step = next((step for step in reversed(frame.steps[: last + 1]) if step.kind == "yield"), None)
    consumer = history.frames.get(step.consumer) if step is not None and step.consumer is not None else None
    following = next((step for step in frame.steps[last + 1 :]), None)
    spot = history.at(consumer, following.sequence) if consumer is not None and following is not None else None
    if spot is not None:
        for clause in history.clauses(spot):
            for node in ast.walk(clause):
                is_send = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                if is_send and isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "send" and node.args:
                    sentence = f"The generator was sent {evidence.text(node.args[0], spot)} here."
                    link = evidence.link(quest, "send", sentence, spot=spot, node=node.args[0])
                    return Found((link,), quest.at(node.args[0], spot))
    if quest.value.is_none:
        return evidence.end(quest, "send", "The generator went on without being sent a value, so its yield gave None.")
    return evidence.unknown(quest, "who sent it into the generator was not recorded")


_RULES: dict[type[ast.expr], Callable[[Evidence, Quest], Found]] = {
    ast.Name: follow_name,
    ast.Call: follow_call,
    ast.Attribute: follow_attribute,
    ast.Subscript: follow_item,
    ast.NamedExpr: _same,
    ast.Starred: _same,
    ast.Await: _awaited,
    ast.Yield: _sent,
    ast.YieldFrom: _same,
    ast.IfExp: _chosen,
    ast.BoolOp: _decided,
}
