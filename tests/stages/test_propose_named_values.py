"""Defaults by name and by use, and the conditions that ask for what the crash missed."""

from __future__ import annotations

import ast

import pytest

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultKind, FaultLocation, Frame, Patch, Site
from selfdebug.stages.locate import locate
from selfdebug.stages.propose import Evidence, Expectations, LocatedSite, apply_candidate, propose, ranking
from selfdebug.stages.propose.namesakes import hides_class_value, namesakes
from selfdebug.stages.propose.uses import for_every_use, key_of, uses_of

NOT_ITERABLE = ExceptionRecord("TypeError", "'int' object is not iterable")


def found(
    text: str,
    line: int,
    exception: ExceptionRecord,
    kind: Site = Site.CRASH,
    wanted: Expectations = Expectations(),  # noqa: B008 - a frozen record
) -> list[Patch]:
    """The edits that fit at the line, in order, each once."""
    source = Source.parse(text.encode())
    location = locate(Frame("m.py", line, "f", "m.py"), exception, source)
    assert isinstance(location, FaultLocation)
    edits: dict[bytes, Patch] = {}
    for candidate in propose([LocatedSite(kind, location, source)], Evidence(exception, (), wanted)):
        try:
            patch = apply_candidate(candidate, source)
        except RefusedError:
            continue
        edits.setdefault(patch.after, patch)
    return list(edits.values())


def texts(patches: list[Patch]) -> list[str]:
    return [patch.after.decode() for patch in patches]


