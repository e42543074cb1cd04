"""The underline stands below the guilty expression, whatever the line is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codemods.selfdebug.spans import Span, split_lines, text_at
from selfdebug.model import FaultLocation, Frame, Receiver
from selfdebug.reports.excerpts import excerpt_of_fault, excerpt_of_frame
from selfdebug.reports.samples import KEPT
from selfdebug.terminal import Paint, cells

PLAIN = Paint(False)


def fault(source: str, statement: Span, receiver: Span | None) -> FaultLocation:
    """A fault in a file of one statement."""
    lines = split_lines(source)
    code = text_at(lines, statement)
    receivers = (
        (Receiver(receiver, receiver, text_at(lines, receiver), "columns", "attribute", "x"),) if receiver else ()
    )
    sample = KEPT.attempts[0].diagnosis.location
    line = receiver.start_line if receiver else statement.start_line
    return replace(sample, line=line, statement=statement, statement_code=code, receivers=receivers)


@pytest.mark.parametrize(
    ("source", "statement", "receiver", "shown"),
    [
        ("a.b\n", Span(1, 0, 1, 3), Span(1, 0, 1, 1), ["a.b", "^"]),
        ("    x = user.name  # n\n", Span(1, 4, 1, 17), Span(1, 8, 1, 12), ["x = user.name", "    ^^^^"]),
        ("\tif 1:\tuser.name\n", Span(1, 1, 1, 16), Span(1, 7, 1, 11), ["if 1:    user.name", "         ^^^^"]),
        (
            "x = '日本' + user.name\n",
            Span(1, 0, 1, 20),
            Span(1, 11, 1, 15),
            ["x = '日本' + user.name", " " * 13 + "^^^^"],
        ),
        (
            "x = '\x1b' + user.name\n",
            Span(1, 0, 1, 19),
            Span(1, 10, 1, 14),
            ["x = '\\x1b' + user.name", " " * 13 + "^^^^"],
        ),
        (
            "x = 'e\u0301' + user.y\n",
            Span(1, 0, 1, 17),
            Span(1, 11, 1, 15),
            ["x = 'e\u0301' + user.y", " " * 10 + "^^^^"],
        ),
        (
            "    f(\r\n        a,\r\n        user.name,\r\n        b,\r\n        c,\r\n        d,\r\n    )\r\n",
            Span(1, 4, 7, 5),
            Span(3, 8, 3, 12),
            ["f(", "    a,", "    user.name,", "    ^^^^", "    b,", "    c,"],
        ),
        (
            "x = (user\n  .first).name\n",
            Span(1, 0, 2, 14),
            Span(1, 5, 2, 8),
            ["x = (user", "     ^^^^", "  .first).name"],
        ),
        ("x = 1\n", Span(1, 0, 1, 5), None, ["x = 1"]),
    ],
    ids=["start", "indented", "tabs", "wide", "escape", "combining", "long-crlf", "two-lines", "no-receiver"],
)
def test_the_receiver_is_underlined(source: str, statement: Span, receiver: Span | None, shown: list[str]) -> None:
    assert excerpt_of_fault(fault(source, statement, receiver), PLAIN) == shown


def test_a_fault_without_source_shows_nothing() -> None:
    assert excerpt_of_fault(replace(fault("x\n", Span(1, 0, 1, 1), None), statement_code=""), PLAIN) == []


def test_a_frame_is_underlined_only_where_its_line_is_whole() -> None:
    span = Span(3, 4, 3, 8)
    frame = Frame("a.py", 3, "f", "a.py", span=span, code="    user.name")
    assert excerpt_of_frame(frame, PLAIN) == ["user.name", "^^^^"]
    assert excerpt_of_frame(replace(frame, code="user.name"), PLAIN) == ["user.name"]
    assert excerpt_of_frame(replace(frame, code=None), PLAIN) == []
    assert excerpt_of_frame(replace(frame, line=None), PLAIN) == []


def test_an_underline_is_at_least_one_cell() -> None:
    assert excerpt_of_fault(fault("a.b\n", Span(1, 0, 1, 3), Span(1, 1, 1, 1)), PLAIN) == ["a.b", " ^"]


@pytest.mark.parametrize(
    ("source", "receiver", "shown"),
    [
        ("value = user.name + 'a long rest'", "user", ["value = user.name +…", "        ^^^^"]),
        ("value = 'a long start of it' + user.name + user.other", "user", ["…t' + user.name + u…", "      ^^^^"]),
        ("value = 'a long start of the line' + user.name", "user", ["…e line' + user.name", " " * 11 + "^^^^"]),
        ("値 = '長い長い長い長い長い' + user.name", "user", ["…い長い' + user.name", " " * 11 + "^^^^"]),
        ("a_receiver_with_a_long_name.name", "a_receiver_with_a_long_name", ["a_receiver_with_a_l…", "^" * 20]),
    ],
)
def test_a_long_line_is_moved_so_that_the_receiver_is_seen(source: str, receiver: str, shown: list[str]) -> None:
    start = source.index(receiver)
    place = fault(source, Span(1, 0, 1, len(source)), Span(1, start, 1, start + len(receiver)))
    assert excerpt_of_fault(place, Paint(False, 20)) == shown


def test_cells() -> None:
    assert [cells(text) for text in ("abc", "\t", "日本", "e\u0301", "\x1b", "\u200d")] == [3, 4, 4, 1, 4, 0]
