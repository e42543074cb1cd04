"""What tells that a None should have become a default where it was handed on, and how that is ranked."""

from __future__ import annotations

import pytest
from tiny_repairs import crash_site

from selfdebug.model import ExceptionRecord, Link, Site
from selfdebug.stages.propose import Evidence, Expectations, apply_candidate, birth_sites, propose
from selfdebug.stages.propose.records import Sign

NO_MAPPING = ExceptionRecord("TypeError", "argument after ** must be a mapping, not NoneType")


def passed_on(line: int) -> Link:
    return Link("m.py", line, 0, "f", "...", "None", "attribute", "observed", "...")


KEPT = (
    "class Maker:\n"
    "    def __init__(self, o=None, p=None, q=None, r=None):\n"
    "        self.o = o\n"
    "        self.p: dict[str, int] = p\n"
    "        self.q: dict[str, int] | None = q\n"
    "        self.r = r\n"
    "        self.s = o or r\n"
    "    def make(self):\n        return dict(**self.o), self.r.x + self.s\n"
    "    def both(self):\n        return [*self.o] if self.r else self.r()\n"
    "    def given(self) -> 'dict':\n        return self.q\n"
    "    def maybe(self) -> 'dict | None':\n        return self.q\n"
    "def build(a=None, b=None, c=2):\n"
    "    if b is None:\n        b = {}\n"
    "    d = a\n    e = b\n    f = c\n    return d, e, f\n"
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (3, {Sign.TAKEN_FOR_GRANTED}),
        (4, {Sign.DECLARED, Sign.LIKE_OTHERS}),
        (5, {Sign.LIKE_OTHERS}),
        (6, {Sign.LIKE_OTHERS}),
        (7, set()),
        (13, {Sign.DECLARED}),
        (15, set()),
        (19, {Sign.LIKE_OTHERS}),
        (20, set()),
        (21, set()),
    ],
)
def test_signs_tell_where_a_none_should_not_have_been_handed_on(line: int, expected: set[Sign]) -> None:
    place = crash_site(KEPT, 9, NO_MAPPING)
    chain = (passed_on(line),)
    (birth,) = birth_sites(chain, place.location, lambda _: place.source)
    assert set(birth.signs) == expected


@pytest.mark.parametrize(("head", "expected"), [("D_DEFAULT = 1", [Sign.HAS_DEFAULT]), ("DEFAULT = D = 1", [])])
def test_a_value_whose_default_has_a_name_should_have_had_it(head: str, expected: list[Sign]) -> None:
    text = f"{head}\nclass A:\n    def __init__(self, d):\n        self.d = d\n    def f(self): return dict(**self.d)\n"
    place = crash_site(text, 5, NO_MAPPING)
    (birth,) = birth_sites((passed_on(4),), place.location, lambda _: place.source)
    assert list(birth.signs) == expected


def test_a_default_for_a_value_that_is_declared_comes_before_one_at_the_crash() -> None:
    text = (
        "class A:\n    def __init__(self, o=None):\n        self.o: dict = o\n"
        "    def make(self):\n        return dict(**self.o)\n"
    )
    place = crash_site(text, 5, NO_MAPPING)
    births = birth_sites((passed_on(3),), place.location, lambda _: place.source)
    evidence = Evidence(NO_MAPPING, (), Expectations())
    first = min(propose([place, *births], evidence), key=lambda candidate: candidate.guard != "or-default")
    assert (first.site, first.default) == (Site.ORIGIN, "{}")
    assert apply_candidate(first, place.source).after.decode() == text.replace("dict = o", "dict = o or {}")
    assert "declared without None" in first.reason
