"""What is proposed for a fault, with which defaults, and in which order."""

from __future__ import annotations

import pytest
from tiny_repairs import crash_site

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultLocation, Frame, Link, Observation, Patch, Site, Value
from selfdebug.stages.locate import locate_call
from selfdebug.stages.propose import (
    Evidence,
    Expectations,
    LocatedSite,
    apply_candidate,
    birth_sites,
    propose,
    read_expectations,
)

NONE_ATTRIBUTE = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'name'")


def patches(
    text: str,
    line: int,
    exception: ExceptionRecord,
    observations: tuple[Observation, ...] = (),
    wanted: Expectations = Expectations(),  # noqa: B008 - a frozen record
) -> list[Patch]:
    """The edits of the candidates that fit, in order, each once."""
    place = crash_site(text, line, exception)
    found: dict[bytes, Patch] = {}
    for candidate in propose([place], Evidence(exception, observations, wanted)):
        try:
            patch = apply_candidate(candidate, place.source)
        except RefusedError:
            continue
        found.setdefault(patch.after, patch)
    return list(found.values())


def after(found: list[Patch], index: int = 0) -> str:
    return found[index].after.decode()


def seen(place: LocatedSite, index: int, type_: str, in_failure: bool = False) -> Observation:
    receiver = place.location.receivers[index]
    value = Value(type_, "...", is_none=type_ == "NoneType")
    return Observation("t", "m.py", receiver.code, receiver.receiver, value, 1, in_failure)


def test_a_condition_in_front_comes_before_everything_else() -> None:
    found = patches("def f(u):\n    if u.name == 'x':\n        return 1\n    return 2\n", 2, NONE_ATTRIBUTE)
    assert after(found) == "def f(u):\n    if u is not None and u.name == 'x':\n        return 1\n    return 2\n"


def test_other_returns_and_the_annotation_give_the_early_return() -> None:
    found = patches('def f(u) -> str:\n    """Name."""\n    x = u.name\n    return x\n', 3, NONE_ATTRIBUTE)
    early = [patch for patch in found if patch.candidate.guard == "early-return"]
    assert early[0].candidate.default == '""'
    assert early[0].candidate.default_source == "f is annotated to return it"
    own = patches("def f(u):\n    if u == 3:\n        return -1\n    x = u.name\n    return x\n", 4, NONE_ATTRIBUTE)
    early = [patch for patch in own if patch.candidate.guard == "early-return"]
    assert (early[0].candidate.default, early[0].candidate.default_source) == ("-1", "f returns -1 elsewhere")


def test_classes_seen_in_working_evaluations_give_the_default() -> None:
    text = "def f(d):\n    return d.get('k') + 1\n"
    exception = ExceptionRecord("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'")
    place = crash_site(text, 2, exception)
    plain = patches(text, 2, exception, (seen(place, 0, "float"),))
    assert plain[0].candidate.guard == "lookup-default"
    assert plain[0].candidate.default == "0.0"
    assert plain[0].candidate.default_source == "d.get('k') was float elsewhere"


@pytest.mark.parametrize(
    ("use", "message", "why"),
    [
        ("x.strip()", "'NoneType' object has no attribute 'strip'", "it supports every use of x in f"),
        ("g(x).strip()", "'NoneType' object has no attribute 'strip'", "it has the attribute strip"),
        ("[y for y in x]", "'NoneType' object is not iterable", "it can be iterated over"),
        ("x + 1", "unsupported operand type(s) for +: 'NoneType' and 'int'", "it can be an operand of +"),
        ("len(x)", "object of type 'NoneType' has no len()", "len may take it"),
    ],
)
def test_a_default_says_which_use_it_supports(use: str, message: str, why: str) -> None:
    exception = ExceptionRecord("AttributeError" if "attribute" in message else "TypeError", message)
    reasons = {patch.candidate.default_source for patch in patches(f"def f(x):\n    return {use}\n", 2, exception)}
    assert {why, "a neutral value"} <= reasons


def test_a_neutral_literal_of_the_failing_test_is_brought_forward() -> None:
    text = "def f(u):\n    return u.name\n"
    wanted = read_expectations("def test_f():\n    assert f(None) == 0\n", 2)
    assert wanted.neutral == ("0",)
    assert (
        after(patches(text, 2, NONE_ATTRIBUTE, (), wanted)) == "def f(u):\n    return u.name if u is not None else 0\n"
    )