SIGNER = """\
from limits import DEFAULT_LIMIT
class Base:
    default_digest = None
    @property
    def salt(self): return 1
class Signer(Base):
    sep = '.'
    def sign(self, digest=None, sep=None, salt=None, limit=None, mode=None, self_made=None):
        self.self_made = self_made
        return digest.x(sep, salt)
    def other(self, mode='fast', none=None, *, late=3): pass
    @staticmethod
    def free(digest): return digest.x
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("digest", ["self.default_digest"]),
        ("sep", ["self.sep"]),
        ("self.sep", []),
        ("salt", ["self.salt"]),
        ("limit", ["DEFAULT_LIMIT"]),
        ("mode", ['"fast"']),
        ("'late'", ["3"]),
        ("none", []),
        ("self_made", []),
        ("a + b", []),
        ("not an expression", []),
        ("'no name'", []),
    ],
)
def test_a_value_is_found_by_its_name(code: str, expected: list[str]) -> None:
    assert [default.code for default in namesakes(code, ast.parse(SIGNER), 10)] == expected


def test_attributes_are_read_in_methods_only() -> None:
    assert [default.code for default in namesakes("digest", ast.parse(SIGNER), 13)] == []


def test_a_base_that_is_its_own_ancestor_is_gone_through_once() -> None:
    tree = ast.parse("class A(B): pass\nclass B(A):\n    x = 1\n    def f(self, x): return x.y\n")
    assert [default.code for default in namesakes("x", tree, 4)] == ["self.x"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("self.size = size", True), ("self.sep = sep", True), ("self.other = 1", False), ("size = 1", False)],
)
def test_a_class_value_is_hidden_by_an_attribute_of_that_name(statement: str, expected: bool) -> None:
    tree = ast.parse(
        f"class B:\n    sep = 1\nclass A(B[int]):\n    def size(self): pass\n    def f(self):\n        {statement}\n"
    )
    stored = next(node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.lineno == 6)
    assert hides_class_value(stored, tree) is expected


def test_outside_a_class_nothing_is_hidden() -> None:
    tree = ast.parse("self.x = None\n")
    assert not hides_class_value(tree.body[0], tree)


def test_a_none_is_not_stored_over_a_method() -> None:
    text = "class A:\n    def size(self): return 1\n    def __init__(self, size):\n        self.size = size.x\n"
    crash = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'x'")
    wrapped = [patch for patch in found(text, 4, crash, Site.ORIGIN) if patch.candidate.guard == "wrap-statement"]
    assert texts(wrapped)[0] == text.replace("self.size", "if size is not None:\n            self.size")
    assert all(
        patch.candidate.guard != "wrap-statement"
        for patch in found(text.replace("def size", "def other"), 4, crash, Site.ORIGIN)
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x.append(1)", ["[]"]),
        ("x['k'] = 1", ["{}"]),
        ("x[1:] = 1", ["[]"]),
        ("for y in x: pass", ["[]", "{}"]),
        ("g(*x, x.split)", ['""', 'b""']),
        ("g(**x)", ["{}"]),
        ("1 in x; x.add(2)", ["set()"]),
        ("x()", []),
        ("x[1]", []),
        ("x['k']; x.get(1)", ["{}"]),
        ("x[k]; [z for z in x]", ["[]", "{}"]),
        ("x.y", []),
        ("', '.join(sorted(x)), len(x)", ["[]", "{}"]),
        ("len(x), x.split()", ['""', 'b""']),
        ("g(x)", []),
    ],
)
def test_a_default_supports_every_use(body: str, expected: list[str]) -> None:
    function = ast.parse(f"def f(x):\n    {body}\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [default.code for default in for_every_use("x", function, 2)] == expected
    assert list(for_every_use("x", function, 3)) == []


def test_uses_are_those_of_the_function_itself() -> None:
    tree = ast.parse("def f(self):\n    self.x.y\n    def g(): return self.x.z\n    return self.other\n")
    assert [(use.operation, use.name) for use in uses_of("self.x", tree.body[0])] == [("attribute", "y")]


@pytest.mark.parametrize(
    ("code", "key"), [("d[k]", "k"), ("d.pop('a')", "'a'"), ("d.x", None), ("d.pop(1, 2)", None), ("(", None)]
)
def test_the_key_of_a_look_up(code: str, key: str | None) -> None:
    assert key_of(code) == key


def test_a_name_that_is_used_later_gets_its_default_for_all_of_it() -> None:
    text = "def f(item, key):\n    item[key] = 1\n    return item\n"
    crash = ExceptionRecord("TypeError", "'NoneType' object does not support item assignment")
    edits = texts(found(text, 2, crash))
    guarded = [edit for edit in edits if "        item = " in edit or "(item or" in edit]
    assert guarded[0] == text.replace("    item[", "    if item is None:\n        item = {}\n    item[")


def test_a_missing_key_may_stand_for_itself_and_its_handler_assigns_it() -> None:
    text = "def f(names, key):\n    name = names[key]\n    return name\n"
    edits = texts(found(text, 2, ExceptionRecord("KeyError", "'a'")))
    assert text.replace("names[key]", "names.get(key, key)") in edits
    handler = "    try:\n        name = names[key]\n    except KeyError:\n        name = key\n"
    assert text.replace("    name = names[key]\n", handler) in edits


def test_a_popped_option_gets_the_default_of_the_parameter_of_that_name() -> None:
    text = "def g(errors='replace'): pass\ndef f(**kwargs):\n    errors = kwargs.pop('errors')\n    return errors\n"
    first = texts(found(text, 3, ExceptionRecord("KeyError", "'errors'")))[0]
    assert "kwargs.pop('errors', 'replace')" in first


def test_what_was_given_to_a_call_may_be_its_result() -> None:
    text = "def f(cache, key, value):\n    return cache.put(key, value)\n"
    edits = texts(found(text, 2, ExceptionRecord("ValueError", "too large")))
    assert edits[0].endswith("    except ValueError:\n        return value\n")


def test_an_empty_list_is_asked_as_such() -> None:
    text = "def f(opens):\n    for x in opens:\n        last = opens.pop()\n        use(last)\n"
    edits = texts(found(text, 3, ExceptionRecord("IndexError", "pop from empty list")))[:4]
    assert text.replace("        last", "        if not opens:\n            continue\n        last") in edits
    assert not any("or []" in edit for edit in edits)


def test_one_value_may_stand_for_several() -> None:
    edits = texts(found("def f(xs):\n    for x in xs:\n        use(x)\n", 2, NOT_ITERABLE))
    assert "def f(xs):\n    for x in xs if isinstance(xs, (list, tuple)) else [xs]:\n        use(x)\n" in edits[:2]


def test_a_value_may_stand_where_a_function_could() -> None:
    crash = ExceptionRecord("TypeError", "'int' object is not callable")
    edits = texts(found("def f(x):\n    return x()\n", 2, crash))
    assert "def f(x):\n    return x() if callable(x) else x\n" in edits[:2]


def test_an_attribute_is_asked_for_where_no_class_is_known() -> None:
    text = "def f(xs):\n    for x in xs:\n        yield x.parts[1:]\n"
    edits = texts(found(text, 3, ExceptionRecord("AttributeError", "'X' object has no attribute 'parts'")))
    assert text.replace("        yield", "        if hasattr(x, 'parts'):\n            yield") in edits[:3]
    assert not any("getattr(x, 'parts', None)[1:]" in edit or edit.startswith("import") for edit in edits)


def test_not_none_in_a_message_is_about_none() -> None:
    source = Source.parse(b"def f(text, encoding):\n    return text.encode(encoding)\n")
    crash = ExceptionRecord("TypeError", "encode() argument 'encoding' must be str, not None")
    location = locate(Frame("m.py", 2, "f", "m.py"), crash, source)
    assert isinstance(location, FaultLocation)
    assert location.kind is FaultKind.NONE_ARGUMENT


def test_the_caller_of_a_method_that_has_to_raise_comes_first() -> None:
    source = Source.parse(b"class D:\n    def __getitem__(self, k):\n        return self.d[k]\n")
    crash = ExceptionRecord("KeyError", "'a'")
    location = locate(Frame("m.py", 3, "D.__getitem__", "m.py"), crash, source)
    assert isinstance(location, FaultLocation)
    assert ranking.protocol_cost(Site.CRASH, location) > 0
    assert ranking.protocol_cost(Site.CALLER, location) == 0


def test_an_expected_exception_takes_the_place_of_the_one_that_came() -> None:
    text = "class Unknown(Exception): pass\ndef f(text):\n    return int(text)\n"
    wanted = Expectations(exceptions=("Unknown",))
    edits = texts(found(text, 3, ExceptionRecord("ValueError", "invalid literal"), wanted=wanted))
    assert any("except ValueError as error:\n        raise Unknown(" in edit for edit in edits)


NONE_ATTRIBUTE = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'y'")


def test_a_descriptor_gives_itself_back() -> None:
    text = "class D:\n    def __get__(self, owner, kind=None):\n        x = owner.y\n        return x.z\n"
    edits = texts(found(text, 3, NONE_ATTRIBUTE))
    assert text.replace("        x =", "        if owner is None:\n            return self\n        x =") in edits[:3]


def test_a_local_result_is_given_back_early_once_it_has_a_value() -> None:
    text = (
        "def f(a):\n    found = []\n    found.append(a.y)\n    late = a.z\n    return late or found\n    return found\n"
    )
    early = text.replace("    found.append", "    if a is None:\n        return found\n    found.append")
    assert early in texts(found(text, 3, NONE_ATTRIBUTE))


def test_none_is_asked_for_before_truth_where_the_default_is_no_empty_value() -> None:
    text = "class A:\n    end = 9\n    def f(self, end):\n        return 1 + end\n"
    crash = ExceptionRecord("TypeError", "unsupported operand type(s) for +: 'int' and 'NoneType'")
    guards = [patch.candidate.guard for patch in found(text, 4, crash) if patch.candidate.default == "self.end"]
    assert guards.index("receiver-default") < guards.index("or-default")


def proposed_defaults(guard: str, statement: str, message: str, kind: str = "TypeError") -> list[str | None]:
    """The defaults of one guard of line 2, in order, where the failing test names True and False."""
    source, crash = Source.parse(f"def f(start):\n    {statement}\n".encode()), ExceptionRecord(kind, message)
    location = locate(Frame("m.py", 2, "f", "m.py"), crash, source)
    assert isinstance(location, FaultLocation)
    evidence = Evidence(crash, (), Expectations(neutral=("True", "False")))
    candidates = propose([LocatedSite(Site.CRASH, location, source)], evidence)
    return [candidate.default for candidate in candidates if candidate.guard == guard]


@pytest.mark.parametrize("guard", ["receiver-default", "conditional-outer"])
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("place = start * 2 + 1 if start >= 0 else -start", "'>=' not supported between 'NoneType' and 'int'"),
        ("place = start * 2", "unsupported operand type(s) for *: 'NoneType' and 'int'"),
        ("place = -start", "bad operand type for unary -: 'NoneType'"),
    ],
)
def test_a_truth_that_the_test_names_stands_for_no_number(guard: str, statement: str, message: str) -> None:
    defaults = proposed_defaults(guard, statement, message)
    assert "0" in defaults
    assert not {"True", "False"} & set(defaults[: defaults.index("0")])


def test_a_truth_that_the_test_names_comes_forward_where_anything_may_stand() -> None:
    message = "'NoneType' object has no attribute 'x'"
    defaults = proposed_defaults("conditional-outer", "place = start.x", message, "AttributeError")
    assert defaults[0] in ("True", "False")
