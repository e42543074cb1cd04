"""Each place where code can crash, also where no statement can be put: the first patch that passes."""

from __future__ import annotations

import pytest
from tiny_repairs import repaired

# name, module, test, a line of the patched module
PLACES = [
    (
        "a with that may have no context",
        "class A:\n    lock, n = None, 0\n    def f(self):\n        with self.lock:\n            self.n += 1\n",
        "a = A()\na.f()\nassert a.n == 1",
        "with self.lock if self.lock is not None else nullcontext():",
    ),
    (
        "a value that may have to be awaited",
        "import asyncio, inspect\nasync def f(x):\n    return await x\n",
        "import asyncio\nassert asyncio.run(f(asyncio.sleep(0, 3))) == 3\nassert asyncio.run(f(2)) == 2",
        "return await x if inspect.isawaitable(x) else x",
    ),
    (
        "a decorator",
        "CFG = {}\ndef mark(x):\n    return lambda f: f\n\n@mark(CFG['a'].upper)\ndef f():\n    return 1\n",
        "assert f() == 1",
        "@mark(CFG['a'].upper if 'a' in CFG else None)",
    ),
    (
        "a decorator above another",
        "OPT = None\ndef mark(x):\n    return lambda f: f\n\n@mark(OPT.level)\n@staticmethod\ndef f():\n    return 1\n",
        "assert f() == 1",
        "@mark(OPT.level if OPT is not None else None)",
    ),
    ("a default", "CFG = {}\ndef f(n=CFG['n']):\n    return n\n", "assert f() is None", "def f(n=CFG.get('n')):"),
    (
        "a default among others",
        "CFG = None\ndef f(n=CFG.n, *, m=2):\n    return n\n",
        "assert f() is None",
        "def f(n=CFG.n if CFG is not None else None, *, m=2):",
    ),
    (
        "class body",
        "CFG = None\nclass A:\n    size = CFG.size\n    other = 2\n",
        "assert A.size is None and A.other == 2",
        "size = CFG.size if CFG is not None else None",
    ),
    (
        "lambda",
        "f = lambda u: u.name  # name\n",
        "assert f(N(name=1)) == 1\nassert f(None) is None",
        "f = lambda u: u.name if u is not None else None  # name",
    ),
    ("lambda default", "d = {}\nf = lambda n=d['k']: n\n", "assert f() is None", "f = lambda n=d.get('k'): n"),
    (
        "comprehension",
        "def f(us):\n    return [u.name for u in us]\n",
        "assert f([N(name=1), None]) == [1]",
        "return [u.name for u in us if u is not None]",
    ),
    (
        "nested comprehension",
        "def f(gs):\n    return [u.n for g in gs for u in g.us]\n",
        "assert f([N(us=[N(n=1)]), None]) == [1]",
        "return [u.n for g in gs if g is not None for u in g.us]",
    ),
    (
        "dict comprehension",
        "def f(us):\n    return {u.k: u.v.x for u in us}\n",
        "assert f([N(k=1, v=N(x=2)), N(k=3, v=None)]) == {1: 2}",
        "return {u.k: u.v.x for u in us if u.v is not None}",
    ),
    (
        "a generator expression",
        "def f(us):\n    return any(u.ok for u in us)\n",
        "assert f([None, N(ok=1)]) is True\nassert f([None]) is False",
        "return any(u.ok for u in us if u is not None)",
    ),
    (
        "f-string",
        "def f(u):\n    return f'hi {u.name!r}'\n",
        "assert f(N(name='a')) == \"hi 'a'\"\nassert f(None) == 'hi None'",
        "return f'hi {u.name if u is not None else None!r}'",
    ),
    (
        "an f-string in an f-string",
        'def f(u):\n    return f"""{f\'{u.name}\'}"""\n',
        "assert f(N(name='a')) == 'a'\nassert f(None) == ''",
        'return ""',
    ),
    (
        "an assignment in a condition",
        "def f(u):\n    if (n := u.name):\n        return n\n    return 0\n",
        "assert f(N(name=1)) == 1\nassert f(None) == 0",
        "if (u is not None and (n := u.name)):",
    ),
    (
        "an assignment in the condition of a loop",
        "def f(q):\n    n = 0\n    while (x := q.pop().size):\n        n += x\n    return n\n",
        "assert f([N(size=0), N(size=2)]) == 2\nassert f([None, N(size=2)]) == 2",
        "while ((found := q.pop()) is not None and (x := found.size)):",
    ),
    (
        "the subject of a match",
        "def f(u):\n    match u.kind:\n        case 'a': return 1\n        case _: return 0\n",
        "assert f(N(kind='a')) == 1\nassert f(None) == 0",
        "match u.kind if u is not None else 0:",
    ),
    (
        "the condition of a case",
        "def f(k, u):\n    match k:\n        case 'a' if u.ok:\n            return 1\n    return 0\n",
        "assert f('a', N(ok=1)) == 1\nassert f('a', None) == 0",
        "case 'a' if u is not None and u.ok:",
    ),
    (
        "a case on one line",
        "def f(k, u):\n    match k:\n        case 'a': return u.x\n    return 0\n",
        "assert f('a', N(x=1)) == 1\nassert f('a', None) == 0",
        "case 'a': return u.x if u is not None else 0",
    ),
    (
        "an item of a with",
        "import contextlib\ndef f(c):\n    with contextlib.nullcontext(1) as a, c.lock:\n        return a\n",
        "import contextlib\nassert f(N(lock=contextlib.nullcontext())) == 1\nassert f(None) is None",
        "with contextlib.nullcontext(1) as a, c.lock:",
    ),
    (
        "async for",
        "async def f(xs):\n    out = []\n    async for x in xs:\n        out.append(x)\n    return out\n",
        "import asyncio\nasync def g(): yield 1\nassert asyncio.run(f(g())) == [1]\nassert asyncio.run(f(None)) == []",
        "async for x in xs:",
    ),
    (
        "async with",
        "import asyncio, contextlib as c\nasync def f(u):\n    async with u.lock:\n        return 1\n",
        "assert asyncio.run(f(N(lock=c.nullcontext()))) == 1\nassert asyncio.run(f(None)) is None",
        "async with u.lock:",
    ),
    (
        "async comprehension",
        "async def f(xs):\n    return [x.n async for x in xs]\n",
        "import asyncio\nasync def g():\n    yield N(n=1)\n    yield None\nassert asyncio.run(f(g())) == [1]",
        "return [x.n async for x in xs if x is not None]",
    ),
    (
        "one-line for",
        "def f(us):\n    n = 0\n    for u in us: n += u.n\n    return n\n",
        "assert f([N(n=1), None]) == 1",
        "for u in us: n += u.n if u is not None else 0",
    ),
    (
        "one-line def",
        "def f(u): return u.name\n",
        "assert f(N(name=2)) == 2\nassert f(None) is None",
        "def f(u): return u.name if u is not None else None",
    ),
    (
        "one-line class",
        "C = None\nclass A: x = C.y; z = 1\n",
        "assert A.x is None and A.z == 1",
        "class A: x = C.y if C is not None else None; z = 1",
    ),
    (
        "semicolons",
        "def f(u, out):\n    out.append(1); u.save(); out.append(2)\n    return out\n",
        "assert f(N(save=lambda: 0), []) == [1, 2]\nassert f(None, []) == [1, 2]",
        "u.save()",
    ),
    (
        "backslash",
        "def f(u):\n    n = 1 + \\\n        u.n  # end\n    return n\n",
        "assert f(N(n=1)) == 2\nassert f(None) == 1",
        "(u.n if u is not None else 0)  # end",
    ),
    (
        "an elif",
        "def f(a, u):\n    if a:\n        return 1\n    elif u.ok:\n        return 2\n    return 3\n",
        "assert f(0, N(ok=1)) == 2\nassert f(0, None) == 3",
        "elif u is not None and u.ok:",
    ),
    (
        "a star",
        "def f(xs):\n    return [1, *xs]\n",
        "assert f([2]) == [1, 2]\nassert f(None) == [1]",
        "return [1, *(xs or [])]",
    ),
    (
        "chained compare",
        "def f(u):\n    return 0 < u.n < 5\n",
        "assert f(N(n=1)) is True\nassert f(None) is False",
        "return u is not None and 0 < u.n < 5",
    ),
    (
        "a raise",
        "def f(u):\n    raise ValueError(u.name)\n",
        "import pytest\nwith pytest.raises(ValueError):\n    f(None)",
        'raise ValueError("u is missing")',
    ),
    (
        "semicolons at the module's level",
        "X = None\nY = X.a; Z = 1\n",
        "assert Y is None and Z == 1",
        "Y = X.a if X is not None else None; Z = 1",
    ),
    (
        "an annotation",
        "C = None\ndef f(x: C.kind) -> int:\n    return 1\n",
        "assert f(1) == 1",
        "def f(x: C.kind if C is not None else None) -> int:",
    ),
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(("code", "test", "line"), [place[1:] for place in PLACES], ids=[place[0] for place in PLACES])
def test_each_place_gets_its_guard(code: str, test: str, line: str) -> None:
    patched = repaired(code, test).text
    assert line in [each.strip() for each in patched.splitlines()], patched


def test_a_base_class_is_given_no_default() -> None:
    with pytest.raises(AssertionError, match="none of"):
        repaired("BASES = {}\nclass A(BASES['x']):\n    pass\n", "assert A()")
