"""What is collected: the class that the elements of a container need, and what a count or a list starts with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from selfdebug.stages.propose.defaults import Default

_NEEDED = (
    re.compile(r"expected (?:a )?(?P<name>str|bytes)"),
    re.compile(r"^can only concatenate (?P<name>\w+) "),
    re.compile(r"^unsupported operand type\(s\) for \+=?: '(?P<name>\w+)' and"),
)
_STARTS = {int: "0", float: "0.0", str: '""', bytes: 'b""', bool: "0"}
_EVIDENT = 0


def needed_class(message: str) -> str | None:
    """The class that a message asks of every element: `sequence item 1: expected str instance, int found`."""
    return next((found["name"] for each in _NEEDED if (found := each.search(message))), None)


def starts_of(statement: ast.stmt | None) -> Iterator[Default]:
    """What a missing item starts with that `d[k] += value` adds to, read off the value."""
    if not isinstance(statement, ast.AugAssign):
        return
    value = statement.value
    if isinstance(value, ast.Constant) and type(value.value) in _STARTS:
        yield Default(_STARTS[type(value.value)], "such a sum starts with it", _EVIDENT)
    elif isinstance(value, ast.List | ast.ListComp):
        yield Default("[]", "such a list starts with it", _EVIDENT)
    else:
        yield Default("0", "a sum starts with it", _EVIDENT + 1)
