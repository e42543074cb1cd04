"""What a probe looks like, which expressions it records, where it refuses, and that it comes out byte for byte."""

import ast
from pathlib import Path

import pytest

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe import Probed, probe
from codemods.selfdebug.probe_removal import remove
from codemods.selfdebug.spans import Span


def recorded(source: str, at: int | Span = 1) -> list[str]:
    """The source of the recorded expressions, in order."""
    return [expression.code for expression in probe(source.encode(), at).expressions]


def test_the_statement_stands_in_a_try_that_raises_again() -> None:
    source = b"def name(user):\n    return user.name.upper()  # why\n"
    assert probe(source, 2, first_id=7) == Probed(
        b"def name(user):\n"
        b"    try:\n"
        b"        return __selfdebug_probe__(11, __selfdebug_probe__(10, "
        b"__selfdebug_probe__(9, __selfdebug_probe__(8, user).name).upper)())  # why\n"
        b"    except BaseException:\n"
        b"        __selfdebug_caught__(7)\n"
        b"        raise\n",
        7,
        probe(source, 2, first_id=7).expressions,
        Span(2, 4, 2, 28),
    )


def test_expressions_have_their_number_their_place_and_their_code() -> None:
    found = probe("x = 'ä', b [ 0 ]\n".encode(), 1, first_id=4).expressions
    assert [(entry.id, entry.span, entry.code) for entry in found] == [
        (5, Span(1, 9, 1, 10), "b"),
        (6, Span(1, 9, 1, 16), "b [ 0 ]"),
    ]


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        ("a.b = c.d\n", 1, ["c", "c.d", "a"]),
        ("a[b].c, (d, *e.f) = g\n", 1, ["g", "a", "b", "a[b]", "e"]),
        ("a.b += c\n", 1, ["a", "c"]),
        ("a.b: C = d\n", 1, ["d", "a"]),
        ("del a.b, c[d]\n", 1, ["a", "c", "d"]),
        ("x = a if b else c\n", 1, ["b", "a", "c", "a if b else c"]),
        ("x = a or b or c and d\n", 1, ["a", "b", "c", "d", "c and d", "a or b or c and d"]),
        ("x = (a or b) or c\n", 1, ["a", "b", "a or b", "c", "(a or b) or c"]),
        ("f(*a, k=b, **c)\n", 1, ["f", "a", "b", "c", "f(*a, k=b, **c)"]),
        ("x = [a.b for a in c if d]\n", 1, ["c", "d", "a", "a.b", "[a.b for a in c if d]"]),
        ("x = {a: b for c.d in e}\n", 1, ["e", "c", "a", "b", "{a: b for c.d in e}"]),
        ("f(a for a in b)\n", 1, ["f", "b", "a", "f(a for a in b)"]),
        ("x = (a for a in b)\n", 1, ["b", "a", "a for a in b"]),
        ("x = lambda a, b=c: d\n", 1, ["c", "d"]),
        ("x = a[b:c, d, ...]\n", 1, ["a", "b", "c", "d", "a[b:c, d, ...]"]),
        ("x = f'{a!r:>{b}} {c=}' 'd' f'{e}'\n", 1, ["a", "b", "e", "f'{a!r:>{b}} {c=}' 'd' f'{e}'"]),
        ("x = 'a' 'b', 1, -1, 2j, ..., None, True, __debug__\n", 1, []),
        ("x = -a, not b\n", 1, ["a", "-a", "b", "not b"]),
        ("x = (a, b), [c]\n", 1, ["a", "b", "a, b", "c", "[c]"]),
        ("x = super().f, locals(), eval('1'), __class__\n", 1, ["super()", "super().f", "locals()", "eval('1')"]),
        ("if (a := b):\n    c\n", 1, ["b", "a := b"]),
        ("def f():\n    return[a]\n", 2, ["a"]),
        ("def f():\n    x = yield a\n    y = (yield b)\n", 2, ["a"]),
        ("def f():\n    x = yield a\n    y = (yield b)\n", 3, ["b", "yield b"]),
        ("async def f():\n    return await a\n", 2, ["a", "await a"]),
        ("for a.b in c:\n    d\n", 1, ["c", "a"]),
        ("while a: b.c\n", 1, ["a", "b", "b.c"]),
        ("with a as b.c, d:\n    e\n", 1, ["a", "b", "d"]),
        ("if a:\n    b\nelif c.d:\n    e\nelse:\n    f\n", 3, ["a", "c", "c.d"]),
        ("if a: b\nelse: c\n", 2, ["a", "c"]),
        ("try:\n    a\nexcept b.c as d:\n    e\n", 3, ["b", "b.c"]),
        ("try:\n    a\nexcept* b.c:\n    e\n", 3, ["b", "b.c"]),
        ("match a:\n    case b.c if d: e\n    case f: g\n", 1, ["a", "d"]),
        ("match a:\n    case b.c if d: e\n    case f: g\n", 3, ["a", "d", "g"]),
        ("@a.b\ndef f(x: c = d, *, y=e) -> g:\n    h\n", 2, ["a", "a.b", "d", "e"]),
        ("@a\nclass B(c, *d, k=e):\n    f\n", 1, ["a", "c", "d", "e"]),
        ("assert a.b, c\n", 1, ["a", "a.b", "c"]),
        ("raise a(b) from c\n", 1, ["a", "b", "a(b)", "c"]),
        ("import a.b\n", 1, []),
        ("from a import b\n", 1, []),
        ("a.b; c.d\n", 1, ["a", "a.b", "c", "c.d"]),
        ("global a; a = b\n", 1, ["b"]),
    ],
)
def test_recorded_is_what_is_loaded(source: str, line: int, expected: list[str]) -> None:
    assert recorded(source, line) == expected