def test_the_answer_of_the_test_comes_last_and_is_labelled() -> None:
    text = "def f(u):\n    x = u.name\n    return x\n"
    wanted = read_expectations("def test_f():\n    assert f(None) == 'Bob'\n", 2)
    found = patches(text, 2, NONE_ATTRIBUTE, (), wanted)
    answers = [number for number, patch in enumerate(found) if patch.candidate.default == '"Bob"']
    assert answers and min(answers) > len(found) - len(answers) - 1
    assert found[-1].candidate.default_source == "a literal of the failing test"


def test_an_expected_exception_is_raised_by_the_guard() -> None:
    wanted = read_expectations("def test_f():\n    with pytest.raises(ValueError):\n        f(None)\n", 3)
    found = patches("def f(u):\n    x = u.name\n    return x\n", 2, NONE_ATTRIBUTE, (), wanted)
    assert 'raise ValueError("u is missing")' in after(found)


def test_a_handler_that_lacks_only_the_type_is_widened_first() -> None:
    exception = ExceptionRecord("TypeError", "int() argument must be a string, not 'NoneType'")
    text = "def f(d):\n    try:\n        return int(d.get('k'))\n    except ValueError:\n        return 1\n"
    found = patches(text, 3, exception)
    widened = next(number for number, patch in enumerate(found) if patch.candidate.guard == "except-widen")
    early = next(number for number, patch in enumerate(found) if patch.candidate.guard == "early-return")
    assert widened < early
    assert "except (ValueError, TypeError):" in after(found, widened)


def test_a_call_whose_result_nobody_reads_is_wrapped_rather_than_given_a_value() -> None:
    found = patches("def f(v):\n    v.name()\n    return 1\n", 2, NONE_ATTRIBUTE)
    assert found[0].candidate.guard == "wrap-statement"


def test_none_is_never_given_to_getattr_with_a_default_nor_converted() -> None:
    guards = {patch.candidate.guard for patch in patches("def f(u):\n    return u.name\n", 2, NONE_ATTRIBUTE)}
    assert guards & {"conditional-expression", "early-return"}
    assert not guards & {"getattr-default", "coercion", "replace-name", "missing-import"}


@pytest.mark.parametrize(
    ("text", "line", "exception", "expected"),
    [
        (
            "import os\n\n\ndef f():\n    return json.dumps(os)\n",
            5,
            ExceptionRecord("NameError", "name 'json' is not defined"),
            "import os\nimport json\n\n\ndef f():\n    return json.dumps(os)\n",
        ),
        (
            "def f(length):\n    return lenght\n",
            2,
            ExceptionRecord("NameError", "name 'lenght' is not defined"),
            "def f(length):\n    return length\n",
        ),
        (
            "class A:\n    def __init__(self):\n        self.total = 1\n    def f(self):\n        return total\n",
            5,
            ExceptionRecord("NameError", "name 'total' is not defined"),
            "class A:\n    def __init__(self):\n        self.total = 1\n    def f(self):\n        return self.total\n",
        ),
        (
            "def f(d):\n    return d['k']\n",
            2,
            ExceptionRecord("KeyError", "'k'"),
            "def f(d):\n    return d.get('k')\n",
        ),
        (
            "def f(x, y):\n    return x / y\n",
            2,
            ExceptionRecord("ZeroDivisionError", "division by zero"),
            "def f(x, y):\n    return x / y if y != 0 else None\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        best = x\n    return best\n",
            4,
            ExceptionRecord("UnboundLocalError", "cannot access local variable 'best' where it is not associated"),
            "def f(xs):\n    best = None\n    for x in xs:\n        best = x\n    return best\n",
        ),
    ],
)
def test_each_kind_of_fault_has_its_first_candidate(
    text: str, line: int, exception: ExceptionRecord, expected: str
) -> None:
    assert after(patches(text, line, exception)) == expected


