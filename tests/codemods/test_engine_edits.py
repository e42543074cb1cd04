"""Edits in the surroundings that are hard: scopes, orders of evaluation, one-line suites, f-strings, headers."""

# ruff: noqa: E501, ISC004 - a table reads best with one case a line

from __future__ import annotations

import libcst as cst
import pytest

from codemods.selfdebug.base import Family, Guard, Parameters, RefusedError, Test, apply, marked
from codemods.selfdebug.registry import guards
from codemods.selfdebug.sites import Rewrite, Site

NONE = Parameters("None")
BARE = Parameters()
KEY = Parameters("0", Test.HAS_KEY)
RANGE = Parameters("0", Test.IN_RANGE)
TRUE = Parameters("0", Test.TRUTHY)
ERROR = Parameters("0", Test.NO_EXCEPTION, ("KeyError",))

EDITS = [
    # conditions
    ("conditional-expression", RANGE, "x = ‹«xs»[-2]›\n", "x = xs[-2] if len(xs) >= 2 else 0\n"),
    ("conditional-expression", RANGE, "x = ‹«xs»[i]›\n", "x = xs[i] if i < len(xs) else 0\n"),
    ("conditional-expression", RANGE, "x = ‹«xs»[-n]›\n", "x = xs[-n] if -len(xs) <= -n < len(xs) else 0\n"),
    ("conditional-expression", RANGE, "x = ‹«xs»[i + 1]›\n", "x = xs[i + 1] if i + 1 < len(xs) else 0\n"),
    (
        "condition-prefix",
        Parameters(),
        "while ‹(«m := f()»).group(1)›: pass\n",
        "while (m := f()) is not None and m.group(1): pass\n",
    ),
    (
        "early-return",
        Parameters("0"),
        "def f():\n    if ‹(«m := g()»).ok›: return m\n",
        "def f():\n    m = g()\n    if m is None:\n        return 0\n    if m.ok: return m\n",
    ),
    *(
        (
            "early-return",
            RANGE,
            f"def f(r, a):\n    x = ‹«r»[0]›\n{later}",
            f"def f(r, a):\n    if {asked}:\n        return 0\n    x = r[0]\n{later}",
        )
        for later, asked in [
            ("    return r[2] + r[1]\n", "len(r) < 3"),
            ("    return r[-2]\n", "len(r) < 2"),
            ("    return r[a], r[:3], r['k'], a[4]\n", "len(r) <= 0"),
            ("    return a and r[2]\n", "len(r) <= 0"),
            ("    return [r[2] for b in a]\n", "len(r) <= 0"),
            ("    r = a\n    return r[2]\n", "len(r) <= 0"),
            ("    if a: return r[2]\n", "len(r) <= 0"),
            ("    y, z = r\n    return r[1]\n", "len(r) != 2"),
            ("    y, *z = r\n    return r[1]\n", "len(r) < 2"),
            ("    return x\n    r[3]\n", "len(r) <= 0"),
            ("    y = r\n    return y\n", "len(r) <= 0"),
        ]
    ),
    (
        "early-return",
        RANGE,
        "def f(r):\n    try:\n        x = ‹«r»[0]›; y = r[1]\n    except KeyError: pass\n",
        "def f(r):\n    try:\n        if len(r) <= 0:\n            return 0\n        x = r[0]\n        y = r[1]\n"
        "    except KeyError: pass\n",
    ),
    ("conditional-expression", RANGE, "x = ‹«f()»[0]›\n", "x = found[0] if len((found := f())) > 0 else 0\n"),
    ("conditional-expression", KEY, "x = ‹«d».pop(k)›\n", "x = d.pop(k) if k in d else 0\n"),
    ("conditional-expression", KEY, "x = ‹«d»[(a, 'b')]›\n", "x = d[(a, 'b')] if (a, 'b') in d else 0\n"),
    ("conditional-expression", TRUE, "x = ‹«u».b›\n", "x = u.b if u else 0\n"),
    ("conditional-expression", NONE, "x = ‹(a\n  .b).c›\n".replace("(a\n  .b)", "(«a\n  .b»)"),
     "x = (a\n  .b).c if a.b is not None else None\n"),
    ("conditional-expression", NONE, "x = ‹«(a)».c›\n", "x = (a).c if a is not None else None\n"),
    ("conditional-expression", NONE, "x = 2 ** ‹«a».c›\n", "x = 2 ** (a.c if a is not None else None)\n"),
    ("conditional-expression", NONE, "x = - ‹«a».c›\n", "x = - (a.c if a is not None else None)\n"),
    ("conditional-expression", NONE, "x = [*‹«a».c›]\n", "x = [*(a.c if a is not None else None)]\n"),
    ("conditional-expression", NONE, "async def f(a):\n    return await ‹«a».c›()\n",
     "async def f(a):\n    return await a.c() if a is not None else None\n"),
    ("conditional-outer", NONE, "x = (y := g(‹«a».c›))\n", "x = (y := g(a.c) if a is not None else None)\n"),
    ("conditional-outer", NONE, "x = [g(v) for v in g(‹«a».c›)]\n",
     "x = [g(v) for v in (g(a.c) if a is not None else None)]\n"),
    # binding
    ("early-return", RANGE, "def f(v):\n    a, b = «v»\n", "def f(v):\n    if len(v) != 2:\n        return 0\n    a, b = v\n"),
    ("early-return", RANGE, "def f(v):\n    a, *b = «v»\n", "def f(v):\n    if len(v) < 1:\n        return 0\n    a, *b = v\n"),
    ("early-return", NONE, "def f(a):\n    assert a, ‹«a.b».c›\n",
     "def f(a):\n    if not a and a.b is None:\n        return None\n    assert a, a.b.c\n"),
    ("early-return", NONE, "def f(a, b):\n    a.b: int = ‹«b.c».d›\n",
     "def f(a, b):\n    if b.c is None:\n        return None\n    a.b: int = b.c.d\n"),
    ("early-return", NONE, "def f(a, b):\n    ‹«a».b›: int = b\n",
     "def f(a, b):\n    if a is None:\n        return None\n    a.b: int = b\n"),
    ("early-return", NONE, "def f(a, b):\n    ‹«a».b› = b\n",
     "def f(a, b):\n    if a is None:\n        return None\n    a.b = b\n"),
    ("early-return", BARE, "def f(a):\n    yield 1\n    yield ‹«a».b›\n",
     "def f(a):\n    yield 1\n    if a is None:\n        return\n    yield a.b\n"),
    ("early-return", NONE, "def f(a):\n    @‹«a».b›\n    def g(): return 1\n    return g\n",
     "def f(a):\n    if a is None:\n        return None\n    @a.b\n    def g(): return 1\n    return g\n"),
    ("early-return", NONE, "def f(a):\n    x = 1; y = ‹«a».b›; z = 2  # end",
     "def f(a):\n    x = 1\n    if a is None:\n        return None\n    y = a.b\n    z = 2  # end"),
    ("early-return", NONE, "def f(a):\n  try: pass\n  except E: ‹«a».b›() # c\n  finally: pass\n",
     "def f(a):\n  try: pass\n  except E:\n    if a is None:\n      return None\n    a.b() # c\n  finally: pass\n"),
    ("early-return", NONE, "def f(a):\n    match a:\n        case 1: ‹«a».b›()\n",
     "def f(a):\n    match a:\n        case 1:\n            if a is None:\n                return None\n            a.b()\n"),
    ("early-return", NONE, "def f(s):\n    return await_(s), ‹«s.get_user()».x›\n".replace("await_(s), ", ""),
     "def f(s):\n    user = s.get_user()\n    if user is None:\n        return None\n    return user.x\n"),
    # names
    ("early-return", NONE, "async def f(s):\n    return ‹(«await s.read_it()»).x›\n",
     "async def f(s):\n    it = await s.read_it()\n    if it is None:\n        return None\n    return it.x\n"),
    ("early-return", NONE, "def f(s):\n    return ‹«s()['a b']».x›\n",
     "def f(s):\n    a_b = s()['a b']\n    if a_b is None:\n        return None\n    return a_b.x\n"),
    ("early-return", NONE, "def f(s):\n    return ‹«s().size».x›\n",
     "def f(s):\n    size = s().size\n    if size is None:\n        return None\n    return size.x\n"),
    ("early-return", NONE, "def f(s):\n    return ‹«(s() or s)».x›\n",
     "def f(s):\n    found = s() or s\n    if found is None:\n        return None\n    return found.x\n"),
    ("early-return", NONE, "def f(s, found, value, result, candidate):\n    return ‹«(s() or s)».x›\n",
     "def f(s, found, value, result, candidate):\n    found_2 = s() or s\n    if found_2 is None:\n"
     "        return None\n    return found_2.x\n"),
    ("early-return", NONE, "def f(s):\n    match s:\n        case {**found}: pass\n    nonlocal_ = 1\n    return ‹«s['a']()».x›\n",
     "def f(s):\n    match s:\n        case {**found}: pass\n    nonlocal_ = 1\n    value = s['a']()\n"
     "    if value is None:\n        return None\n    return value.x\n"),
    ("early-return", NONE, "def f(s):\n    global found\n    return ‹«s.get(1)».x›\n",
     "def f(s):\n    global found\n    value = s.get(1)\n    if value is None:\n        return None\n    return value.x\n"),
    # facts that do not hold any more
    ("early-return", NONE, "def f(a):\n    if a is not None:\n        a = g()\n        ‹«a».b›()\n",
     "def f(a):\n    if a is not None:\n        a = g()\n        if a is None:\n            return None\n        a.b()\n"),
    ("early-return", NONE, "def f(a):\n    if a is None:\n        a.c()\n    ‹«a».b›()\n",
     "def f(a):\n    if a is None:\n        a.c()\n    if a is None:\n        return None\n    a.b()\n"),
    ("early-return", NONE, "def f(a):\n    if c or a:\n        ‹«a».b›()\n",
     "def f(a):\n    if c or a:\n        if a is None:\n            return None\n        a.b()\n"),
    ("early-return", NONE, "def f(a):\n    while g(a):\n        ‹«a».b›()\n",
     "def f(a):\n    while g(a):\n        if a is None:\n            return None\n        a.b()\n"),
    ("early-return", NONE, "def f(a, b):\n    return (a or b) and not b and a > 1 and len(b) and ‹«a[b.c]».d›\n", None),
    ("early-return", NONE, "def f(a, b):\n    return (a or b) and not b and a > 1 and len(b) and ‹«a».d›\n",
     "def f(a, b):\n    if (a or b) and not b and a > 1 and len(b) and a is None:\n        return None\n"
     "    return (a or b) and not b and a > 1 and len(b) and a.d\n"),
    ("early-return", NONE, "def f(s):\n    global g\n    g = 1\n    return ‹«s.get('class')».x›\n",
     "def f(s):\n    global g\n    g = 1\n    found = s.get('class')\n    if found is None:\n        return None\n    return found.x\n"),
    ("wrap-statement", BARE, "def f(u):\n    if c:\n        n = 1\n    else:\n        global k\n        n = 2\n    n = ‹«u».n›\n    g(n)\n",
     "def f(u):\n    if c:\n        n = 1\n    else:\n        global k\n        n = 2\n    if u is not None:\n        n = u.n\n    g(n)\n"),
    # headers and clauses
    ("or-default", NONE, "if 1:\n    if a: pass\n    elif ‹«b».c›: pass\n",
     "if 1:\n    if a: pass\n    elif (b or None).c: pass\n"),
    ("condition-prefix", BARE, "match a:\n    case 1 if ‹«a».b›:\n        pass\n",
     "match a:\n    case 1 if a is not None and a.b:\n        pass\n"),
    ("or-default", NONE, "try:\n    pass\nexcept ‹«e».E›:\n    pass\n", "try:\n    pass\nexcept (e or None).E:\n    pass\n"),
    ("or-default", NONE, "class A(‹«m».B›):\n    x = 1\n", "class A((m or None).B):\n    x = 1\n"),
    ("or-default", NONE, "class A:\n    class B:\n        x = ‹«m».B›\n    y = 1\n",
     "class A:\n    class B:\n        x = (m or None).B\n    y = 1\n"),
    # f-strings
    ("or-default", Parameters('"\'"'), "x = f'{‹«a».b›}'\n", None),
    ("or-default", Parameters("''"), "x = f'{‹«a».b›}'\n", "x = f'{(a or \"\").b}'\n"),
    ("or-default", Parameters("''"), "x = f'''{f\"{‹«a».b›}\"}'''\n", None),
    ("or-default", Parameters("'\\n'"), "x = f'{‹«a».b›}'\n", None),
    # questions
    ("condition-prefix", BARE, "if a or (‹«b».c› and d): pass\n", "if a or (b is not None and b.c and d): pass\n"),
    ("condition-prefix", BARE, "x = ‹«a» > 1› and c\n", "x = a is not None and a > 1 and c\n"),
    ("condition-prefix", BARE, "x = not (‹«a».b› and c)\n", "x = not (a is not None and a.b and c)\n"),
    ("condition-prefix", BARE, "x = 1 < ‹«a».b› < 3\n", "x = a is not None and 1 < a.b < 3\n"),
    ("condition-prefix", BARE, "x = any(‹«u».a› > 1 for u in us)\n",
     "x = any(u is not None and u.a > 1 for u in us)\n"),
    ("condition-or", BARE, "f = lambda u: not ‹«u».a›\n", "f = lambda u: u is None or not u.a\n"),
    # runs
    ("wrap-statement", BARE, "def f(u):\n    try:\n        pass\n    except E as n:\n        n = ‹«u».n›\n        g(n)\n",
     "def f(u):\n    try:\n        pass\n    except E as n:\n        if u is not None:\n            n = u.n\n        g(n)\n"),
    ("wrap-statement", BARE, "def f(u):\n    with g() as n:\n        n = ‹«u».n›\n        g(n)\n",
     "def f(u):\n    with g() as n:\n        if u is not None:\n            n = u.n\n        g(n)\n"),
    ("wrap-statement", BARE,
     "def f(u):\n    if c: n = 1\n    else: n = 2\n    with c as k: m = 1\n    def h(): pass\n    n, m, h = ‹«u».n›\n    g(n, m, h)\n",
     "def f(u):\n    if c: n = 1\n    else: n = 2\n    with c as k: m = 1\n    def h(): pass\n"
     "    if u is not None:\n        n, m, h = u.n\n    g(n, m, h)\n"),
    ("wrap-statement", BARE, "def f(u):\n    n = ‹«u».b› + \\\n        g(\n            1)\n    # n\n    g(n)\n",
     "def f(u):\n    if u is not None:\n        n = u.b + \\\n            g(\n                1)\n        # n\n        g(n)\n"),
    ("missing-import", Parameters("import j", Test.NO_EXCEPTION), "import a\nx = ‹«j».k›\nimport c\n",
     "import a\nimport j\nx = j.k\nimport c\n"),
    ("initialise-name", NONE, "def f():\n    global k\n    if k: x = 1\n    return «x»\n",
     "def f():\n    global k\n    x = None\n    if k: x = 1\n    return x\n"),
    # handlers and the rest
    ("try-around", ERROR, "a, (b, c) = ‹«d»['k']›\n".replace("(b, c)", "b"),
     "try:\n    a, b = d['k']\nexcept KeyError:\n    a, b = 0\n"),
    ("except-widen", Parameters(None, Test.NO_EXCEPTION, ("TypeError",)),
     "try:\n    try: int(«s»)\n    except A: raise\n    else: pass\nexcept B: pass\n",
     "try:\n    try: int(s)\n    except A: raise\n    else: pass\nexcept (B, TypeError): pass\n"),
    ("comprehension-filter", BARE, "x = [‹«v».a› for u in us for v in u]\n",
     "x = [v.a for u in us for v in u if v is not None]\n"),
    ("conditional-expression", NONE, "for (a, b), ‹«c».d› in x: pass\n", None),
    ("conditional-expression", NONE, "for a, (b, ‹«c».d›) in x: pass\n", None),
    ("continue-loop", BARE, "for u in us:\n    @«u»\n    def g(): pass\n",
     "for u in us:\n    if u is None:\n        continue\n    @u\n    def g(): pass\n"),
]  # fmt: skip

