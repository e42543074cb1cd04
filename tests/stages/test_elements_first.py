"""Elements that are asked about before any of them is used."""

from __future__ import annotations

import pytest
from tiny_repairs import repaired

BOX = "class Box:\n    def __init__(self, size):\n        self.size = size\n"
RAISES = "def raises(kind, g, *a):\n    try: g(*a)\n    except kind: return True\n"


@pytest.mark.parametrize(
    ("code", "test", "line"),
    [
        (
            "def f(ps):\n    if not ps:\n        return None\n    return '/'.join(ps)\n",
            "assert f(['a', 'b']) == 'a/b'\nassert f([]) is None\nassert f(['a', 3]) is None",
            "    if not ps or any(not isinstance(item, str) for item in ps):",
        ),
        (
            "def f(values):\n    return sum(values) / len(values)\n",
            "assert f([1, 3]) == 2\nassert f([1, None]) is None",
            "    if any(value is None for value in values):",
        ),
        (
            f"{BOX}def f(boxes):\n    return [box.size for box in boxes]\n",
            "assert f([Box(1)]) == [1]\nassert f([Box(1), 'x']) == []",
            "    if any(not isinstance(box, Box) for box in boxes):",
        ),
        (
            "def f(us):\n    return [u.m.lower() for u in us]\n",
            f"assert f([N(m='A')]) == ['a']\n{RAISES}assert raises(ValueError, f, [N(m='A'), N(m=None)])",
            "    if any(u.m is None for u in us):",
        ),
    ],
    ids=["widened", "of a sum", "of another class", "an exception"],
)
def test_one_bad_element_decides_for_all(code: str, test: str, line: str) -> None:
    assert line in repaired(code, test).text.split("\n")


def test_what_gives_its_elements_once_is_not_gone_through_before() -> None:
    code = "def f(values):\n    return sum(values) + 0\n"
    test = "assert f(iter([1, 3])) == 4\nassert f(x for x in [1, None]) is None"
    with pytest.raises(AssertionError, match=r"none of 1 candidates passes") as tried:
        repaired(code, test)
    assert "any(" not in str(tried.value)