def test_a_span_chooses_the_statement_of_a_line() -> None:
    assert recorded("a.b; c.d\n", Span(1, 5, 1, 8)) == ["c", "c.d"]


def test_a_span_inside_a_statement_is_enough() -> None:
    assert recorded("x = f(\n    a.b,\n)\n", Span(2, 4, 2, 5)) == ["f", "a", "a.b", "f(\n    a.b,\n)"]


def test_statements_that_share_a_line_go_together() -> None:
    source = b"x = '''\n'''; y = (\n  a.b)\nc\n"
    assert probe(source, 3).statement == Span(1, 0, 3, 6)
    assert recorded(source.decode(), 3) == ["a", "a.b"]


def test_the_body_of_a_compound_statement_is_left_alone() -> None:
    probed = probe(b"if a:\n\n  # b\n  b.c\n", 1)
    assert probed.source.splitlines()[:4] == [b"try:", b"    if __selfdebug_probe__(2, a):", b"", b"  # b"]
    assert b"      b.c\n" in probed.source


def test_a_function_on_one_line_is_caught_where_it_runs() -> None:
    source = b"class A:\n\tdef f(self, x=y): return self.z\n"
    probed = probe(source, 2)
    assert b"\tdef f(self, x=__selfdebug_probe__(2, y)): \n\t\ttry: return __selfdebug_probe__(4, " in probed.source
    assert remove(probed.source) == source


@pytest.mark.parametrize("source", [b"def f(x=y): 'doc'; z.a\n", b"def f(x=y): pass\n"])
def test_a_docstring_or_empty_body_on_one_line_stays_there(source: bytes) -> None:
    probed = probe(source, 1)
    assert probed.source.startswith(b"try:\n    def f(x=__selfdebug_probe__(2, y)): ")
    assert remove(probed.source) == source


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        (b'"""Doc."""\n', 1, "evaluates nothing"),
        (b"def f():\n    'doc'; x = y\n", 2, "docstring"),
        (b"from __future__ import annotations\n", 1, "__future__"),
        (b"'doc'; from __future__ import annotations\n", 1, "__future__"),
        (b"for x in y:\n    continue\n", 2, "evaluates nothing"),
        (b"def f():\n    global x\n", 2, "evaluates nothing"),
        (b"try:\n    a\nexcept b :\n    c\n", 3, "byte for byte"),
        (b"x = (\n", 1, "does not parse"),
        (b"x = 1\ry = 2\r", 1, "carriage return"),
        (b"return x\n", 1, "does not compile"),
        (b"x = " + b"-" * 400 + b"y\n", 1, "deeply nested"),
        (b"x = __selfdebug_probe__(1, a).b\n", 1, "taken out again"),
        (b"# coding: ascii\nx = '\xff'\n", 2, "decoded"),
    ],
)
def test_refusals_say_why(source: bytes, line: int, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        probe(source, line)


@pytest.mark.parametrize(
    "text",
    ["x = y" + " or y" * 30_000, "x = " + "[" * 90 + "y" + "]" * 90, "x = y" + ".a" * 900, "x = a, " + "'a' " * 9000],
    ids=["or", "lists", "attributes", "strings"],
)
def test_nesting_without_bounds_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match=r"nested|parse"):
        probe(f"{text}\n".encode(), 1)


def test_nesting_up_to_the_bounds_is_probed_or_refused() -> None:
    """Wherever on the way the stack ends, in libcst or in the check of the result, it is a refusal."""
    refused = 0
    for depth in range(40, 100, 4):
        source = b"x = " + b"f(" * depth + b"y" + b")" * depth + b"\n"
        try:
            assert remove(probe(source, 1).source) == source
        except RefusedError:
            refused += 1
    assert 0 < refused < 15


def test_long_tables_are_probed() -> None:
    source = b"x = {\n" + b"    'a': f(b),\n" * 150 + b"}\n"
    assert remove(probe(source, 1).source) == source