def test_a_wrong_class_is_converted_or_tested_for() -> None:
    text = "def f(x):\n    return 'a' + x\n"
    exception = ExceptionRecord("TypeError", 'can only concatenate str (not "int") to str')
    place = crash_site(text, 2, exception)
    found = patches(text, 2, exception, (seen(place, 0, "int", in_failure=True), seen(place, 0, "str")))
    texts = [patch.after.decode() for patch in found]
    assert "def f(x):\n    return 'a' + (str(x) if isinstance(x, int) else x)\n" in texts
    assert any("isinstance(x, str)" in text for text in texts)


def test_an_undated_sort_key_sorts_last() -> None:
    text = "def f(ts):\n    return sorted(ts, key=lambda t: t.due.name)\n"
    found = patches(text, 2, NONE_ATTRIBUTE)
    assert 't.due.name if t.due is not None else float("inf")' in after(found)


def test_a_caller_is_a_site_only_for_arguments_that_were_none() -> None:
    text = "def helper(x):\n    return x.name\n\n\ndef f(a, b):\n    return helper(a) + helper(b)\n"
    source = Source.parse(text.encode())
    crash = crash_site(text, 2, NONE_ATTRIBUTE)
    call = locate_call(Frame("m.py", 6, "f", "m.py"), source)
    assert isinstance(call, FaultLocation)
    caller = LocatedSite(Site.CALLER, call, source)
    was_none = seen(caller, 1, "NoneType", in_failure=True)
    evidence = Evidence(NONE_ATTRIBUTE, (was_none,), Expectations())
    candidates = [candidate for candidate in propose([crash, caller], evidence) if candidate.site is Site.CALLER]
    assert {candidate.receiver_code for candidate in candidates} == {"b"}
    assert not [
        candidate
        for candidate in propose([crash, caller], Evidence(NONE_ATTRIBUTE, (), Expectations()))
        if candidate.site is Site.CALLER
    ]


@pytest.mark.parametrize(
    ("test", "neutral", "answers", "exceptions"),
    [
        ("assert f() is None", ("None",), (), ()),
        ("assert f() == [] and g() == {}", ("[]", "{}"), (), ()),
        ("assert f() == {'a': None, 'b': 3}", ("None",), ("3",), ()),
        ("assert not f()", ("False",), (), ()),
        ("assert f()", ("True",), (), ()),
        ("self.assertIsNone(f())", ("None",), (), ()),
        ("self.assertEqual(f('in'), '')", ('""',), ('"in"',)[:0], ()),
        ("self.assertFalse(f())", ("False",), (), ()),
        ("self.assertTrue(f())", ("True",), (), ()),
        ("with pytest.raises((KeyError, errors.Missing)): f()", (), (), ("KeyError", "Missing")),
        ("assert f(1, None) == -1", (), ("-1",), ()),
    ],
)
def test_expectations_are_read_from_the_test(
    test: str, neutral: tuple[str, ...], answers: tuple[str, ...], exceptions: tuple[str, ...]
) -> None:
    found = read_expectations(f"def test_other():\n    assert x == 7\n\n\ndef test_f(self):\n    {test}\n", 6)
    assert found == Expectations(neutral, answers, exceptions)


def test_a_test_file_that_does_not_parse_expects_nothing() -> None:
    assert read_expectations("def test(:\n", 1) == Expectations()


def test_the_default_has_the_quotes_of_the_file() -> None:
    found = patches("NAME = 'x'\n\n\ndef f(u) -> str:\n    return u.name\n", 5, NONE_ATTRIBUTE)
    assert after(found).endswith("return u.name if u is not None else ''\n")


def early_defaults(text: str, line: int, message: str) -> list[str | None]:
    """The defaults of early returns, in order."""
    found = patches(text, line, ExceptionRecord("TypeError", message))
    return [patch.candidate.default for patch in found if patch.candidate.guard == "early-return"]


def test_what_a_function_passes_on_is_returned_early() -> None:
    text = (
        "class T:\n    def find(self, i):\n        if i:\n            return None, 'a'\n        return i, self\n"
        "    def next(self, i):\n        i += 1\n        return self.find(i)\n"
    )
    message = "unsupported operand type(s) for +=: 'NoneType' and 'int'"
    assert early_defaults(text, 7, message)[0] == '(None, "a")'


