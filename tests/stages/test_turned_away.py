"""A function that raises on purpose: the value that its condition turned away is let through, and nothing else is."""

from __future__ import annotations

import pytest
from tiny_repairs import repaired

from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultLocation, Frame
from selfdebug.stages.locate import locate
from selfdebug.stages.locate.turned_away import deciding_condition, turned_away

HEAD = "def f(v, d={}):\n"


@pytest.mark.parametrize(
    ("body", "test", "line"),
    [
        (
            "    if not isinstance(v, str):\n        raise TypeError(v)\n    return v\n",
            "assert f(None) is None\nassert f('a') == 'a'",
            "    if v is not None and not isinstance(v, str):",
        ),
        (
            "    if not isinstance(v, int):\n        raise TypeError(v)\n    return v * 2\n",
            "assert f(1) == 2\nassert f(1.5) == 3",
            "    if not isinstance(v, (int, float)):",
        ),
        (
            "    v = d.get('v')\n    if v != 1 and v not in (2, 3): raise ValueError(v)\n    return v\n",
            "assert f(0) is None",
            "    if v is not None and v != 1 and v not in (2, 3): raise ValueError(v)",
        ),
        (
            "    if isinstance(v, int): return 'n'\n    elif v == 'x': return v\n    else: raise TypeError(v)\n",
            "assert f(3) == 'n'\nassert f(None) == ''",
            "    if v is None:",
        ),
        (
            "    if isinstance(v, int): return 'n'\n    if v == 'x': return v\n    raise TypeError(v)\n",
            "assert f(3) == 'n'\nassert f(None) == ''",
            "    if v is None:",
        ),
        (
            "    if v == 1: return v\n    elif not hasattr(v, 'x'):\n        raise TypeError(v)\n    return v\n",
            "assert f(1) == 1\nassert f(None) is None",
            "    elif v is not None and not hasattr(v, 'x'):",
        ),
    ],
    ids=["class", "another class", "membership", "else", "behind conditions", "elif"],
)
def test_the_value_is_let_through_above_the_raise(body: str, test: str, line: str) -> None:
    found = repaired(HEAD + body, test)
    assert line in found.text.split("\n")
    assert found.candidate.site == "condition-of-raise"
    assert found.tried <= 8


@pytest.mark.parametrize(
    "body",
    [
        "    if v is None:\n        raise TypeError(v)\n",
        "    if True:\n        raise TypeError(v)\n",
        "    for w in v:\n        raise TypeError(v)\n",
        "    g(v)\n    raise TypeError(v)\n",
        "    raise TypeError(v)\n",
    ],
    ids=["just that value", "no value", "loop", "after another statement", "always"],
)
def test_no_condition_decides(body: str) -> None:
    assert deciding_condition(*_raising(body)) is None


def test_values_of_which_nothing_was_seen_are_no_evidence() -> None:
    condition = deciding_condition(*_raising("    if not v and d:\n        raise TypeError(v)\n"))
    assert condition is not None
    assert [receiver.code for receiver in condition.receivers] == ["v", "d"]
    assert turned_away(condition, ()) is None


def _raising(body: str) -> tuple[FaultLocation, Source]:
    text = HEAD + body
    source, line = Source.parse(text.encode()), text[: text.index("raise")].count("\n") + 1
    location = locate(Frame("m.py", line, "f", "m.py"), ExceptionRecord("TypeError", ""), source)
    assert isinstance(location, FaultLocation)
    return location, source
