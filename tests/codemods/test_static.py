"""Values that may be None by what the source says: which they are, where they are used unguarded, and the guards."""

from __future__ import annotations

import ast
import textwrap

import pytest

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from codemods.selfdebug.static.guarding import all_guarded, answers, guarded
from codemods.selfdebug.static.optional_functions import GivesNone, allows_none, falls_through, optional_functions
from codemods.selfdebug.static.optional_values import Names
from codemods.selfdebug.static.unguarded import Unguarded, unguarded


def uses_in(source: Source, **elsewhere: GivesNone) -> list[Unguarded]:
    """The unguarded uses of a file; `elsewhere` are functions of other modules (`__` for a dot)."""
    functions = {name.replace("__", "."): given for name, given in elsewhere.items()}
    own = optional_functions(source.tree)
    return list(unguarded(source, Names.of(source.tree, {**functions, **own})))


def found(code: str, **elsewhere: GivesNone) -> list[str]:
    """The uses in some code, each as `line receiver: reason`."""
    source = Source.parse(textwrap.dedent(code).encode())
    return [f"{use.target.receiver.start_line} {use.code}: {use.reason}" for use in uses_in(source, **elsewhere)]


# ---------------------------------------------------------------- functions


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int | None", True),
        ("None | int", True),
        ("int | (str | None)", True),
        ("Optional[int]", True),
        ("typing.Optional[int]", True),
        ("Union[int, None]", True),
        ("Union[int, str]", False),
        ("Union[int]", False),
        ("'int | None'", True),
        ("'Optional[X'", False),
        ("'int'", False),
        ("int", False),
        ("int | str", False),
        ("list[int | None]", False),
        ("5", False),
        ("a & None", False),
    ],
)
def test_which_annotations_allow_none(annotation: str, expected: bool) -> None:
    assert allows_none(ast.parse(annotation, mode="eval").body) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", True),
        ("return 1", False),
        ("raise X", False),
        ("if a: return 1", True),
        ("if a: return 1\nelse: raise X", False),
        ("if a: pass\nelse: raise X", True),
        ("with a: return 1", False),
        ("with a: pass", True),
        ("with suppress(X): return 1", True),
        ("while True: pass", False),
        ("while 1:\n    if a: break", True),
        ("while a: return 1", True),
        ("for x in a: return 1", True),
        ("try: return 1\nexcept X: return 2", False),
        ("try: return 1\nexcept X: pass", True),
        ("try: a()\nexcept X: raise\nelse: return 1", False),
        ("try: a()\nexcept X: raise", True),
        ("try: a()\nfinally: return 1", False),
        ("try: return 1\nexcept* X: pass", True),
        ("match a:\n    case 1: return 1\n    case _: return 2", False),
        ("match a:\n    case 1: return 1\n    case x: pass", True),
        ("match a:\n    case 1: return 1", True),
        ("match a:\n    case x if x: return 1", True),
        ("match a:\n    case 1 as x: return 1", True),
        ("assert False", False),
        ("assert a", True),
        ("sys.exit(1)", False),
        ("pytest.fail('x')", False),
        ("a.run()", True),
        ("'text'", True),
    ],
)
def test_where_control_reaches_the_end(body: str, expected: bool) -> None:
    function = ast.parse(f"def f():\n{textwrap.indent(body, '    ')}").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert falls_through(function.body) is expected


def test_which_functions_may_give_none() -> None:
    code = """
        def annotated() -> int | None: ...
        def never() -> int:
            if a: return 1
        def falls(xs):
            for x in xs: return x
        def bare(x):
            if x: return
            return 1
        def explicit(x):
            if x: return None
            return 1
        def nothing(x):
            print(x)
        def always(x):
            return x
        def generator(x):
            yield x
            return 1
        async def waited(x):
            if x: return 1
        @cached
        def wrapped(x):
            if x: return 1
        def outer(x):
            def inner():
                return 1
        class C:
            limit = 1
            @staticmethod
            def s(x):
                if x: return 1
    """
    given = optional_functions(ast.parse(textwrap.dedent(code)))
    assert [name for name, each in given.items() if each.awaited] == ["waited"]
    assert {name: each.reason for name, each in given.items()} == {
        "annotated": "annotated() is annotated to return None, too",
        "falls": "falls() can fall off its end",
        "bare": "bare() returns None in line 8",
        "explicit": "explicit() returns None in line 11",
        "waited": "waited() can fall off its end",
        "C.s": "s() can fall off its end",
    }


# ---------------------------------------------------------------- uses

