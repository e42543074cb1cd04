"""Which receiver on a line is meant, by source, column, underlining and message."""

from typing import Any

import pytest

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.failed_places import FailedPlace
from codemods.selfdebug.receivers import target_at
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at

SOURCE = """\
def f(a, b):
    x = a.name + b.name
    if (
        b.count(a[0])
    ):
        for y in a.items: y()
    return len(a) + len(b[1])
"""


def meant(line: int, source: str = SOURCE, **options: Any) -> tuple[str, str]:
    """The source of the expression and the receiver that a place on a line of SOURCE means."""
    parsed = Source.parse(source.encode())
    target = target_at(parsed, FailedPlace("f.py", line, **options))
    return text_at(parsed.lines, target.expression), text_at(parsed.lines, target.receiver)


def test_the_receiver_is_found_by_its_source() -> None:
    assert meant(2, receiver="b") == ("b.name", "b")
    assert meant(2, receiver="( b )") == ("b.name", "b")
    assert meant(7, receiver="b [1]") == ("len(b[1])", "b[1]")


def test_the_receiver_is_found_by_its_column() -> None:
    assert meant(2, column=17) == ("b.name", "b")
    assert meant(4, column=16) == ("a[0]", "a")
    assert meant(4, column=18)[1] in {"a", "0"}


def test_the_receiver_is_found_by_what_is_underlined() -> None:
    assert meant(2, carets=(4, 10), message="object has no attribute") == ("a.name", "a")
    assert meant(2, carets=(13, 19)) == ("b.name", "b")


@pytest.mark.parametrize(
    ("source", "message", "expected"),
    [
        ("x = a.b(c.d)\n", "'NoneType' object has no attribute 'd'", ("c.d", "c")),
        ("x = len(a.b)\n", "object of type 'NoneType' has no len()", ("len(a.b)", "a.b")),
        ("x = a.b[0]\n", "'NoneType' object is not subscriptable", ("a.b[0]", "a.b")),
        ("x = a.b()\n", "'NoneType' object is not callable", ("a.b()", "a.b")),
        ("x = a.b in c\n", "argument of type 'NoneType' is not iterable", ("a.b in c", "c")),
        ("for x in a.b: 0\n", "'NoneType' object is not iterable", ("a.b", "a.b")),
        ("x, y = a.b\n", "cannot unpack non-iterable NoneType object", ("a.b", "a.b")),
        ("f(**a.b)\n", "argument after ** must be a mapping, not NoneType", ("f(**a.b)", "a.b")),
        ("x = -a.b\n", "bad operand type for unary -: 'NoneType'", ("-a.b", "a.b")),
        ("with a.b: 0\n", "'NoneType' object does not support the context manager protocol", ("a.b", "a.b")),
        ("x = f'{a.b:>3}'\n", "unsupported format string passed to NoneType.__format__", ("a.b", "a.b")),
        ("async def f():\n await a.b\n", "object NoneType can't be used in 'await' expression", ("await a.b", "a.b")),
    ],
)
def test_the_receiver_is_found_by_the_message(source: str, message: str, expected: tuple[str, str]) -> None:
    assert meant(source.count("\n"), source, message=message) == expected


def test_several_receivers_are_listed_rather_than_guessed() -> None:
    with pytest.raises(RefusedError, match=r"several receivers: `a`, `a\.name`, `b`.*--receiver"):
        meant(2)
    with pytest.raises(RefusedError, match="several receivers"):
        meant(2, message="something else", carets=(0, 1))


def test_one_receiver_needs_no_choice() -> None:
    assert meant(1, "x = a.b\n") == ("a.b", "a")


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (2, {"receiver": "c"}),
        (2, {"column": 90}),
        (99, {}),
        (2, {"receiver": "a b"}),
        (5, {}),
        (99, {"carets": (1, 2)}),
    ],
)
def test_a_receiver_that_is_not_there_is_not_found(line: int, options: dict[str, Any]) -> None:
    with pytest.raises(TargetNotFoundError):
        meant(line, **options)
