"""What the project does elsewhere when a thing is missing: mined from files and history, lent to a crash."""

from __future__ import annotations

import ast

import pytest

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import Candidate, ExceptionRecord, FaultLocation, Frame, Site
from selfdebug.stages.locate import locate
from selfdebug.stages.propose import Evidence, Expectations, LocatedSite, Mine, apply_candidate, propose
from selfdebug.stages.propose.donors import donors_in
from selfdebug.workspace import PastChange

NO_NAME = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'name'")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f():\n    u = find(1)\n    if u is None:\n        return ''", ("none", "early-return", '""', "find()")),
        ("if self.conn is None:\n    raise Closed('x')", ("none", "raise", "Closed('x')", "conn")),
        ("while a:\n    if not row.id:\n        continue", ("falsy", "continue", None, "id")),
        ("if tags is None:\n    tags = []", ("none", "substitution", "[]", "tags")),
        ("if user is not None:\n    user.save()\n    log()", ("none", "wrap", None, "user")),
        ("x = a.size if a.size is not None else ZERO", ("none", "expression-default", "ZERO", "size")),
        ("x = D if node.up is None else node.up", ("none", "expression-default", "D", "up")),
        ("x = user.tags or ()", ("falsy", "substitution", "()", "tags")),
        ("x = user is not None and user.ok", ("none", "condition-prefix", None, "user")),
        ("x = [u for u in us if u.mail is not None]", ("none", "filter", None, "mail")),
        ("x = d.get('k', 3)", ("key", "lookup-default", "3", "'k'")),
        ("x = getattr(o, 'size', 0)", ("attribute", "lookup-default", "0", "size")),
        ("if key not in cache:\n    return_ = None", ("key", "expression-default", "None", "cache[]")),
        ("if not isinstance(v, (str, bytes)):\n    raise TypeError", ("class", "raise", "TypeError", "v")),
        ("if not callable(key):\n    key = getter(key)", ("callable", "substitution", "getter(key)", "key")),
        ("if len(parts) != 2:\n    pass", ("length", "wrap", None, "parts")),
        ("x = t / n if n != 0 else 0", ("zero", "expression-default", "0", "n")),
        ("try:\n    x = d['k']\nexcept KeyError:\n    x = -1", ("raised", "handler", "-1", "'k'")),
        ("if hasattr(o, 'close') is None or not hasattr(o, 'open'):\n    pass", ("attribute", "wrap", None, "open")),
        ("if (m := match(s)) is None:\n    return_ = 0", ("none", "expression-default", "0", "match()")),
        ("x = 1 if await find(2) is not None else 0", ("none", "expression-default", "0", "find()")),
    ],
)
def test_a_guard_is_a_donor_with_its_question_its_form_and_its_fallback(
    code: str, expected: tuple[str, str, str | None, str]
) -> None:
    wrapped = f"async def g():\n    {code.replace(chr(10), chr(10) + '    ')}\n" if "await" in code else f"{code}\n"
    lack, family, fallback, word = expected
    found = donors_in(ast.parse(wrapped), "m.py")
    assert (lack, family, fallback) in {(one.lack, one.family, one.fallback) for one in found if word in one.words}


@pytest.mark.parametrize(
    "code",
    [
        "if u is None:\n    log()\n    return_ = 1",
        "x = get('k')",
        "x = d.get(*k)",
        "x = d.get(key='k')",
        "x = [n for n in ns if n is None]",
        "x = a() and b",
        "x = (yield) if u is None else u",
        "if u is None:\n    x = (y := 3)",
        "x = u or (lambda: 1)",
    ],
)
def test_what_has_no_effect_that_could_be_lent_is_no_donor(code: str) -> None:
    found = donors_in(ast.parse(f"def g():\n    {code.replace(chr(10), chr(10) + '    ')}\n"), "m.py")
    assert all(one.fallback in (None, "0") for one in found)
    assert not [one for one in found if one.family == "substitution"]


def first_fits(
    text: str,
    line: int,
    error: ExceptionRecord,
    mine: Mine | None = None,
    wanted: Expectations = Expectations(),  # noqa: B008 - a frozen record
) -> list[tuple[Candidate, str]]:
    """The candidates that fit, in order, with the text they make."""
    source = Source.parse(text.encode())
    location = locate(Frame("m.py", line, None, "m.py"), error, source)
    assert isinstance(location, FaultLocation)
    found = []
    for candidate in propose([LocatedSite(Site.CRASH, location, source)], Evidence(error, (), wanted, mine or Mine())):
        try:
            found.append((candidate, apply_candidate(candidate, source).after.decode()))
        except RefusedError:
            continue
    return found


CRASH = "from s import find\n\ndef title(key):\n    found = find(key)\n    return found.name\n"
ELSEWHERE = "def other(key):\n    item = find(key)\n    if item is None:\n        return '?'\n    return item.name\n"


