"""What libcst would nest too deeply for the machine's stack is refused before it sees it, whatever it consists of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codemods.selfdebug.base import Parameters, RefusedError, Target, Test, apply
from codemods.selfdebug.dereferences import dereferences
from codemods.selfdebug.probe import probe
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span

NESTING: dict[str, Callable[[int], str]] = {
    "or": lambda n: " or ".join(["a"] * n),
    "and": lambda n: " and ".join(["a"] * n),
    "or of ands": lambda n: " or ".join(["a and b"] * n),
    "sum": lambda n: "+".join(["a"] * n),
    "power": lambda n: "**".join(["a"] * n),
    "attributes": lambda n: "a" + ".b" * n,
    "calls": lambda n: "a" + "()" * n,
    "calls of methods": lambda n: "a" + ".b()" * n,
    "subscripts": lambda n: "a" + "[0]" * n,
    "lists": lambda n: "[" * n + "]" * n,
    "dicts": lambda n: "{0: " * n + "0" + "}" * n,
    "arguments": lambda n: "f(" * n + ")" * n,
    "not": lambda n: "not " * n + "a",
    "minus": lambda n: "-" * n + "a",
    "strings": lambda n: "(" + "\n".join(["'a'"] * n) + ")",
    "strings with comments": lambda n: "(" + "  # more\n".join(['"a"'] * n) + ")",
    "f-strings": lambda n: " ".join(["f'{a}'"] * n),
    "strings of both kinds": lambda n: " ".join(["f'{a}' 'b'"] * n),
    "loops": lambda n: "[a " + "for a in b " * n + "]",
    "conditions": lambda n: "a if b else " * n + "c",
    "lambdas": lambda n: "lambda: " * n + "c",
}
FLAT: dict[str, Callable[[int], str]] = {
    "comparisons": lambda n: "<".join(["a"] * n),
    "a long list": lambda n: "[" + "'a', " * n + "]",
    "a long dict": lambda n: "{" + "'a': f'{b}', " * n + "}",
    "many arguments": lambda n: "f(" + "'a', " * n + ")",
    "many filters": lambda n: "[a for a in b " + "if a " * n + "]",
    "parts of an f-string": lambda n: "f'" + "{a}" * n + "'",
    "quotes in a string": lambda n: '"""' + "'it' " * n + '"""',
}


def converted(text: str) -> str:
    """The value of the last statement put into `str(...)`; raises RefusedError."""
    source = Source.parse(text.encode())
    span = source.span(source.tree.body[-1].value)  # type: ignore[attr-defined]  # an assignment
    parameters = Parameters(None, Test.NO_EXCEPTION, ("str",))
    return apply(source.data, Target(span, span), guards()["coercion"], parameters).replacement.decode()


@pytest.mark.parametrize("kind", NESTING)
def test_a_long_chain_is_refused_by_guards_and_probes_and_in_time(kind: str) -> None:
    text = f"x = {NESTING[kind](5_000)}\n"
    with pytest.raises(RefusedError):
        converted(text)
    with pytest.raises(RefusedError):
        probe(text.encode(), 1)
    with pytest.raises(RefusedError):
        dereferences((source := Source.parse(text.encode())), source.tree.body[0])


@pytest.mark.parametrize("kind", NESTING)
def test_a_chain_of_usual_length_is_not(kind: str) -> None:
    assert converted(f"x = {NESTING[kind](20)}\n")


@pytest.mark.parametrize("kind", FLAT)
def test_what_is_long_and_not_deep_is_edited(kind: str) -> None:
    assert converted(f"x = {FLAT[kind](500)}\n").startswith("str(")


def test_an_enormous_table_is_refused_at_once() -> None:
    text = "x = [" + "('a', 1), " * 10_000 + "]\n"
    with pytest.raises(RefusedError, match="too large"):
        converted(text)
    with pytest.raises(RefusedError, match="too large"):
        probe(text.encode(), 1)


@pytest.mark.parametrize("number", ["0x" + "f" * 5_000, "0b" + "1" * 20_000])
def test_a_number_that_python_would_not_show_is_refused(number: str) -> None:
    with pytest.raises(RefusedError, match="more digits"):
        Source.parse(f"x = {number}\n".encode())


@pytest.mark.parametrize("text", ["'0x" + "f" * 5_000 + "'", "0x" + "f" * 3_000, "0b" + "1" * 4_000])
def test_what_only_looks_like_such_a_number_is_read(text: str) -> None:
    assert Source.parse(f"x = {text}\n".encode()).tree.body


def test_the_body_of_a_compound_statement_is_not_shown_to_a_probe() -> None:
    deep = " or ".join(["a"] * 5_000)
    probed = probe(f"if x.y:\n    z = {deep}\n".encode(), Span(1, 0, 1, 7))
    assert {entry.code for entry in probed.expressions} == {"x", "x.y"}


def test_two_hundred_strings_side_by_side_are_refused() -> None:
    with pytest.raises(RefusedError, match="side by side"):
        converted("x = (\n" + "    'a'\n" * 200 + "    )\n")


def test_a_header_that_ends_in_a_continuation_is_refused_where_its_strings_cannot_be_counted() -> None:
    text = "if d.f([" + "'a', " * 200 + "]): \\\n    x = 1\n"
    target = Target(Span(1, 3, 1, 6), Span(1, 3, 1, 4))
    with pytest.raises(RefusedError, match="side by side"):
        apply(text.encode(), target, guards()["condition-prefix"], Parameters())