@pytest.mark.parametrize("line", [0, 2, 3, 5, 99])
def test_a_line_without_statement_is_said_to_be_one(line: int) -> None:
    with pytest.raises(TargetNotFoundError):
        probe(b"if a:\n\n    # comment\n    b\n#\n", line)


def test_a_statement_whose_last_line_is_joined_to_an_empty_one_goes_with_its_block() -> None:
    source = b"if a:\n    b.c \\\n\n    d\n"
    assert probe(source, 2).statement == Span(1, 0, 4, 5)


def test_a_statement_behind_a_joined_empty_line_is_no_unit() -> None:
    with pytest.raises(TargetNotFoundError):
        probe(b"\\\nx.y\n", 2)


LAYOUTS = {
    "crlf": b"def f(a):\r\n    b = 1\r\n    return a.b  # c\r\n",
    "mixed ends": b"def f(a):\r\n    b = 1\n    return a.b\r\n# end\n",
    "tabs": b"class A:\n\tdef f(self, a):\n\t\treturn (a.b,\n  a.c)\n",
    "tabs and blanks": b"if a:\n\tif b:\n\t    return_ = a.b\n\tc\n",
    "tabs in a file that begins at the margin": b"a.b\nif c:\n\td\n",
    "no end": b"x = a.b",
    "no end, in a block": b"if x:\n    y = a.b;",
    "no end, crlf before": b"import a\r\nx = a.b",
    "bom": b"\xef\xbb\xbfx = a.b\n",
    "latin-1": "# -*- coding: latin-1 -*-\nx = a.b('ä')  # ü\n".encode("latin-1"),
    "form feed": b"\x0cx = a.b\n\x0c\ndef f():\n  \x0c  y = a.b\n\x0c",
    "less indented": b"if x:\n        y = a.b('''\ntext\n  ''',\n  c, # d\n\n# e\n   d)\n",
    "comments around": b"# a\n\nx = a.b # b\n    # c\n\n\n",
    "compound": b"for x in a.b:  # a\n\n    # b\n    y = '''\nz\n'''\n# c\n    for z in y: 0\nelse: 1  # d\n# e\n",
    "nested": b"class A:\n  if x:\n   try: y\n   except a.b: z\n   else:\n    @c\n    def f(): pass\n  w\n",
    "semicolons": b"if x:\n    a.b; c.d ;  # e\n",
    "unicode": "x = {'ä': a.b, \"\U0001f600\": ä.ö}  # é\n".encode(),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_removing_gives_back_the_bytes(name: str) -> None:
    source = LAYOUTS[name]
    probed = 0
    for line in range(1, source.count(b"\n") + 2):
        try:
            changed = probe(source, line).source
        except (RefusedError, TargetNotFoundError):
            continue
        probed += 1
        assert changed != source
        assert remove(changed) == source
    assert probed


def test_probes_in_probes_come_out_together() -> None:
    source = b"for x in y.z:\n\tif x.a:\n\t\tdef f(): return x.b\n\t\tx.c\n"
    inner = probe(source, 4, 1).source
    assert remove(probe(inner, 1, 100).source) == source
    outer = probe(source, 1, 1)
    both = probe(outer.source, 4, 100).source
    assert both.count(b"__selfdebug_caught__") == 2
    assert remove(both) == source


def test_removing_leaves_a_file_without_probes_alone() -> None:
    source = b"# __selfdebug_caught__\ntry:\n    a\nexcept BaseException:\n    other(1)\n    raise\n"
    assert remove(source) == source
    assert remove(b"not python (") == b"not python ("


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"except BaseException:", b"except BaseException :"),
        (b"try:\n", b"try:  # mine\n"),
        (b"    raise", b"    raise  # mine"),
        (b"__selfdebug_probe__(2, ", b"__selfdebug_probe__(2,"),
        (b"    x = ", b" x = "),
    ],
)
def test_removing_refuses_a_probe_that_was_edited(old: bytes, new: bytes) -> None:
    probed = probe(b"x = a\n", 1).source
    assert old in probed
    with pytest.raises(RefusedError, match="edited"):
        remove(probed.replace(old, new))


def test_edits_beside_a_probe_are_kept() -> None:
    probed = probe(b"x = a\ny = 1\n", 1).source
    assert remove(probed.replace(b"y = 1", b"y = 2")) == b"x = a\ny = 2\n"


@pytest.mark.parametrize("name", ["ast", "dataclasses", "textwrap", "tokenize"])
def test_files_of_the_standard_library_survive_probes(name: str) -> None:
    source = (Path(ast.__file__).parent / f"{name}.py").read_bytes()
    probed = 0
    for line in range(20, source.count(b"\n"), source.count(b"\n") // 10):
        try:
            assert remove(probe(source, line).source) == source
        except (RefusedError, TargetNotFoundError):
            continue
        probed += 1
    assert probed > 2