def mine(**files: str) -> Mine:
    texts = {f"{name}.py": text.encode() for name, text in files.items()}
    return Mine(lambda: texts, texts.get)


def test_another_file_that_asks_the_same_function_lends_its_fallback_and_says_where() -> None:
    found = first_fits(CRASH, 5, NO_NAME, mine(s=ELSEWHERE))
    lent = [(candidate, text) for candidate, text in found if candidate.default == '"?"']
    assert lent[0][0].donor == lent[0][0].default_source == "as in s.py:3"
    assert lent[0][1].endswith('    if found is None:\n        return "?"\n    return found.name\n')
    assert [candidate.default for candidate, _ in found].index('"?"') < 6


def test_a_fallback_that_the_failing_test_names_comes_first_and_is_no_hard_coded_answer() -> None:
    wanted = Expectations(answers=('"?"',))
    candidate, text = first_fits(CRASH, 5, NO_NAME, mine(s=ELSEWHERE), wanted)[0]
    assert '"?"' in text
    assert not candidate.is_hard_coded
    assert first_fits(CRASH, 5, NO_NAME, mine(), wanted)[0][0].default != '"?"'


def test_another_file_about_other_things_lends_nothing() -> None:
    other = "def other(k):\n    item = load(k)\n    if item is None:\n        return '?'\n"
    assert not [one for one, _ in first_fits(CRASH, 5, NO_NAME, mine(s=other)) if one.donor]


def test_names_that_cannot_be_read_here_are_not_lent() -> None:
    other = ELSEWHERE.replace("'?'", "UNKNOWN")
    assert not [one for one, _ in first_fits(CRASH, 5, NO_NAME, mine(s=other)) if one.default == "UNKNOWN"]
    here = "from s import UNKNOWN\n" + CRASH
    assert [one for one, _ in first_fits(here, 6, NO_NAME, mine(s=other)) if one.default == "UNKNOWN"]


def test_the_exception_is_made_as_the_project_makes_it() -> None:
    text = (
        "class C:\n    def a(self):\n        if self.conn is None:\n            raise Closed(self, 'a')\n"
        "        return 1\n\n    def b(self):\n        return self.conn.name\n\nclass Closed(Exception): pass\n"
    )
    found = first_fits(text, 8, NO_NAME, wanted=Expectations(exceptions=("Closed",)))
    assert "            raise Closed(self, 'a')\n        return self.conn.name" in found[0][1]
    assert found[0][0].donor == "as in m.py:3"


def test_the_form_that_the_class_uses_for_the_same_thing_comes_earlier() -> None:
    text = "class C:\n{}    def b(self):\n        self.conn.name()\n        self.tidy()\n"
    early = "    def a(self):\n        if self.conn is None:\n            return\n        self.conn.close()\n\n"
    without = first_fits(text.format(""), 3, NO_NAME)
    assert without[0][0].guard == "wrap-statement"
    with_donor = first_fits(text.format(early), 8, NO_NAME)
    assert (with_donor[0][0].guard, with_donor[0][0].donor) == ("early-return", "as in m.py:3")


def classes_asked(text: str, said: str) -> set[tuple[str, ...]]:
    """What the guards of the last line of a module ask for by `isinstance`, where it raised what is `said`."""
    name, message = said.split(": ", 1)
    found = first_fits(text, text.count("\n"), ExceptionRecord(name, message))
    return {one.classes for one, _ in found if one.test == "isinstance"}


def test_the_classes_that_the_project_asks_for_are_asked_here_too() -> None:
    text = "def a(v):\n    if isinstance(v, dict):\n        return v\n\ndef b(v):\n    return v.items\n"
    said = "AttributeError: 'int' object has no attribute 'items'"
    assert classes_asked(text, said) == {("dict",)}
    assert not classes_asked(text.replace("dict", "unknown.T"), said)


@pytest.mark.parametrize(
    ("use", "said", "asked", "fit"),
    [
        ("v.decode()", "AttributeError: 'str' object has no attribute 'decode'", "list", ()),
        ("v.decode()", "AttributeError: 'str' object has no attribute 'decode'", "(str, bytes)", ("bytes",)),
        ("v.name", "AttributeError: 'int' object has no attribute 'name'", "(list, Named)", ("Named",)),
        ("v[0]", "TypeError: 'int' object is not subscriptable", "(int, tuple)", ("tuple",)),
        ("v()", "TypeError: 'str' object is not callable", "str", ()),
        ("[*v]", "TypeError: 'float' object is not iterable", "(float, set)", ("set",)),
        ("0 in v", "TypeError: argument of type 'float' is not iterable", "(bool, bytearray)", ("bytearray",)),
    ],
)
def test_classes_that_cannot_be_used_so_are_not_asked_for(
    use: str, said: str, asked: str, fit: tuple[str, ...]
) -> None:
    text = (
        "class Named:\n    name = 1\n\ndef a(v):\n"
        f"    if isinstance(v, {asked}):\n        return v\n\ndef b(v):\n    return {use}\n"
    )
    assert classes_asked(text, said) == ({fit} if fit else set())