def test_a_result_that_callers_take_apart_is_a_tuple_of_nones() -> None:
    text = (
        "def next_(i):\n    i += 1\n    return find(i)\n\n"
        "def use(x):\n    index, token = x.next_(1)\n    [one, *rest] = next_(2)\n"
    )
    message = "unsupported operand type(s) for +=: 'NoneType' and 'int'"
    assert early_defaults(text, 2, message)[0] == "(None, None)"


STORED = (
    "class S:\n    def __init__(self, o=None):\n        self.o = o\n        self.p = None\n"
    "    def make(self):\n        q = self.o\n        return dict(**q)\n"
)


def link(line: int, function: str, kind: str, value: str = "None", file: str = "m.py") -> Link:
    return Link(file, line, 0, function, "...", value, kind, "observed", "...")


def test_a_value_gets_its_default_where_it_was_handed_on() -> None:
    place = crash_site(STORED, 7, ExceptionRecord("TypeError", "argument after ** must be a mapping, not NoneType"))
    chain = (
        link(6, "make", "assignment"),
        link(3, "__init__", "attribute"),
        link(3, "__init__", "attribute"),
        link(2, "__init__", "parameter"),
        link(4, "__init__", "attribute"),
        link(3, "__init__", "attribute", value="3"),
        link(9, "f", "return", file="gone.py"),
    )
    births = list(birth_sites(chain, place.location, lambda name: place.source if name == "m.py" else "not there"))
    assert [(birth.site, birth.location.statement_code) for birth in births] == [
        (Site.FUNCTION, "q = self.o"),
        (Site.ORIGIN, "self.o = o"),
    ]
    proposed = list(propose([births[1]], Evidence(ExceptionRecord("TypeError", "..."), (), Expectations())))
    first = apply_candidate(proposed[0], place.source)
    assert first.after.decode() == STORED.replace("self.o = o", "self.o = o or {}")
    assert {candidate.guard for candidate in proposed} == {
        "or-default",
        "receiver-default",
        "substitute-before",
        "substitute-parameter",
    }


def test_only_a_none_has_births_that_a_default_can_end() -> None:
    place = crash_site("def f(d):\n    x = d\n    return x['a']\n", 3, ExceptionRecord("KeyError", "'a'"))
    assert not list(birth_sites((link(2, "f", "assignment"),), place.location, lambda _: place.source))


def test_a_guard_of_the_module_lends_what_it_returns() -> None:
    text = (
        "def a(value):\n    if value is None:\n        return str(value)\n    return 1\n\n"
        "def b(other):\n    if other:\n        return str(other)\n    return 2\n\n"
        "def c(value):\n    days = find(value)\n    return days + 1\n"
    )
    defaults = early_defaults(text, 13, "unsupported operand type(s) for +: 'NoneType' and 'int'")
    assert "str(value)" in defaults[:4]
    assert "str(other)" not in defaults


def test_a_fallback_of_another_method_that_only_knows_self_is_not_lent() -> None:
    text = (
        "class T:\n    def a(self):\n        if self.x is None:\n            return self.y\n        return self.x\n"
        "    def b(self, i):\n        return i + 1\n"
    )
    assert "self.y" not in early_defaults(text, 7, "unsupported operand type(s) for +: 'NoneType' and 'int'")


def test_a_parameter_that_is_given_back_elsewhere_is_given_back_early() -> None:
    text = "def push(item, key):\n    key, data = find(key)\n    item[key] = data\n    return item\n"
    defaults = early_defaults(text, 2, "cannot unpack non-iterable NoneType object")
    assert defaults[0] == "item"


def test_an_exception_out_of_a_call_is_handled_only_where_it_is_raised() -> None:
    exception = ExceptionRecord("ValueError", "invalid literal for int() with base 10: 'x'")
    text = "def f(x):\n    n = int(x)\n    return n\n"
    found = patches(text, 2, exception)
    assert {patch.candidate.guard for patch in found} == {"try-around", "try-return"}
    assert after(found).startswith("def f(x):\n    try:\n        n = int(x)\n    except ValueError:\n        n = ")
    handled = "def f(x):\n    try:\n        return int(x)\n    except TypeError:\n        return 0\n"
    assert "except (TypeError, ValueError):" in after(patches(handled, 3, exception))