BIRTHS = [
    ("def f(p=None): p.x", "1 p: its default is None"),
    ("def f(*, p=None): p.x", "1 p: its default is None"),
    ("def f(p: int | None): p.x", "1 p: its annotation allows None"),
    ("def f(p: int = None): p.x", None),
    ("def f(p): p.x", None),
    ("def f(p=1): p.x", None),
    ("def f(*p): p.x", None),
    ("import re\ndef f(s): re.match('a', s).group()", "2 re.match('a', s): re.match() may find nothing"),
    ("import re as r\ndef f(s): r.search('a', s).group()", "2 r.search('a', s): r.search() may find nothing"),
    ("from re import match\ndef f(s): match('a', s).group()", "2 match('a', s): match() may find nothing"),
    ("import os.path\ndef f(): os.environ.get('A').x", "2 os.environ.get('A'): os.environ.get() may find nothing"),
    ("import os\ndef f(): os.environ.get('A', '').lower()", None),
    ("from .re import match\ndef f(s): match('a', s).group()", None),
    ("def f(s): match('a', s).group()", None),
    ("def f(xs): next(xs, None).x", "1 next(xs, None): the default of next() is None"),
    ("def f(xs): next(xs).x", None),
    ("def f(x): getattr(x, 'a', None).x", "1 getattr(x, 'a', None): the default of getattr() is None"),
    ("def f(k): {}.get(k).x", "1 {}.get(k): {} may lack the key"),
    ("D = {}\ndef f(k): D.get(k).x", "2 D.get(k): D may lack the key"),
    ("def f(k, d: dict[str, int]): d.get(k).x", "1 d.get(k): d may lack the key"),
    ("def f(k, d: Mapping): d.get(k).x", "1 d.get(k): d may lack the key"),
    ("def f(k):\n    d: dict = g()\n    d.get(k).x", "3 d.get(k): d may lack the key"),
    ("def f(k):\n    d = dict(a=1)\n    d.get(k).x", "3 d.get(k): d may lack the key"),
    ("def f(k):\n    for d in []: d.get(k).x", None),
    ("def f(k, d): d.get(k).x", None),
    ("def f(k, d: dict): d.get(k, 1).x", None),
    ("def f(k, d): d[0].get(k).x", None),
    ("def f(x): (x.a if x else None).b", "1 x.a if x else None: one of its branches is None"),
    ("def f(x): (x.a if x else x.c).b", None),
    ("def g(x):\n    if x: return 1\ndef f(x): g(x).b", "3 g(x): g() can fall off its end"),
    ("async def g(x):\n    if x: return 1\nasync def f(x): (await g(x)).b", "3 await g(x): g() can fall off its end"),
    ("async def g(x):\n    if x: return 1\nasync def f(x): g(x).b", None),
    ("async def f(x): (await x).b", None),
    ("async def f(x): (await x()).b", None),
    ("class C:\n    def g(self) -> int | None: ...\n    def f(self): self.g().b",
     "3 self.g(): g() is annotated to return None, too"),
    ("def g(self) -> int | None: ...\ndef f(self): self.g().b", None),
    ("from shop import find\ndef f(): find().b", "2 find(): seen there"),
    ("import shop\ndef f(): shop.find().b", "2 shop.find(): seen there"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), BIRTHS)
def test_what_may_be_none(code: str, expected: str | None) -> None:
    assert found(code, shop__find=GivesNone("seen there")) == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("use", "counts"),
    [
        ("p.x", True), ("p.x = 1", True), ("p[0]", True), ("p()", True), ("p + 1", True), ("1 + p", True), ("-p", True),
        ("p += 1", True), ("for x in p: pass", True), ("[*p]", True), ("{**p}", True), ("a, b = p", True),
        ("1 in p", True), ("p in []", False), ("p < 1", True), ("p == 1", False), ("p is None", False),
        ("len(p)", True), ("len([], p)", False), ("print(p)", False), ("with p: pass", True), ("p.__class__", False),
        ("'%s' % p", False), ("p % 2", True), ("not p", False), ("p", False), ("x = p", False), ("return p", False),
        ("f'{p:>3}'", False), ("[x for x in p]", True), ("[p.x for p in []]", False), ("lambda p: p.x", False),
        ("(p := 1).x", False), ("class C:\n    y = p.x", False), ("def g(): return p.x", False),
        ("match p.x:\n    case 1: pass", True), ("match 1:\n    case 1 if p.x: pass", False),
        ("try: p.x\nexcept AttributeError: pass", False), ("try: p.x\nexcept (KeyError, TypeError): pass", False),
        ("try: p.x\nexcept: pass", False), ("try: p.x\nexcept KeyError: pass", True),
        ("try: pass\nfinally: p.x", True), ("try: pass\nexcept AttributeError: p.x", True),
        ("if p: p.x", False), ("if p is not None: p.x", False), ("if not p: return\np.x", False),
        ("if p: pass\np.x", True),
        ("assert p\np.x", False), ("p and p.x", False), ("p.x if p else 1", False),
        ("if isinstance(p, int): p.x", False),
        ("p = p or 1\np.x", False), ("if p is None: p = 1\np.x", False), ("p = g()\np.x", False),
        ("for p in []: p.x", False), ("with a as p: p.x", False), ("try: pass\nexcept X as p: p.x", False),
        ("if (p := g()): p.x", False), ("match 1:\n    case p: p.x", False), ("p: int = g()\np.x", False),
        ("del p\np.x", False),
        ("for x in []:\n    p.x", True), ("if a:\n    pass\nelse:\n    p.x", True), ("p, q = 1, 2\np.x", False),
    ],
)  # fmt: skip
def test_which_uses_count(use: str, counts: bool) -> None:
    body = textwrap.indent(use, "    ")
    assert bool(found(f"def f(p=None):\n{body}\n")) is counts