def test_a_look_up_beside_others_gets_their_neutral_default() -> None:
    text = (
        "def a(f):\n    try:\n        return f.__qualname__\n    except AttributeError:\n        return 'nameless'\n"
        "def b(f):\n    doc = getattr(f, '__doc__', None)\n    name = f.__qualname__\n    return doc, name\n"
    )
    error = ExceptionRecord("AttributeError", "'A' object has no attribute '__qualname__'")
    first = next(each for each, _ in first_fits(text, 8, error) if each.guard == "getattr-default")
    assert (first.default, first.donor) == ("None", "as in m.py:7")


def test_a_look_up_beside_others_that_give_none_gives_none_too() -> None:
    text = (
        "def check(options):\n    case = options['case']\n"
        "    if case not in (None, 'upper'):\n        raise ValueError(case)\n"
        "    indent = options.get('indent')\n    if indent not in (None, 2):\n        raise ValueError(indent)\n"
    )
    error = ExceptionRecord("KeyError", "'case'", key="'case'")
    first, after = first_fits(text, 2, error)[0]
    assert (first.guard, first.default, first.donor) == ("lookup-default", "None", "as in m.py:5")
    assert after == text.replace("options['case']", "options.get('case')")


def test_a_value_of_another_kind_is_made_what_the_project_makes_of_it() -> None:
    text = (
        "from keys import getter\n"
        "def group(key, items):\n    if not callable(key):\n        key = getter(key)\n    return map(key, items)\n"
        "def first(key, items):\n    return key(items[0])\n"
    )
    error = ExceptionRecord("TypeError", "'str' object is not callable")
    fitting = [each for each, _ in first_fits(text, 7, error) if each.donor]
    assert [(each.guard, each.default, each.donor) for each in fitting] == [
        ("substitute-before", "getter(key)", "as in m.py:3")
    ]


@pytest.mark.parametrize(
    ("text", "line", "error", "default"),
    [
        (
            "def a(d):\n    return d.get('size', 7)\n\ndef b(d):\n    return d['size']\n",
            5, ExceptionRecord("KeyError", "'size'", key="'size'"), "7",
        ),
        (
            "def a(o):\n    return getattr(o, 'size', 7)\n\ndef b(o):\n    return o.size\n",
            5, ExceptionRecord("AttributeError", "'A' object has no attribute 'size'"), "7",
        ),
        (
            "def a(xs):\n    return xs[0] if len(xs) > 0 else EMPTY\n\ndef b(xs):\n    return xs[0]\n\nEMPTY = 1\n",
            5, ExceptionRecord("IndexError", "list index out of range"), "EMPTY",
        ),
        (
            "def a(t, n):\n    return t / n if n != 0 else -1\n\ndef b(t, n):\n    return t / n\n",
            5, ExceptionRecord("ZeroDivisionError", "division by zero"), "-1",
        ),
        (
            "def a(s):\n  try:\n    x = int(s)\n  except ValueError:\n    return -9\n\ndef b(s):\n  return int(s)\n",
            8, ExceptionRecord("ValueError", "invalid literal for int()"), "-9",
        ),
    ],
)  # fmt: skip
def test_each_kind_of_lack_has_its_donors(text: str, line: int, error: ExceptionRecord, default: str) -> None:
    found = first_fits(text, line, error)
    assert found[0][0].default == default
    assert (found[0][0].donor or "").startswith("as in m.py:")


def test_an_earlier_fix_lends_what_it_added_and_names_the_commit() -> None:
    before = "def x(a):\n    if a.b is None:\n        return 1\n    return find(a).name\n"
    after = before.replace("    return find", "    if find(a) is None:\n        return '??'\n    return find")
    past = Mine(changes=lambda: [PastChange("abc123", "old.py", before.encode(), after.encode())])
    lent = [one for one, _ in first_fits(CRASH, 5, NO_NAME, past) if one.donor]
    assert {one.donor for one in lent} == {"as in old.py:4 (since abc123)"}
    assert '"??"' in {one.default for one in lent}


def test_files_that_cannot_be_parsed_or_are_no_longer_there_lend_nothing() -> None:
    texts = {"a.py": b"def find(:\n", "b.py": None, "c.py": b"find = 1\n" * 40_000}
    assert not [one for one, _ in first_fits(CRASH, 5, NO_NAME, Mine(lambda: texts, texts.get)) if one.donor]


def test_a_file_is_read_once_a_run() -> None:
    reads: list[str] = []

    def read(file: str) -> bytes:
        reads.append(file)
        return ELSEWHERE.encode()

    project = Mine(lambda: ["s.py"], read)
    first_fits(CRASH, 5, NO_NAME, project)
    first_fits(CRASH, 5, NO_NAME, project)
    assert reads == ["s.py"]
