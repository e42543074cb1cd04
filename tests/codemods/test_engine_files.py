"""Files of every kind: encodings, line ends, sizes, targets that are not there; and the last check of an edit."""

from __future__ import annotations

import pytest

from codemods.selfdebug.base import Guard, Parameters, RefusedError, Target, TargetNotFoundError, apply, marked
from codemods.selfdebug.base import Test as Condition
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span
from codemods.selfdebug.units import Unit, line_unit
from codemods.selfdebug.verify import check

NONE = Parameters("None")


@pytest.fixture(scope="module")
def guard() -> Guard:
    return guards()["or-default"]


def edited(source: bytes, guard: Guard, line: int, column: int, parameters: Parameters = NONE) -> bytes:
    """The file with the guard at `x.y` whose `x` stands at the place."""
    target = Target(Span(line, column, line, column + 3), Span(line, column, line, column + 1))
    return apply(source, target, guard, parameters).apply_to(source)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            b"\xef\xbb\xbf# -*- coding: utf-8 -*-\na = x.y\n",
            b"\xef\xbb\xbf# -*- coding: utf-8 -*-\na = (x or None).y\n",
        ),
        (b"# coding: latin-1\na = x.y, '\xe9'", b"# coding: latin-1\na = (x or None).y, '\xe9'"),
        ("# \u65e5\u672c\na = x.y # \u65e5\n".encode(), "# \u65e5\u672c\na = (x or None).y # \u65e5\n".encode()),
        (b"\x0c\na = x.y \t # c\r\n", b"\x0c\na = (x or None).y \t # c\r\n"),
        (b"\na = x.y ;", b"\na = (x or None).y ;"),
    ],
)
def test_bytes_around_stay(before: bytes, after: bytes, guard: Guard) -> None:
    assert edited(before, guard, 2, 4) == after


@pytest.mark.parametrize(
    "before",
    [
        b"# coding: nonsense\na = x.y\n",
        b"# coding: rot13\na = x.y\n",
        b"# coding: utf-7\na = x.y # +AGE-\n",
        b"#\na = x.y # \xff\n",
        b"#\na = x.y\rb = 1\n",
        b"#\na = x.y\n)\n",
        b"#\na = x.y\n\0",
        b"#\na = x.y, " + b"-" * 100_000 + b"1\n",
        b"#\na = x.y, " + b"+".join([b"1"] * 20_000) + b"\n",
        b"#\na = x.y, " + b"'a' " * 20_000 + b"\n",
        b"#\na = x.y, '" + b"a" * 400_000 + b"'\n",
        b"#\na = x.y, [" + b"[" * 180 + b"]" * 180 + b"]\n",
    ],
    ids=lambda before: repr(before[:24]),
)
def test_what_cannot_be_edited_is_refused(before: bytes, guard: Guard) -> None:
    with pytest.raises(RefusedError):
        edited(before, guard, 2, 4)


def test_a_default_is_written_in_the_encoding_of_the_file(guard: Guard) -> None:
    before = b"# coding: latin-1\na = x.y  # \xe4\n"
    assert edited(before, guard, 2, 4, Parameters("'\xe9'")) == before.replace(b"x.y", b"(x or '\xe9').y")


def test_a_default_that_the_encoding_lacks_is_refused(guard: Guard) -> None:
    with pytest.raises(RefusedError, match="cannot be written in"):
        edited(b"# coding: latin-1\na = x.y\n", guard, 2, 4, Parameters("'\u65e5'"))


def test_an_encoding_with_states_is_refused_where_bytes_elsewhere_would_change() -> None:
    source = "# coding: iso2022_jp\na = x.\u65e5\u672c\n".encode("iso2022_jp")
    target = Target(Span(2, 4, 2, 8), Span(2, 4, 2, 5))
    with pytest.raises(RefusedError, match="bytes elsewhere"):
        apply(source, target, guards()["replace-name"], Parameters("\u65e5\u6708", Condition.NO_EXCEPTION))


@pytest.mark.parametrize(
    "span",
    [
        Span(9, 0, 9, 1), Span(0, 0, 0, 1), Span(1, -1, 1, 1), Span(3, 0, 3, 0), Span(1, 1, 1, 2), Span(1, 6, 1, 7),
        Span(2, 2, 2, 3), Span(2, 20, 2, 22),
    ],
)  # fmt: skip
def test_a_target_that_is_not_there(span: Span, guard: Guard) -> None:
    with pytest.raises(TargetNotFoundError):
        apply(b"a = x.y\nf(k=1, *[]); import os\n\n", Target(span, span), guard, NONE)


def test_a_dereference_elsewhere_is_not_found(guard: Guard) -> None:
    with pytest.raises(TargetNotFoundError, match="does not contain"):
        apply(b"a = x.y, z\n", Target(Span(1, 9, 1, 10), Span(1, 4, 1, 5)), guard, NONE)


def test_a_span_beyond_the_file_is_no_dereference(guard: Guard) -> None:
    edit = apply(b"a = x.y\n", Target(Span(1, 0, 5, 10), Span(1, 4, 1, 5)), guard, NONE)
    assert edit.apply_to(b"a = x.y\n") == b"a = (x or None).y\n"


def test_parameters_and_keywords_are_no_expressions(guard: Guard) -> None:
    source = b"def f(a, b=x): pass\n"
    assert edited(b"def f(a, b=x.y): pass\n", guard, 1, 11) == b"def f(a, b=(x or None).y): pass\n"
    for column in (4, 6, 9):
        with pytest.raises(TargetNotFoundError):
            apply(source, Target(Span(1, column, 1, column + 1), Span(1, column, 1, column + 1)), guard, NONE)


def test_many_candidates_share_one_parse(guard: Guard) -> None:
    source, target = marked("def f(user):\n    return ‹«user».name›\n")
    parsed = Source.parse(source)
    edits = {parsed.apply(target, guard, Parameters(default)).replacement for default in ("A", "B", "C")}
    assert len(edits) == 3
    assert parsed.site(target) is parsed.site(target)


def unit_of(text: str, line: int) -> tuple[Source, Unit]:
    source = Source.parse(text.encode())
    span = Span(line, 4, line, 5)
    return source, line_unit(source, source.statement_at(span), whole=True)


def test_more_than_the_statement_may_not_change() -> None:
    source, unit = unit_of("if a:\n    x = 1\n    y = 2\n", 2)
    with pytest.raises(RefusedError, match="more than the statement"):
        check(source, unit, "    x = 1\nif b:\n")


def test_the_lines_put_around_a_unit_may_not_change() -> None:
    _, unit = unit_of("if a:\n    x = 1\n", 2)
    with pytest.raises(RefusedError, match="lines around"):
        unit.excerpt.code_of(unit.module.with_changes(body=[]))


def test_a_span_covers_its_lines() -> None:
    assert [line for line in range(1, 6) if Span(2, 9, 4, 0).covers_line(line)] == [2, 3, 4]


def test_a_receiver_must_be_marked() -> None:
    with pytest.raises(ValueError, match="no receiver"):
        marked("x = 1\n")


def test_line_ends_of_a_file_without_any() -> None:
    source, target = marked("‹«a».b›()")
    assert apply(source, target, guards()["wrap-statement"], Parameters()).apply_to(source) == (
        b"if a is not None:\n    a.b()"
    )
    assert Source.parse(b"a\r\nb").newline(2) == "\r\n"
