"""Objects made of constants as defaults: of the classes that were seen, or as the module or the test names them."""

from __future__ import annotations

import ast

import pytest
from tiny_repairs import repaired

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultLocation, Frame, Site
from selfdebug.stages.locate import locate
from selfdebug.stages.propose import Evidence, Expectations, LocatedSite, apply_candidate, propose
from selfdebug.stages.propose.constructed import instances_of, is_constructed, named_values, no_context, of_classes


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
        ("class A:\n    RED, UNKNOWN = 1, 2\n    NONE = 0", ["A"], ["A.NONE"]),
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
        ("OTHER", True),
        ("INNER", False),
        ("date.today", False),
        ("self.EMPTY", False),
        ("1 + 1", False),
    ],
)
def test_only_constants_make_an_object_that_is_known(code: str, expected: bool) -> None:
    head = "import b as Level\nfrom a import Decimal, timedelta, date, load\nclass A: INNER = 3\nMISSING = 1\n"
    head += "try:\n    from c import OTHER\nexcept ImportError:\n    OTHER = 2\n"
    assert is_constructed(ast.parse(code, mode="eval").body, ast.parse(head)) is expected


def test_a_constant_is_taken_for_the_literal_that_the_test_names() -> None:
    module = ast.parse("UNKNOWN = 'n/a'\nLIMIT = 3\nOTHER = 'x'\nMADE = f()\n")
    assert [default.code for default in named_values(module, ('"n/a"', "3"))] == ["UNKNOWN", "LIMIT"]


def test_a_sentinel_is_the_one_object_of_its_class() -> None:
    module = ast.parse("class Gap: pass\nGAP = Gap()\nNONE: Gap = Gap()\nOTHER = Gap(1)\nGAPS = [Gap()]\n")
    assert list(instances_of("m.Gap", module)) == ["GAP"]
    assert list(instances_of("m.Other", module)) == list(instances_of("int", module)) == []
    assert list(instances_of("object", ast.parse("NOTHING = object()"))) == ["NOTHING"]


@pytest.mark.parametrize(
    ("code", "test", "line"),
    [
        (
            "from datetime import datetime\ndef f(e):\n    return e.day.replace(second=0)\n",
            "assert f(N(day=datetime(2020, 1, 1))).year == 2020\nassert f(N(day=None)) == datetime.min",
            "    return (e.day if e.day is not None else datetime.min).replace(second=0)",
        ),
        (
            "from decimal import Decimal as D\ndef f(d, k):\n    if not k: return D(0)\n    d = d\n    return d[k]\n",
            "assert f({'a': 1}, 'a') == 1 and f({}, '') == 0\nassert isinstance(f({}, 'b'), D)",
            "    return d.get(k, D(0))",
        ),
        (
            "UNKNOWN = 'n/a'\ndef f(b):\n    return b.author.name\n",
            "assert f(N(author=N(name='x'))) == 'x'\nassert f(N(author=None)) == 'n/a'",
            "    return b.author.name if b.author is not None else UNKNOWN",
        ),
        (
            "class Gap: pass\nGAP = Gap()\ndef f(d):\n    x = d.get('x', GAP)\n    return len(x)\n",
            "assert f({'x': 'ab'}) == 2\nassert f({}) == 0",
            "    return len(x) if x is not GAP else 0",
        ),
    ],
    ids=["of a class", "returned elsewhere", "a constant", "a sentinel"],
)
def test_an_object_stands_in_for_what_is_missing(code: str, test: str, line: str) -> None:
    assert line in repaired(code, test).text.split("\n")


NONE_AWAITED = "async def f(x):\n    return await x\n"
WITHOUT = ExceptionRecord("TypeError", "object int can't be used in 'await' expression")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("import os\n", "import os\nimport inspect\n"),
        ("import inspect\n", "import inspect\n"),
        ("inspect = print\n", None),
        ("def g(inspect): pass\n", None),
    ],
    ids=["missing", "there", "another name", "a parameter"],
)
def test_what_a_guard_needs_is_imported(head: str, expected: str | None) -> None:
    source = Source.parse((head + NONE_AWAITED).encode())
    location = locate(Frame("m.py", 3, "f", "m.py"), WITHOUT, source)
    assert isinstance(location, FaultLocation)
    proposed = propose([LocatedSite(Site.CRASH, location, source)], Evidence(WITHOUT, (), Expectations()))
    candidate = next(each for each in proposed if (each.guard, each.test) == ("conditional-expression", "awaitable"))
    if expected is None:
        with pytest.raises(RefusedError, match="something else"):
            apply_candidate(candidate, source)
        return
    after = apply_candidate(candidate, source).after.decode()
    assert after == f"{expected}async def f(x):\n    return await x if inspect.isawaitable(x) else x\n"


def test_a_context_is_named_as_the_module_can_name_it() -> None:
    assert no_context({"contextlib"}).code == "contextlib.nullcontext()"
    assert no_context({"contextlib", "nullcontext"}).code == no_context(set()).code == "nullcontext()"
