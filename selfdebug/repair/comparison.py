"""Whether two plausible patches do the same on the inputs of the tests, and the difference in one sentence if not.

Compared is what was recorded: the results of the edited functions, and what they left in their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from selfdebug.model import Value
from selfdebug.repair.behaviour import Behaviour, Call

_LONGEST = 80


def difference(kept: Behaviour, other: Behaviour, name: str = "the kept patch") -> str:
    """The first difference as a sentence, which calls the first one by `name`; empty when no test shows one."""
    return next(_differences(kept, other, name), "")


def _differences(kept: Behaviour, other: Behaviour, name: str) -> Iterator[str]:
    before, after = _by_place(kept), _by_place(other)
    for place in dict.fromkeys([*before, *after]):
        for one, two in zip_longest(before.get(place, []), after.get(place, [])):
            if one is None or two is None:
                node, function = place
                counts = f"{len(before.get(place, []))} times with {name}, {len(after.get(place, []))} times with"
                yield f"{node} calls {function} {counts} this one."
                break
            if _shown(one.results) != _shown(two.results):
                yield f"{_call(one)} {_outcome(one)} with {name} and {_outcome(two)} with this one."
            yield from _in_state(one, two, name)


def _by_place(behaviour: Behaviour) -> dict[tuple[str, str], list[Call]]:
    found: dict[tuple[str, str], list[Call]] = {}
    for call in behaviour.calls:
        found.setdefault((call.node_id, call.function), []).append(call)
    return found


def _in_state(one: Call, two: Call, patch: str) -> Iterator[str]:
    """What is left in the arguments that neither patch gives a new value."""
    other = dict(two.state)
    for name, value in one.state:
        if name in other and _text(value) != _text(other[name]):
            held = "the attributes of self are" if name == "self" else f"{name} is"
            values = f"{_cut(value.repr)} with {patch}, {_cut(other[name].repr)} with this one"
            yield f"After {_call(one)}, {held} {values}."


def _call(call: Call) -> str:
    given = ", ".join(f"{name}={_cut(value.repr)}" for name, value in call.arguments if name not in ("self", "cls"))
    return f"{call.function}({given})"


def _outcome(call: Call) -> str:
    if not call.results:
        return "raises"
    return f"gives {', '.join(_cut(value.repr) for value in call.results[:3])}"


def _shown(values: tuple[Value, ...]) -> list[str]:
    return [_text(value) for value in values]


def _text(value: Value) -> str:
    return f"{value.type} {value.repr}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
