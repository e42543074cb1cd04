"""Real exceptions, raised here and now, and the receiver that must be found for each, with and without columns."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from dataclasses import replace
from types import CodeType, SimpleNamespace, TracebackType

import pytest

from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, code_point_column
from selfdebug.model import ExceptionRecord, FaultKind, FaultLocation, Frame
from selfdebug.stages.locate import Unlocated, locate, locate_call

N = SimpleNamespace

# Each program defines `crash`, which raises; the receiver that is at fault, and the kind of the fault.
PROGRAMS: dict[str, tuple[str, str, FaultKind]] = {
    "attribute": ("def crash(u=N(a=None)):\n    return u.a.name\n", "u.a", FaultKind.NONE_ATTRIBUTE),
    "attribute store": ("def crash(u=N(a=None)):\n    u.a.name = 1\n", "u.a", FaultKind.NONE_ATTRIBUTE),
    "attribute delete": ("def crash(u=None):\n    del u.name\n", "u", FaultKind.NONE_ATTRIBUTE),
    "method in a chain": (
        "def crash(d={}):\n    return d.get('k') \\\n        .strip() \\\n        .lower()\n",
        "d.get('k')",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "mangled name": (
        "class C:\n    def go(self, other=None):\n        return other.__hidden\ncrash = C().go\n",
        "other",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "getattr": ("def crash(x=None):\n    return getattr(x, 'name')\n", "x", FaultKind.NONE_ATTRIBUTE),
    "one of two like it": (
        "def crash(a=N(n=N(x=1)), b=N(n=None)):\n    return a.n.x + b.n.x\n",
        "b.n",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "decoded": ("def crash(v=3):\n    return str(v, 'ascii')\n", "v", FaultKind.WRONG_TYPE),
    "subscript": ("def crash(d={'a': None}):\n    return d['a']['b']\n", "d['a']", FaultKind.NONE_SUBSCRIPT),
    "subscript store": ("def crash(c=None):\n    c['k'] = 1\n", "c", FaultKind.NONE_SUBSCRIPT),
    "subscript delete": ("def crash(c=None):\n    del c['k']; return True\n", "c", FaultKind.NONE_SUBSCRIPT),
    "call": ("def crash(h={}):\n    return h.get('e')(1, 2)\n", "h.get('e')", FaultKind.NONE_CALL),
    "for": (
        "def crash(p={}):\n    for t in p.get('tags'):\n        print(t)\n",
        "p.get('tags')",
        FaultKind.NONE_ITERATION,
    ),
    "comprehension": (
        "def crash(x=N(tags=None)):\n    return [t for t in x.tags]\n",
        "x.tags",
        FaultKind.NONE_ITERATION,
    ),
    "inner comprehension": (
        "def crash(xs=[N(tags=None)]):\n    return [t for x in xs for t in x.tags]\n",
        "x.tags",
        FaultKind.NONE_ITERATION,
    ),
    "iterating argument": ("def crash(x=None):\n    return sorted(x)\n", "x", FaultKind.NONE_ITERATION),
    "yield from": (
        "def gen(x):\n    yield from x\ndef crash(x=None):\n    return list(gen(x))\n",
        "x",
        FaultKind.NONE_ITERATION,
    ),
    "membership": ("def crash(x=None):\n    return 'a' in x\n", "x", FaultKind.NONE_ITERATION),
    "unpacking": ("def f(): pass\ndef crash():\n    lo, hi = f()\n", "f()", FaultKind.NONE_UNPACK),
    "star in a call": ("def crash(x=None):\n    return print(1, *x)\n", "x", FaultKind.NONE_ARGUMENT),
    "star in a list": (
        "def crash(j={'a': [1]}):\n    return [*j['a'], *j.get('b')]\n",
        "j.get('b')",
        FaultKind.NONE_ARGUMENT,
    ),
    "double star": ("def crash(x=None):\n    return dict(a=1, **x)\n", "x", FaultKind.NONE_ARGUMENT),
    "double star in a dict": ("def crash(x=None):\n    return {'a': 1, **x}\n", "x", FaultKind.NONE_ARGUMENT),
    "left operand": ("def crash(a=None, b=2):\n    return a + b\n", "a", FaultKind.NONE_OPERATOR),
    "right operand": ("def crash(a=1, b=None):\n    return a * 2 + b\n", "b", FaultKind.NONE_OPERATOR),
    "augmented": ("def crash(d=N(size=None)):\n    n = 0\n    n += d.size\n", "d.size", FaultKind.NONE_OPERATOR),
    "unary": ("def crash(x=None):\n    return 1 - -x\n", "x", FaultKind.NONE_OPERATOR),
    "concatenation": ("def crash(x=None):\n    return 'a' + x\n", "x", FaultKind.NONE_OPERATOR),
    "list concatenation": ("def crash(x=None):\n    return [1] + x\n", "x", FaultKind.NONE_OPERATOR),
    "comparison": (
        "def crash(p={}):\n    return 1 if p.get('age') >= 18 else 2\n",
        "p.get('age')",
        FaultKind.NONE_OPERATOR,
    ),
    "chained comparison": ("def crash(x=None):\n    return 1 < 2 < x\n", "x", FaultKind.NONE_OPERATOR),
    "sort key": (
        "def crash(ts=[N(d=1), N(d=None)]):\n    return sorted(ts, key=lambda t: t.d)\n",
        "t.d",
        FaultKind.NONE_OPERATOR,
    ),
    "len": ("def crash(x=None):\n    return len(x)\n", "x", FaultKind.NONE_ARGUMENT),
    "int": ("def crash(f={}):\n    return max(1, int(f.get('p')))\n", "f.get('p')", FaultKind.NONE_ARGUMENT),
    "join": ("def crash(x=None):\n    return ','.join(x)\n", "x", FaultKind.NONE_ARGUMENT),
    "regular expression": (
        "import re\ndef crash(x=None):\n    return re.match('a', x)\n",
        "x",
        FaultKind.NONE_ARGUMENT,
    ),
    "percent": ("def crash(x=None):\n    return '%s %d' % ('a', x)\n", "x", FaultKind.NONE_ARGUMENT),
    "format": ("def crash(x=None):\n    return f'{x:>10}'\n", "x", FaultKind.NONE_ARGUMENT),
    "index": ("def crash(x=None):\n    return [1, 2][x]\n", "x", FaultKind.NONE_ARGUMENT),
    "with": ("def crash(x=None):\n    with x as y:\n        return y\n", "x", FaultKind.NONE_CONTEXT),
    "await": ("async def go(x):\n    await x\ndef crash():\n    asyncio.run(go(None))\n", "x", FaultKind.NONE_AWAIT),
    "async for": (
        "async def go(s):\n    async for x in s.get('t'): print(x)\ndef crash():\n    asyncio.run(go({}))\n",
        "s.get('t')",
        FaultKind.NONE_ITERATION,
    ),
    "default argument": (
        "L = {}\ndef crash():\n    def inner(a=1, b=L.get('r') + 1):\n        return a\n",
        "L.get('r')",
        FaultKind.NONE_OPERATOR,
    ),
    "decorator": ("def crash(x=None):\n    @x.deco\n    def inner(): pass\n", "x", FaultKind.NONE_ATTRIBUTE),
    "class body": ("def crash(x=None):\n    class C(x.Base):\n        pass\n", "x", FaultKind.NONE_ATTRIBUTE),
    "lambda": ("crash = lambda x=None: x.name\n", "x", FaultKind.NONE_ATTRIBUTE),
    "f-string": ("def crash(x=N(t=None)):\n    return f'a {x} {x.t.name} b'\n", "x.t", FaultKind.NONE_ATTRIBUTE),
    "triple-quoted f-string": (
        "def crash(x=N(t=None)):\n    return f'''\nä {x}\n{', '.join(a\n   for a in x.t)}\n'''\n",
        "x.t",
        FaultKind.NONE_ITERATION,
    ),
    "one-line suite": (
        "def crash(b=N(lid=None)):\n    if b: b.lid.shut(); b = 1\n    else: b = 2\n",
        "b.lid",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "match": (
        "def crash(e={}):\n    match e.get('k').lower():\n        case _: return 0\n",
        "e.get('k')",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "elif": (
        "def crash(a=0, b=None):\n    if a:\n        return 1\n    elif b.x:\n        return 2\n",
        "b",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "while": ("def crash(n=None):\n    while n.next:\n        n = n.next\n", "n", FaultKind.NONE_ATTRIBUTE),
    "assert condition": ("def crash(n=None):\n    assert n.ok, 'no'\n", "n", FaultKind.NONE_ATTRIBUTE),
    "inside raise": ("def crash(n=None):\n    raise ValueError(n.text)\n", "n", FaultKind.NONE_ATTRIBUTE),
    "non-ASCII before it": (
        "def crash(x=None):\n    return 'äöü€' + x.näme + 'ß'\n",
        "x",
        FaultKind.NONE_ATTRIBUTE,
    ),
    "missing key": ("def crash(d={}):\n    return d['k'] * 2\n", "d", FaultKind.MISSING_KEY),
    "pop of a missing key": ("def crash(d={}):\n    return d.pop('k')\n", "d", FaultKind.MISSING_KEY),
    "index out of range": ("def crash(x=[]):\n    return x[0]\n", "x", FaultKind.INDEX_RANGE),
    "pop of an empty list": ("def crash(x=[]):\n    return x.pop()\n", "x", FaultKind.INDEX_RANGE),
    "unbound local": (
        "def crash(xs=[]):\n    for x in xs:\n        best = x\n    return best\n",
        "best",
        FaultKind.UNBOUND_LOCAL,
    ),
    "undefined name": ("def crash():\n    return jsn.dumps(1)\n", "jsn", FaultKind.UNDEFINED_NAME),
    "division": ("def crash(a=1, b=[]):\n    return a / len(b)\n", "len(b)", FaultKind.ZERO_DIVISION),
    "unpack count": ("def crash(x=(1,)):\n    a, b = x\n", "x", FaultKind.UNPACK_COUNT),
    "missing attribute": ("def crash(x=3):\n    return x.name\n", "x", FaultKind.MISSING_ATTRIBUTE),
    "wrong operand": ("def crash(x=b'a'):\n    return 'a' + x\n", "x", FaultKind.WRONG_TYPE),
    "wrong class called": ("def crash(x=3):\n    return x()\n", "x", FaultKind.WRONG_TYPE),
}


def _raised(program: str) -> tuple[BaseException, Source]:
    source = Source.parse(program.encode())
    names: dict[str, object] = {"N": N, "asyncio": asyncio}
    exec(compile(program, "<program>", "exec"), names)
    crash = names["crash"]
    assert callable(crash)
    with pytest.raises(Exception) as caught:
        crash()
    return caught.value, source


def _frame(error: BaseException, source: Source, file: str = "<program>") -> Frame:
    """The deepest frame of the program with its columns, converted as the run converts them."""
    entry = error.__traceback__
    found: TracebackType | None = None
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == file:
            found = entry
        entry = entry.tb_next
    assert found is not None
    span = _span(found.tb_frame.f_code, found.tb_lasti, source)
    return Frame(file, found.tb_lineno, found.tb_frame.f_code.co_name, "program.py", span)


def _span(code: CodeType, lasti: int, source: Source) -> Span | None:
    start, end, first, last = list(code.co_positions())[lasti // 2]
    if start is None or end is None or first is None or last is None:
        return None
    lines = source.lines
    return Span(start, code_point_column(lines[start - 1], first), end, code_point_column(lines[end - 1], last))


def _record(error: BaseException) -> ExceptionRecord:
    return ExceptionRecord(type(error).__name__, str(error))


# Here the interpreter names the whole enclosing expression, so that only a probe can tell the receivers apart.
UNDECIDED = {"inner comprehension", "star in a list"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_receiver_is_found_by_columns(name: str) -> None:
    program, receiver, kind = PROGRAMS[name]
    error, source = _raised(program)
    found = locate(_frame(error, source), _record(error), source)
    assert isinstance(found, FaultLocation)
    assert found.kind is kind
    codes = [candidate.code for candidate in found.receivers]
    if name in UNDECIDED:
        assert receiver in codes
        assert {candidate.evidence for candidate in found.receivers} == {"message"}
    else:
        assert codes[0] == receiver


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_columns_the_receiver_is_among_those_that_fit(name: str) -> None:
    program, receiver, kind = PROGRAMS[name]
    error, source = _raised(program)
    found = locate(replace(_frame(error, source), span=None), _record(error), source)
    assert isinstance(found, FaultLocation)
    assert found.kind is kind
    assert receiver in [candidate.code for candidate in found.receivers]
    assert all(candidate.evidence != "columns" for candidate in found.receivers)


def test_a_literal_is_never_accepted_for_a_fault_about_none() -> None:
    source = Source.parse(b"def f(x):\n    return ', '.join(x.name for x in [1]) + x.name\n")
    record = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'join'")
    found = locate(Frame("f.py", 2, "f", "f.py"), record, source)
    assert isinstance(found, FaultLocation)
    assert found.receivers == ()


@pytest.mark.parametrize(
    ("statement", "message"),
    [("raise KeyError(name)", "'x'"), ("raise TypeError('expected str, got None')", "expected str, got None")],
)
def test_a_deliberate_raise_has_no_receiver(statement: str, message: str) -> None:
    source = Source.parse(f"def f(name):\n    {statement}\n".encode())
    kind = statement.split()[1].split("(", maxsplit=1)[0]
    found = locate(Frame("f.py", 2, "f", "f.py"), ExceptionRecord(kind, message), source)
    assert isinstance(found, FaultLocation)
    assert (found.kind, found.receivers) == (FaultKind.DELIBERATE_RAISE, ())


def test_an_exception_that_came_out_of_a_call_is_located_at_the_call() -> None:
    error, source = _raised("def crash(x='a'):\n    return max(1, int(x))\n")
    found = locate(_frame(error, source), _record(error), source)
    assert isinstance(found, FaultLocation)
    assert (found.kind, found.receivers[0].code) == (FaultKind.OTHER, "int")


def test_a_failed_assertion_has_no_receiver() -> None:
    source = Source.parse(b"def f(x):\n    assert x.y == 1\n")
    found = locate(Frame("f.py", 2, "f", "f.py"), ExceptionRecord("AssertionError", ""), source)
    assert isinstance(found, FaultLocation)
    assert (found.kind, found.receivers) == (FaultKind.ASSERTION, ())


def test_a_line_without_a_statement_is_said_to_be_stale() -> None:
    source = Source.parse(b"x = 1\n\n# end\n")
    found = locate(Frame("f.py", 3, "f", "f.py"), ExceptionRecord("TypeError", "no"), source)
    assert isinstance(found, Unlocated)
    assert "changed since" in found.reason


def test_a_statement_that_cannot_be_taken_apart_is_named() -> None:
    source = Source.parse(f"a = {'-' * 170}x.y\n".encode())
    found = locate(
        Frame("f.py", 1, "f", "f.py"),
        ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'y'"),
        source,
    )
    assert isinstance(found, Unlocated)
    assert "f.py:1" in found.reason


def test_the_arguments_of_the_callers_call_are_its_receivers() -> None:
    program = "def helper(x):\n    return x.name\ndef crash(a=1, b=N(c=None)):\n    return print(helper(b.c), a)\n"
    error, source = _raised(program)
    entries = traceback.extract_tb(error.__traceback__)
    assert entries[-1].name == "helper"
    caller = inspect.getinnerframes(error.__traceback__)[-2]  # type: ignore[arg-type]  # it was just raised
    assert caller.positions is not None
    positions = caller.positions
    span = Span(
        positions.lineno or 0, positions.col_offset or 0, positions.end_lineno or 0, positions.end_col_offset or 0
    )
    found = locate_call(Frame("<program>", caller.lineno, "crash", "program.py", span), source)
    assert isinstance(found, FaultLocation)
    assert [receiver.code for receiver in found.receivers] == ["b.c"]


def test_a_caller_that_passes_nothing_is_no_site() -> None:
    source = Source.parse(b"def f():\n    return helper()\n")
    found = locate_call(Frame("f.py", 2, "f", "f.py"), source)
    assert isinstance(found, Unlocated)
    assert "passes no argument" in found.reason


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("if x.y:  # why\n    pass\nelse:\n    pass\n", 1, "if x.y:  # why"),
        ("for a in (\n    x.y\n):\n    pass\n", 2, "for a in (\n    x.y\n):"),
        ("if x.y: pass\n", 1, "if x.y: pass"),
        ("a = [\n    x.y,\n]\n", 2, "a = [\n    x.y,\n]"),
        ("@x.y\ndef f():\n    pass\n", 1, "@x.y\ndef f():"),
    ],
)
def test_of_a_compound_statement_only_the_header_is_shown(text: str, line: int, code: str) -> None:
    record = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'y'")
    found = locate(Frame("f.py", line, None, "f.py"), record, Source.parse(text.encode()))
    assert isinstance(found, FaultLocation)
    assert found.statement_code == code