REFUSED = [
    ("conditional-expression", RANGE, "x = «d»\n", "no subscript"),
    ("conditional-expression", Parameters("-" * 1500 + "1"), "x = ‹«d».b›\n", "too deeply"),
    ("or-default", NONE, "try:\n    pass\nexcept ‹«e».E› :\n    pass\n", "byte for byte"),
    ("conditional-expression", KEY, "x = ‹«d»[f()]›\n", "evaluated twice"),
    ("conditional-expression", KEY, "x = ‹«d»[1:2]›\n", "no subscript"),
    ("conditional-expression", KEY, "x = ‹«d».get(1)›\n", "no subscript"),
    ("conditional-expression", RANGE, "x = ‹«f()»[i]›\n", "evaluated twice"),
    ("conditional-expression", Parameters("0", Test.IS_INSTANCE), "x = ‹«d».b›\n", "no class"),
    ("conditional-expression", Parameters("0", Test.IS_INSTANCE, ("a b",)), "x = ‹«d».b›\n", "no name"),
    ("conditional-expression", Parameters("0", Test.IS_INSTANCE, ("class",)), "x = ‹«d».b›\n", "no name"),
    ("conditional-expression", ERROR, "x = ‹«d».b›\n", "cannot express"),
    ("conditional-expression", Parameters(), "x = ‹«d».b›\n", "needs a default"),
    ("conditional-expression", Parameters("x" * 3000), "x = ‹«d».b›\n", "too long"),
    ("conditional-expression", Parameters("(1,\n2)"), "x = ‹«d».b›\n", "more than one line"),
    ("conditional-expression", Parameters("(y := 1)"), "x = ‹«d».b›\n", "more than a value"),
    ("conditional-expression", NONE, "x = [y for y in ‹«f()».b›]\n", "would not compile"),
    ("conditional-expression", NONE, "x = «(a if a is not None else None)»\n", "falls back"),
    ("or-default", NONE, "x = ‹«(a or None)».b›\n", "falls back"),
    ("conditional-expression", NONE, "x = isinstance(a, B) and ‹«a».b›\n", "already guarded"),
    ("conditional-expression", NONE, "x = (a := f()) is not None and ‹«a».b›\n", "already guarded"),
    ("conditional-expression", NONE, "if c:\n    pass\nelif not a:\n    pass\nelse:\n    x = ‹«a».b›\n", "already guarded"),
    ("early-return", NONE, "def f(a):\n    assert a is not None\n    ‹«a».b›()\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    if len(a) < 2: return\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    if len(a) <= 1: return\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    if len(a) != 2: return\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    assert len(a) > 1\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    assert len(a) >= 3\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    assert len(a) == 2\n    g(‹«a»[1]›)\n", "already guarded"),
    ("early-return", RANGE, "def f(a):\n    if len(a) != 2: return\n    c, d = ‹«a»›\n", "already guarded"),
    ("early-return", NONE, "def f(a):\n    assert g(a)\n    if c(a): a = 1\n    return g(a).b(a) + ‹«a.c».d›\n", "may change"),
    ("early-return", NONE, "def f(a):\n    return f(a) + ‹«g(a)».d›\n", "before what stands before"),
    ("early-return", NONE, "def f(a):\n    return a.x + ‹«a.g()».d›\n", "before what stands before"),
    ("early-return", NONE, "def f(a):\n    return c and ‹«g(a)».d›\n", "not always evaluate"),
    ("early-return", NONE, "def f(a):\n    return g(c) and ‹«a».d›\n", "may not be evaluated twice"),
    ("early-return", NONE, "def f(a):\n    with g() as a, ‹«a».d›: pass\n", "may change"),
    ("early-return", NONE, "def f(a):\n    with c, ‹«g()».d›: pass\n", "before what stands before"),
    ("early-return", NONE, "def f(a):\n    match a:\n        case 1 if ‹«a».d›: pass\n", "this clause"),
    ("early-return", NONE, "def f(a):\n    try: pass\n    except ‹«a».d›: pass\n", "this clause"),
    ("early-return", Parameters("1"), "def f(a):\n    yield ‹«a».d›\n", "this generator"),
    ("early-return", NONE, "def f(a):\n    return 0 < c < ‹«a».d›\n", "repeatedly"),
    ("early-return", NONE, "def f(a):\n    if x: pass; \\\n        ‹«a».d›()\n", "compile"),
    ("wrap-statement", BARE, "def f(a): x = ‹«a».d›; g(x)\n", "lines of their own"),
    ("wrap-statement", BARE, "def f(a):\n    x = ‹«a».d›; g(x)\n", "lines of their own"),
    ("wrap-statement", BARE, "def f(a):\n    c and ‹«a».d›()\n", "not always evaluate"),
    ("wrap-statement", BARE, "class A:\n    ‹«f()».d›()\n", "attribute of the class"),
    ("continue-loop", BARE, "for u in us:\n    class A:\n        ‹«u».d›()\n", "not in the body"),
    ("continue-loop", BARE, "for u in us:\n    try: pass\n    finally: ‹«u».d›()\n", "finally"),
    ("comprehension-filter", BARE, "x = [u for u in us for v in us if ‹«u».a›]\n", "condition-prefix"),
    ("condition-prefix", BARE, "x = c and ‹«a».b›\n", "no part of a condition"),
    ("condition-prefix", BARE, "x = [‹«u».a› for u in us]\n", "no part of a condition"),
    ("substitute-before", NONE, "‹«a».b›()\n", "not a local name"),
    ("initialise-name", NONE, "if c: x = 1; y = «x»\n", "surely has a value"),
    ("initialise-name", NONE, "def f(): g(«x»); x = 1\n", "its own line"),
    ("initialise-name", Parameters("0"), "def f():\n    if 'x' in locals(): x = 1\n    g(«x»)\n", "asks which"),
    ("lookup-default", NONE, "x = ‹«f(a)».b›\n", "takes a default"),
    ("try-around", ERROR, "a, b.c = ‹«d»['k']›\n", "plain names"),
    ("or-default", NONE, "for a, ‹«c».d› in x: pass\n", "discarded"),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "parameters", "before", "after"), EDITS)
def test_edit(guard: str, parameters: Parameters, before: str, after: str | None) -> None:
    source, target = marked(before)
    if after is None:
        with pytest.raises(RefusedError):
            apply(source, target, guards()[guard], parameters)
    else:
        assert apply(source, target, guards()[guard], parameters).apply_to(source).decode() == after


@pytest.mark.parametrize(("guard", "parameters", "before", "reason"), REFUSED)
def test_refusal(guard: str, parameters: Parameters, before: str, reason: str) -> None:
    source, target = marked(before)
    with pytest.raises(RefusedError, match=reason):
        apply(source, target, guards()[guard], parameters)


class _Invalid(Guard):
    """Asks libcst for a name that is none."""

    family = Family.WRAP
    summary = "never right"

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        del parameters
        return site.replaced(site.receiver, cst.Name(""))


def test_a_tree_that_libcst_will_not_build_is_a_refusal() -> None:
    source, target = marked("x = ‹«u».b›\n")
    with pytest.raises(RefusedError, match="the concrete syntax tree cannot be built here"):
        apply(source, target, _Invalid(), BARE)