def test_only_the_first_of_uses_that_follow_each_other_is_told() -> None:
    code = """
        def f(p=None):
            p.x; p.y
            p.z
            if a:
                p.v
        def g(p=None):
            if a:
                p.x
            else:
                p.y
            p.z
        def h(d: dict):
            p = d.get(1)
            p.x
            p = d.get(2)
            p.x
    """
    lines = [line.split(":")[0] for line in found(code)]
    assert lines == ["3 p", "9 p", "11 p", "12 p", "15 p", "17 p"]


def test_what_cannot_be_cut_out_of_its_file_is_left_alone() -> None:
    assert found(f"def f(p=None):\n    p.x, '{'a' * 300_000}'\n    p.y\n") == ["3 p: its default is None"]


# ---------------------------------------------------------------- guards


def test_every_use_is_guarded_and_nothing_else_changes() -> None:
    before = (
        b"import re\r\n\r\ndef  f(text, who = None) :\r\n\tfound=re.match('a',text)   # perhaps\r\n"
        b"\tprint( found.group( ) )\r\n\tx  =  1\r\n\twho.name( )\t# called\r\n"
    )
    after = all_guarded(before, uses_in)
    assert after == (
        b"import re\r\n\r\ndef  f(text, who = None) :\r\n\tfound=re.match('a',text)   # perhaps\r\n"
        b"\tif found is not None:\r\n\t\tprint( found.group( ) )\r\n\tx  =  1\r\n"
        b"\tif who is not None:\r\n\t\twho.name( )\t# called\r\n"
    )
    assert all_guarded(after, uses_in) == after
    assert uses_in(Source.parse(after)) == []


def test_a_use_that_an_edit_below_has_reached_waits_for_the_next_look() -> None:
    data = b"def f(p=None, q=None):\n    x = p.x + q.y\n    print(x)\n"
    once = guarded(data, uses_in(Source.parse(data)))
    assert once != data
    assert uses_in(Source.parse(all_guarded(data, uses_in))) == []


def test_places_behind_a_byte_order_mark_and_in_another_encoding_are_right() -> None:
    marked = b"\xef\xbb\xbfdef f(p=None):\n    p.x\n    if a:\n        b\n    else:\n        '\xc3\xa9'; p.y\n"
    assert all_guarded(marked, uses_in) == (
        b"\xef\xbb\xbfdef f(p=None):\n    if p is not None:\n        p.x\n    if a:\n        b\n    else:\n"
        b"        '\xc3\xa9'\n        if p is not None:\n            p.y\n"
    )
    latin = "# coding: latin-1\ndef f(é=None, q=None):\n    é.x\n    q.x\n".encode("latin-1")
    assert all_guarded(latin, uses_in) == (
        "# coding: latin-1\ndef f(é=None, q=None):\n    if é is not None:\n        é.x\n"
        "    if q is not None:\n        q.x\n"
    ).encode("latin-1")


def test_a_use_that_no_guard_takes_is_answered_with_the_reasons_and_stays() -> None:
    data = b"def g(p):\n    if p: return 1\ndef f(p, q=None):\n    q.x\n    a = h() or g(p).x\n    return a\n"
    source = Source.parse(data)
    first, second = answers(source, uses_in(source))
    assert (first.guard, first.refusal) == ("wrap-statement", "")
    assert second.guard is None
    assert "condition-prefix: the receiver is no part of a condition; " in second.refusal
    assert all_guarded(data, uses_in) == data.replace(b"    q.x", b"    if q is not None:\n        q.x")


def test_a_file_that_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(RefusedError, match="does not parse"):
        all_guarded(b"def f(:\n", uses_in)
