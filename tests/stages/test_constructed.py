"""Objects made of constants as defaults: of the classes that were seen, or as the module or the test names them."""

from __future__ import annotations

import ast

import pytest
from tiny_repairs import repaired

from selfdebug.stages.propose.constructed import is_constructed, named_values, of_classes


@pytest.mark.parametrize(
    ("module", "types", "expected"),
    [
        ("from decimal import Decimal\nx = Decimal(0) + Decimal(1)", ["Decimal"], ["Decimal(0)", "Decimal(0)"]),
        ("import decimal\nx = decimal.Decimal('1')", ["decimal.Decimal"], ["decimal.Decimal(0)"]),
        ("from datetime import datetime", ["datetime"], ["datetime.min"]),
        ("import datetime\nx = datetime.datetime.now()", ["datetime"], ["datetime.datetime.min"]),
        (
            "from a import Style\nx = Style.EMPTY, Style.RED, Style(1), Style('')",
            ["Style"],
            ["Style.EMPTY", "Style('')"],
        ),
        ("class A:\n    def __init__(self, x=1, *, y=2): pass", ["A"], ["A()"]),
        ("class A:\n    def __init__(self, x): pass", ["A"], []),
        ("class A: pass", ["A"], []),
        ("", ["Decimal", "str"], []),
        ("y = x.Decimal", ["Decimal"], []),
    ],
)
def test_the_module_tells_how_an_empty_object_is_made(module: str, types: list[str], expected: list[str]) -> None:
    assert sorted(default.code for default in of_classes(types, ast.parse(module))) == sorted(expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Decimal(0)", True),
        ("timedelta(days=1)", True),
        ("date.min", True),
        ("MISSING", True),
        ("Level.NONE", True),
        ("Decimal(x)", False),
        ("load(0)", False),
        ("OTHER", False),
        ("date.today", False),
        ("self.EMPTY", False),
        ("1 + 1", False),
    ],
)
def test_only_constants_make_an_object_that_is_known(code: str, expected: bool) -> None:
    head = (
        "import b as Level\nfrom a import Decimal, timedelta, date, load\nclass A: pass\nMISSING = 1\nif A: OTHER = 2\n"
    )
    assert is_constructed(ast.parse(code, mode="eval").body, ast.parse(head)) is expected


def test_a_constant_is_taken_for_the_literal_that_the_test_names() -> None:
    module = ast.parse("UNKNOWN = 'n/a'\nLIMIT = 3\nOTHER = 'x'\nMADE = f()\n")
    assert [default.code for default in named_values(module, ('"n/a"', "3"))] == ["UNKNOWN", "LIMIT"]


@pytest.mark.parametrize(
    ("code", "test", "line"),
    [
        (
            "from datetime import datetime\ndef f(e):\n    return e.day.replace(second=0)\n",
            "assert f(N(day=datetime(2020, 1, 1))).year == 2020\nassert f(N(day=None)) == datetime.min",
            "    return (e.day if e.day is not None else datetime.min).replace(second=0)",
        ),
        (
            "from decimal import Decimal as D\ndef f(d, k):\n    if not k: return D(0)\n    d = d or {}\n    return d[k]\n",
            "assert f({'a': 1}, 'a') == 1 and f({}, '') == 0\nassert isinstance(f({}, 'b'), D)",
            "    return d.get(k, D(0))",
        ),
        (
            "UNKNOWN = 'n/a'\ndef f(b):\n    return b.author.name\n",
            "assert f(N(author=N(name='x'))) == 'x'\nassert f(N(author=None)) == 'n/a'",
            "    return b.author.name if b.author is not None else UNKNOWN",
        ),
    ],
    ids=["of a class", "returned elsewhere", "a constant"],
)
def test_an_object_stands_in_for_what_is_missing(code: str, test: str, line: str) -> None:
    assert line in repaired(code, test).text.split("\n")
