"""Every use of a value in a statement, read off its concrete syntax tree."""

from __future__ import annotations

import ast

import pytest

from codemods.selfdebug.dereferences import Operation, dereferences
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at

O = Operation  # noqa: E741 - the table below is easier to read so

USES: list[tuple[str, list[tuple[Operation, str, str]]]] = [
    ("a.b.c = 1\n", [(O.ATTRIBUTE, "b", "a"), (O.ATTRIBUTE, "c", "a.b")]),
    ("x = a[i]\n", [(O.SUBSCRIPT, "i", "a"), (O.INDEX, "i", "i")]),
    ("x = a[1:n]\n", [(O.SUBSCRIPT, "1:n", "a")]),
    ("f(a, *b, k=c, **d)\n", [(O.CALL, "f", "f"), (O.ARGUMENT, "f", "a"), (O.STAR, "f", "b")]),
    ("f(a, *b, k=c, **d)\n", [(O.ARGUMENT, "f", "c"), (O.DOUBLE_STAR, "f", "d")]),
    ("sorted(xs, key=lambda x: x.a)\n", [(O.SORT_KEY, "sorted", "x.a")]),
    ("for x in a.b: pass\n", [(O.ITERATE, "for", "a.b")]),
    ("y = [x for x in a if x]\n", [(O.ITERATE, "for", "a")]),
    ("a, b = c\n", [(O.UNPACK, "=", "c")]),
    ("x = [*a]\n", [(O.STAR, "*", "a")]),
    ("x = {**a}\n", [(O.DOUBLE_STAR, "**", "a")]),
    ("x = a + b\n", [(O.OPERAND, "+", "a"), (O.OPERAND, "+", "b")]),
    ("x = '%s' % (a, b)\n", [(O.ARGUMENT, "%", "a"), (O.ARGUMENT, "%", "b")]),
    ("a += b\n", [(O.OPERAND, "+=", "a"), (O.OPERAND, "+=", "b")]),
    ("x = -a\n", [(O.OPERAND, "-", "a")]),
    (
        "x = a < b <= c\n",
        [(O.COMPARE, "<", "a"), (O.COMPARE, "<", "b"), (O.COMPARE, "<=", "b"), (O.COMPARE, "<=", "c")],
    ),
    ("x = a not in b\n", [(O.CONTAINS, "not in", "b")]),
    ("async def f():\n    await a\n", [(O.AWAIT, "await", "a")]),
    ("async def f():\n    async for x in a: pass\n", [(O.ASYNC_ITERATE, "for", "a")]),
    ("def f():\n    yield from a\n", [(O.ITERATE, "yield from", "a")]),
    ("with a, b as c: pass\n", [(O.CONTEXT, "with", "a"), (O.CONTEXT, "with", "b")]),
    ("x = f'{a:>3}{b}'\n", [(O.FORMAT, "format", "a")]),
    ("x = a\n", [(O.NAME, "a", "a")]),
    ("@a.b\nclass C(d.e, k=g.h): pass\n", [(O.ATTRIBUTE, "b", "a"), (O.ATTRIBUTE, "e", "d"), (O.ATTRIBUTE, "h", "g")]),
    ("def f(a=b.c): pass\n", [(O.ATTRIBUTE, "c", "b")]),
    ("match a.b:\n    case 1: pass\n", [(O.ATTRIBUTE, "b", "a")]),
]
NOT_USES = [
    ("x = not a\n", O.OPERAND, "a"),
    ("x = a is None\n", O.COMPARE, "a"),
    ("x = a is not b\n", O.COMPARE, "b"),
    ("x = f'{a}'\n", O.FORMAT, "a"),
    ("x = a\n", O.UNPACK, "a"),
    ("f(key=a)\n", O.SORT_KEY, "a"),
    ("for x in a:\n    b.c\n", O.ATTRIBUTE, "b"),
    ("if a:\n    pass\nelif b.c:\n    pass\n", O.ATTRIBUTE, "b"),
    ("try:\n    a.b\nexcept E:\n    c.d\n", O.ATTRIBUTE, "c"),
]


def innermost(source: Source) -> ast.stmt:
    """The statement that the table is about: the first, or the first of an async or generator function."""
    first = source.tree.body[0]
    is_frame = isinstance(first, ast.AsyncFunctionDef) or (isinstance(first, ast.FunctionDef) and not first.args.args)
    return first.body[0] if is_frame and isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef) else first


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("text", "expected"), USES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_use_is_found_with_its_receiver(text: str, expected: list[tuple[Operation, str, str]], end: str) -> None:
    source = Source.parse(text.replace("\n", end).encode())
    found = dereferences(source, innermost(source))
    uses = [(use.operation, use.name, use.code) for use in found]
    assert [use for use in expected if use not in uses] == []
    for use in found:
        assert text_at(source.lines, use.receiver) == use.code
        assert use.expression.contains(use.receiver) or use.operation is O.SORT_KEY


@pytest.mark.parametrize(("text", "operation", "code"), NOT_USES)
def test_what_none_can_serve_is_no_use_and_bodies_are_left_out(text: str, operation: Operation, code: str) -> None:
    source = Source.parse(text.encode())
    assert (operation, code) not in [(use.operation, use.code) for use in dereferences(source, innermost(source))]


def test_only_expressions_that_are_never_none_are_literals() -> None:
    source = Source.parse(b"f(1, 'a', [b], {c}, (d, e), lambda: 1, a < b, g, h.i, j(), None)\n")
    found = dereferences(source, source.tree.body[0])
    literal = {use.code: use.is_literal for use in found if use.operation is O.ARGUMENT}
    assert [code for code, is_literal in literal.items() if not is_literal] == ["g", "h.i", "j()", "None"]
