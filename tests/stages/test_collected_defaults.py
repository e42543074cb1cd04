"""What counts, lists and texts start with, and the class that a message asks of every element."""

from __future__ import annotations

import ast

import pytest

from selfdebug.stages.propose.collected import needed_class, starts_of


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("d[k] += 1", ["0"]),
        ("d[k] += 1.5", ["0.0"]),
        ("d[k] += 'x'", ['""']),
        ("d[k] += b'x'", ['b""']),
        ("d[k] += [x]", ["[]"]),
        ("d[k] += [x for x in y]", ["[]"]),
        ("d[k] += x", ["0"]),
        ("d[k] = x", []),
    ],
)
def test_what_is_added_tells_the_start(statement: str, expected: list[str]) -> None:
    assert [default.code for default in starts_of(ast.parse(statement).body[0])] == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("sequence item 1: expected str instance, int found", "str"),
        ("sequence item 0: expected a bytes-like object, str found", "bytes"),
        ('can only concatenate list (not "int") to list', "list"),
        ("unsupported operand type(s) for +: 'int' and 'str'", "int"),
        ("'int' object is not iterable", None),
    ],
)
def test_the_message_tells_the_class(message: str, expected: str | None) -> None:
    assert needed_class(message) == expected
