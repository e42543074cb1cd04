"""The assertion that would pin a part of a patch: of what a call gave, as far as that can be written down."""

from __future__ import annotations

import pytest

from codemods.selfdebug.spans import Span
from selfdebug.model import Candidate, Patch, PytestRun, Site, Value
from selfdebug.repair.behaviour import Behaviour, Call
from selfdebug.repair.suggestions import suggestion
from selfdebug.stages.vary import parts_of

BEFORE = b"def name(user):\n    return user.name\n"
AFTER = b"def name(user):\n    return user.name if user is not None else 0\n"
PLACE = Span(2, 11, 2, 15)
NONE = Value("NoneType", "None", is_none=True)


def behaviour(argument: Value, result: Value) -> Behaviour:
    """One call of the patched function."""
    candidate = Candidate(
        *("candidate-1", "conditional-expression", "expression-default", "m.py", Site.CRASH, Span(2, 11, 2, 20), PLACE),
        *("user", "0", None, "not-none", ""),
    )
    patch = Patch(candidate, "m.py", BEFORE, AFTER)
    call = Call("test_m.py::test_name", "name", (("user", argument),), (result,), ())
    return Behaviour(patch, parts_of(patch), (call,), (), PytestRun("pytest-1", (), (), 0, 0.0))


@pytest.mark.parametrize(
    ("argument", "result", "said"),
    [
        (NONE, Value("int", "0"), "assert name(None) == 0"),
        (NONE, NONE, "assert name(None) is None"),
        (
            Value("m.User", "<m.User object>"),
            Value("int", "0"),
            "Assert what name gives for user=<m.User object>: it was 0.",
        ),
        (NONE, Value("m.User", "<m.User object>"), "Assert what matters of the User that name gives for user=None."),
        (NONE, Value("m.P", "P(x=1)"), "Assert what name gives for user=None: it was P(x=1)."),
        (
            Value("str", repr("x" * 300)),
            Value("m.User", "<m.User object>"),
            "Assert what matters of the User that name gives as it is called in test_m.py::test_name.",
        ),
    ],
)
def test_what_would_pin_a_part(argument: Value, result: Value, said: str) -> None:
    assert suggestion(behaviour(argument, result), ()) == said


def test_a_function_that_no_test_calls_gets_no_suggestion() -> None:
    seen = behaviour(NONE, NONE)
    assert suggestion(Behaviour(seen.patch, seen.parts, (), (), seen.run), ()) == ""
