"""Each kind of fault end to end through the stages: the first patch that passes is the one that people would write."""

from __future__ import annotations

import pytest
from tiny_repairs import repaired

# name, module, test, guard, a line of the patched module, and how many candidates may be tried at most
CASES = [
    (
        "a missing key",
        "PRICES = {'a': 1}\ndef f(k):\n    return PRICES[k] * 2\n",
        "assert f('a') == 2\nassert f('b') == 0",
        ("lookup-default", "return PRICES.get(k, 0) * 2", 1),
    ),
    (
        "a missing key that is deleted",
        "def f(d):\n    del d['k']\n    return d\n",
        "assert f({'k': 1}) == {}\nassert f({}) == {}",
        ("lookup-default", "d.pop('k', None)", 1),
    ),
    (
        "a count without a start",
        "def f(ws):\n    n = {}\n    for w in ws:\n        n[w] += 1\n    return n\n",
        "assert f('aab') == {'a': 2, 'b': 1}",
        ("set-default", "n[w] = n.get(w, 0) + 1", 1),
    ),
    (
        "a list without a start",
        "def f(ws):\n    n = {}\n    for w in ws:\n        n[w].append(1)\n    return n\n",
        "assert f('aab') == {'a': [1, 1], 'b': [1]}",
        ("set-default", "n.setdefault(w, []).append(1)", 8),
    ),
    (
        "an inner mapping that is not there",
        "def f(d, a, b):\n    d[a][b] = 1\n    return d\n",
        "assert f({}, 'a', 'b') == {'a': {'b': 1}}\nassert f({'a': {}}, 'a', 'b') == {'a': {'b': 1}}",
        ("set-default", "d.setdefault(a, {})[b] = 1", 2),
    ),
    (
        "a factor that is not there",
        "def f(rows):\n    return sum(row['n'] * row['price'] for row in rows)\n",
        "assert f([{'n': 2, 'price': 3}, {'price': 5}]) == 11\nassert f([]) == 0",
        ("lookup-default", "return sum(row.get('n', 1) * row['price'] for row in rows)", 8),
    ),
    (
        "an exception that has no name in the module",
        "import json\ndef f(s):\n    d = json.loads(s)\n    return d.get('a')\n",
        "assert f('{}') is None\nassert f('{') is None",
        ("try-return", "except ValueError:", 30),
    ),
    (
        "bytes where a text is searched",
        "def f(s):\n    return s.startswith('#')\n",
        "assert f('#') and not f('a')\nassert f(b'#') is True",
        ("coercion", "return (s.decode() if isinstance(s, bytes) else s).startswith('#')", 1),
    ),
    (
        "a text where a number is added",
        "def f(s):\n    return s + 1\n",
        "assert f(1) == 2\nassert f('80') == 81\nassert f('1') == 2",
        ("coercion", "return (int(s) if isinstance(s, str) else s) + 1", 12),
    ),
    (
        "bytes that are split at a text",
        "def f(s):\n    return s.split(',')\n",
        "assert f('a,b') == ['a', 'b']\nassert f(b'a,b') == ['a', 'b']\nassert f(b'a') == ['a']",
        ("coercion", "return (s.decode() if isinstance(s, bytes) else s).split(',')", 12),
    ),
    (
        "an index beyond an empty list",
        "def f(xs):\n    return xs[0]\n",
        "assert f([3]) == 3\nassert f([]) is None",
        ("conditional-expression", "return xs[0] if len(xs) > 0 else None", 1),
    ),
    (
        "an index that is too high",
        "LEVELS = ['low', 'mid', 'high']\ndef f(n):\n    return LEVELS[n]\n",
        "assert f(0) == 'low'\nassert f(7) == 'high'\nassert f(2) == 'high'",
        ("clamp-high", "return LEVELS[min(n, len(LEVELS) - 1)]", 8),
    ),
    (
        "an index that is too low",
        "def f(xs, n):\n    return xs[-n]\n",
        "assert f([1, 2], 1) == 2\nassert f([1, 2], 5) == 1",
        ("clamp-low", "return xs[max(-n, -len(xs))]", 10),
    ),
    (
        "a part that is not there",
        "def f(s):\n    return s.split(':')[1].strip()\n",
        "assert f('a: b') == 'b'\nassert f('a') == ''",
        ("conditional-expression", "return split[1].strip() if len((split := s.split(':'))) > 1 else ''", 1),
    ),
    (
        "an empty list that is popped",
        "def f(xs):\n    return xs.pop()\n",
        "assert f([1]) == 1\nassert f([]) is None",
        ("conditional-expression", "return xs.pop() if xs else None", 1),
    ),
    (
        "a name without a value after a loop",
        "def f(xs):\n    for x in xs:\n        best = x\n    return best\n",
        "assert f([1]) == 1\nassert f([]) is None",
        ("initialise-name", "best = None", 1),
    ),
    (
        "a name without a value after a handler",
        "def f(s):\n    try:\n        n = int(s)\n    except ValueError:\n        pass\n    return n\n",
        "assert f('1') == 1\nassert f('x') == 0",
        ("initialise-name", "n = 0", 1),
    ),
    (
        "a module that is not imported",
        "def f(x):\n    return json.dumps(x)\n",
        "assert f(1) == '1'",
        ("missing-import", "import json", 1),
    ),
    (
        "a class that is not imported",
        "def f(x):\n    return Path(x).name\n",
        "assert f('a/b') == 'b'",
        ("missing-import", "from pathlib import Path", 1),
    ),
    (
        "a near miss",
        "def f(length):\n    return lenght + 1\n",
        "assert f(1) == 2",
        ("replace-name", "return length + 1", 1),
    ),
    (
        "a missing self",
        "class A:\n    def g(self): return 3\n    def f(self):\n        return g()\n",
        "assert A().f() == 3",
        ("replace-name", "return self.g()", 1),
    ),
    (
        "a near miss of an attribute",
        "class A:\n    def __init__(self):\n        self.colour = 1\ndef f(a):\n    return a.color\n",
        "assert f(A()) == 1",
        ("replace-name", "return a.colour", 1),
    ),
    (
        "an attribute that is set elsewhere only",
        "class A:\n def __init__(self):\n  self.x = 1\n def g(self): self.c = 2\n def f(self):\n  if self.c: 1\n",
        "assert A().f() is None",
        ("initialise-attribute", "self.c = None", 2),
    ),
    (
        "a text that is decoded",
        "def f(x):\n    return x.decode()\n",
        "assert f(b'a') == 'a'\nassert f('a') == 'a'",
        ("conditional-expression", "return x.decode() if isinstance(x, bytes) else x", 4),
    ),
    (
        "an attribute that some classes lack",
        "class A:\n    size = 3\ndef f(x):\n    return x.size\n",
        "assert f(A()) == 3\nassert f(7) == 0",
        ("conditional-expression", "return x.size if isinstance(x, A) else 0", 1),
    ),
    (
        "a division by zero",
        "def f(t, n):\n    return t / n\n",
        "assert f(4, 2) == 2\nassert f(1, 0) == 0",
        ("conditional-expression", "return t / n if n != 0 else 0", 1),
    ),
    (
        "too few parts to unpack",
        "def f(s):\n    a, b = s.split(':')\n    return a + b\n",
        "assert f('a:b') == 'ab'\nassert f('a') is None",
        ("early-return", "if len(split) != 2:", 1),
    ),
    (
        "too few parts to unpack, before a starred name",
        "def f(xs):\n    a, *rest = xs\n    return a, rest\n",
        "assert f([1, 2]) == (1, [2])\nassert f([]) is None",
        ("early-return", "if len(xs) < 1:", 1),
    ),
    (
        "too few parts to unpack in a loop",
        "def f(ls):\n    out = {}\n    for l in ls:\n        k, v = l.split('=')\n        out[k] = v\n    return out\n",
        "assert f(['a=b', 'x']) == {'a': 'b'}",
        ("wrap-statement", "if len(split) == 2:", 2),
    ),
    (
        "bytes beside a text",
        "def f(x):\n    return 'n' + x\n",
        "assert f('a') == 'na'\nassert f(b'a') == 'na'",
        ("coercion", "return 'n' + (x.decode() if isinstance(x, bytes) else x)", 12),
    ),
    (
        "a text beside a number",
        "def f(n):\n    return 1 + n\n",
        "assert f(1) == 2\nassert f('1') == 2",
        ("coercion", "return 1 + (int(n) if isinstance(n, str) else n)", 12),
    ),
    (
        "an object beside a text",
        "import uuid\ndef f(x):\n    return 'id-' + x\n",
        "u = uuid.UUID(int=1)\nassert f('a') == 'id-a'\nassert f(u) == 'id-' + str(u)",
        ("coercion", "return 'id-' + str(x)", 12),
    ),
    (
        "numbers that are joined",
        "def f(xs):\n    return ', '.join(xs)\n",
        "assert f(['a']) == 'a'\nassert f([1, 2]) == '1, 2'",
        ("element-conversion", "return ', '.join(map(str, xs))", 3),
    ),
    (
        "a None that is joined",
        "def f(names):\n    return ', '.join(names)\n",
        "assert f(['a', None, 'b']) == 'a, b'",
        ("element-filter", "return ', '.join(name for name in names if name is not None)", 1),
    ),
    (
        "a None that is added up",
        "def f(xs):\n    return sum(xs)\n",
        "assert f([1, None, 2]) == 3",
        ("element-filter", "return sum(item for item in xs if item is not None)", 1),
    ),
    (
        "a None among attributes that are added up",
        "def f(us):\n    return sum(u.n for u in us)\n",
        "assert f([N(n=1), N(n=None)]) == 1",
        ("comprehension-filter", "return sum(u.n for u in us if u.n is not None)", 1),
    ),
    (
        "a None among which the highest is chosen",
        "def f(xs):\n    return max(xs)\n",
        "assert f([1, None, 2]) == 2",
        ("element-filter", "return max(item for item in xs if item is not None)", 1),
    ),
    (
        "nothing to choose from",
        "def f(xs):\n    return max(xs)\n",
        "assert f([1, 2]) == 2\nassert f([]) is None",
        ("empty-default", "return max(xs, default=None)", 1),
    ),
    (
        "nothing that is next",
        "def f(xs):\n    return next(x for x in xs if x)\n",
        "assert f([1]) == 1\nassert f([0]) is None",
        ("empty-default", "return next((x for x in xs if x), None)", 1),
    ),
    (
        "a None that sorts last",
        "def f(xs):\n    return sorted(xs)\n",
        "assert f([2, None, 1]) == [1, 2, None]",
        ("sort-key", "return sorted(xs, key=lambda item: (item is None, item))", 3),
    ),
    (
        "a None that sorts first",
        "def f(xs):\n    return sorted(xs, key=lambda x: x[1])\n",
        "assert f([(1, 2), (2, None), (3, 1)]) == [(2, None), (3, 1), (1, 2)]",
        ("sort-key-first", "return sorted(xs, key=lambda x: (x[1] is not None, x[1]))", 5),
    ),
    (
        "a None that sorts in place",
        "def f(xs):\n    xs.sort()\n    return xs\n",
        "assert f([2, None, 1]) == [1, 2, None]",
        ("sort-key", "xs.sort(key=lambda item: (item is None, item))", 6),
    ),
    (
        "a comparison with None",
        "def f(x):\n    if x > 3:\n        return 'big'\n    return 'small'\n",
        "assert f(5) == 'big'\nassert f(None) == 'small'",
        ("condition-prefix", "if x is not None and x > 3:", 1),
    ),
    (
        "a value that is called",
        "class A:\n    def __init__(self, items): self.items = items\ndef f(a):\n    return a.items()\n",
        "assert f(A([1])) == [1]",
        ("uncall", "return a.items", 1),
    ),
    (
        "a value where a function may stand",
        "def f(g):\n    return g() + 1\n",
        "assert f(lambda: 1) == 2\nassert f(3) == 4",
        ("conditional-expression", "return (g() if callable(g) else g) + 1", 1),
    ),
    (
        "a None that is awaited",
        "import asyncio\nasync def h(): return 1\nasync def f(g):\n    return await g()\n",
        "assert asyncio.run(f(h)) == 1\nassert asyncio.run(f(lambda: None)) is None",
        ("conditional-expression", "return await found if (found := g()) is not None else None", 1),
    ),
    (
        "one value where several are gone through",
        "def f(xs):\n    return [x for x in xs]\n",
        "assert f([1]) == [1]\nassert f(3) == [3]",
        ("receiver-default", "return [x for x in (xs if isinstance(xs, list) else [xs])]", 3),
    ),
    (
        "a text that is no number",
        "def f(s):\n    return int(s)\n",
        "assert f('1') == 1\nassert f('x') is None",
        ("try-around", "except ValueError:", 2),
    ),
    (
        "what has no length, where the module knows what has one",
        "from collections.abc import Sized\ndef f(xs, n):\n    if len(xs) != n:\n        return\n    return True\n",
        "assert f(iter('a'), 3)",
        ("condition-prefix", "if isinstance(xs, Sized) and len(xs) != n:", 1),
    ),
    (
        "what has no length",
        "def f(xs, n):\n    if len(xs) != n:\n        return False\n    return True\n",
        "assert f(iter('a'), 3)",
        ("condition-prefix", "if hasattr(xs, '__len__') and len(xs) != n:", 1),
    ),
    (
        "what cannot be gone through",
        "def f(xs, ys):\n    for x in xs.x:\n        ys.append(x)\n    return ys\n",
        "from types import SimpleNamespace as N\nassert f(N(x=1), []) == []\nassert f(N(x=1.5), []) == []",
        ("conditional-expression", "for x in xs.x if hasattr(xs.x, '__iter__') else []:", 1),
    ),
    (
        "one of the classes that an annotation has",
        "def f(s: 'str | bytes', e='ascii'):\n    s = s.encode(e)\n    return s\n",
        "assert f(b'a') == b'a'",
        ("wrap-statement", "if isinstance(s, str):", 3),
    ),
    (
        "something that is not there to be removed",
        "def f(xs, x):\n    xs.remove(x)\n    return xs\n",
        "assert f([1], 1) == []\nassert f([1], 2) == [1]",
        ("try-around", "pass", 1),
    ),
]


@pytest.mark.parametrize(("code", "test", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_first_patch_is_what_people_would_write(code: str, test: str, expected: tuple[str, str, int]) -> None:
    guard, line, most = expected
    found = repaired(code, test)
    assert (found.candidate.guard, found.tried <= most) == (guard, True), (found.tried, found.text)
    assert line in [each.strip() for each in found.text.splitlines()]


def test_what_is_in_a_container_is_said_to_be_none() -> None:
    found = repaired("def f(xs):\n    return sum(xs)\n", "assert f([1, None]) == 1")
    assert found.sentence.endswith("an element of xs was None, and None is not accepted by sum.")


def test_nothing_to_choose_from_is_said_to_be_so() -> None:
    found = repaired("def f(xs):\n    return max(xs)\n", "assert f([]) is None")
    assert found.sentence.endswith("there was nothing that max could give.")
