"""Several places of a function that crash in the same way are changed in one edit."""

from __future__ import annotations

import pytest
from tiny_repairs import crash_site, repaired

from codemods.selfdebug.base import RefusedError
from selfdebug.model import ExceptionRecord
from selfdebug.stages.propose import Evidence, Expectations, apply_candidate, propose
from selfdebug.stages.propose.together import spots_like

NO_NAME = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'name'")


def lines_of_spots(text: str, line: int, error: ExceptionRecord = NO_NAME) -> list[int]:
    place = crash_site(text, line, error)
    return [spot.expression.start_line for spot in spots_like(place, place.location.receivers[0])]


def test_two_attributes_of_one_none_get_their_defaults_together() -> None:
    code = "def f(u):\n    first = u.a\n    second = u.b  # both\n    return first + second\n"
    found = repaired(code, "assert f(N(a=1, b=2)) == 3\nassert f(None) == 0")
    assert found.text == (
        "def f(u):\n    first = u.a if u is not None else 0\n    second = u.b if u is not None else 0  # both\n"
        "    return first + second\n"
    )
    assert [spot.expression.start_line for spot in found.candidate.also] == [3]


def test_a_place_behind_another_in_its_line_is_found_where_the_edit_has_moved_it() -> None:
    text = "def f(d):\r\n\treturn d['k'] + d['k'] * 2\r\n"
    error = ExceptionRecord("KeyError", "'k'")
    place = crash_site(text, 2, error)
    proposed = propose([place], Evidence(error, (), Expectations(("0",))))
    both = next(one for one in proposed if one.also and one.guard == "lookup-default" and one.default == "0")
    after = apply_candidate(both, place.source).after
    assert after == b"def f(d):\r\n\treturn d.get('k', 0) + d.get('k', 0) * 2\r\n"


NUMBER = ExceptionRecord("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'")


@pytest.mark.parametrize(
    ("text", "guard", "expected", "error"),
    [
        ("(u.name,\n\tu.mail)", "conditional-outer", "((u.name,\n\tu.mail) if u is not None else 0)", NO_NAME),
        ("u.name < u.mail", "condition-or", "u is None or u.name < u.mail", NO_NAME),
        ("u.name(u.mail)", "conditional-expression", "u.name(u.mail) if u is not None else 0", NO_NAME),
        ("(u.name < 1) + u.mail", "condition-or", "(u is None or u.name < 1) + u.mail", NO_NAME),
        ("'ä', (u + 1) * (u + 2), u + 3", "or-default", "'ä', ((u or 0) + 1) * ((u or 0) + 2), (u or 0) + 3", NUMBER),
        (
            "u.name or (u.name, u.mail)",
            "conditional-expression",
            "(u.name if u is not None else 0) or (u.name if u is not None else 0, u.mail if u is not None else 0)",
            NO_NAME,
        ),
    ],
    ids=["enclosed", "in front of both", "inside the guarded", "no condition", "operands", "again and again"],
)
def test_places_of_one_statement_keep_their_own_guards(
    text: str, guard: str, expected: str, error: ExceptionRecord
) -> None:
    place = crash_site(f"\ufeffdef f(u):\r\n\treturn {text}\r\n", 2, error)
    proposed = propose([place], Evidence(error, (), Expectations(("0",))))
    both = next(one for one in proposed if one.also and one.guard == guard and one.default in ("0", None))
    after = apply_candidate(both, place.source).after
    assert after.decode() == f"\ufeffdef f(u):\r\n\treturn {expected}\r\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(u):\n    a = u.name\n    b = u.mail\n    c = v.mail\n    g(u)\n", [3]),
        ("def f(u):\n    a = u.name\n    u = find()\n    b = u.mail\n", []),
        ("def f(u):\n    a = u.name\n    if a:\n        for x in u.all:\n            x += u[0]\n", [4, 5]),
        ("def f(u):\n    a = u.name\n    def g():\n        return u.mail\n    class A:\n        x = u.mail\n", []),
        ("def f(u):\n    b = u.mail\n    a = u.name\n", []),
        ("def f(u):\n    a = u.x().name\n    b = u.x().mail\n", []),
        ("def f(u):\n    a = u.x.name\n    b = u.x.mail\n", [3]),
        ("def f(u):\n    a = u.x.name\n    u.x = 3\n    b = u.x.mail\n", []),
    ],
    ids=["a sibling", "stored", "below", "other scopes", "before", "a call", "an attribute", "a stored attribute"],
)
def test_only_later_uses_of_the_same_value_in_the_same_function_are_alike(text: str, expected: list[int]) -> None:
    line = next(number for number, each in enumerate(text.splitlines(), 1) if ".name" in each)
    assert lines_of_spots(text, line) == expected


def test_of_other_faults_only_the_same_look_up_is_alike() -> None:
    text = "def f(d):\n    a = d['k']\n    b = d['j']\n    return d['k']\n"
    assert lines_of_spots(text, 2, ExceptionRecord("KeyError", "'k'")) == [4]


def test_outside_functions_there_is_no_other_place() -> None:
    assert lines_of_spots("a = u.name\nb = u.mail\n", 1) == []


def test_a_place_that_is_guarded_already_stays_as_it_is() -> None:
    text = "def f(u):\n    a = u.name\n    b = u.mail if u is not None else 1\n    c = u.tel\n    return a, b, c\n"
    place = crash_site(text, 2, NO_NAME)
    evidence = Evidence(NO_NAME, (), Expectations())
    together = next(
        candidate
        for candidate in propose([place], evidence)
        if candidate.also and candidate.guard == "conditional-expression" and candidate.default == "None"
    )
    assert apply_candidate(together, place.source).after.decode() == (
        "def f(u):\n    a = u.name if u is not None else None\n    b = u.mail if u is not None else 1\n"
        "    c = u.tel if u is not None else None\n    return a, b, c\n"
    )
    guarded = "def f(u):\n    if u is None: return\n    a = u.name\n    b = u.mail\n"
    place = crash_site(guarded, 3, NO_NAME)
    for candidate in propose([place], evidence):
        if candidate.test == "not-none":
            with pytest.raises(RefusedError):
                apply_candidate(candidate, place.source)
