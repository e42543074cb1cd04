"""The guards that the benchmark takes out of real projects, and what counts as doing the same without them."""

from __future__ import annotations

import pytest

from benchmarks.guard_removal.document import document
from benchmarks.guard_removal.equivalence import is_same_tree
from benchmarks.guard_removal.projects import Split
from benchmarks.guard_removal.removals import removals
from benchmarks.guard_removal.trials import Measured, Result, from_line


@pytest.mark.parametrize(
    ("guarded", "kind", "form", "bare"),
    [
        ("if x is not None and x.y: pass\n", "none", "and", "if x.y: pass\n"),
        ("if x is None or x.y: pass\n", "none", "or", "if x.y: pass\n"),
        ("if a:\n    x()\n    if isinstance(x, int):\n        # one\n        y(x)\n", "isinstance", "wrap",
         "if a:\n    x()\n    y(x)\n"),
        ("def f(x):\n    if x is None:\n        return 1\n    return x.y\n", "none", "early-exit",
         "def f(x):\n    return x.y\n"),
        ("def f(x):\n    if not isinstance(x, int):\n        raise E\n    return x.y\n", "isinstance", "raise",
         "def f(x):\n    return x.y\n"),
        ("def f(x):\n    if x is None:\n        x = []\n    return x.y\n", "none", "substitution",
         "def f(x):\n    return x.y\n"),
        ("y = x.y if x is not None else 1\n", "none", "conditional", "y = x.y\n"),
        ("y = 1 if len(x) < 2 else x[1]\n", "bounds", "conditional", "y = x[1]\n"),
        ("y = d.get('a', 1)\n", "get", "get", "y = d['a']\n"),
        ("y = d.pop('a', 1)\n", "get", "pop", "y = d.pop('a')\n"),
        ("y = getattr(d, 'a', 1)\n", "get", "getattr", "y = getattr(d, 'a')\n"),
        ("y = x or []\n", "or", "or-default", "y = x\n"),
        ("try:\n    y = d[k]\nexcept KeyError:\n    y = 1\n", "except", "except", "y = d[k]\n"),
        ("try:\n    y()\nexcept OSError:\n    x(); z()\nexcept KeyError:\n    pass\n", "except", "handler",
         "try:\n    y()\nexcept OSError:\n    x(); z()\n"),
    ],
)  # fmt: skip
def test_a_guard_is_taken_out(guarded: str, kind: str, form: str, bare: str) -> None:
    [found] = [each for each in removals("m.py", guarded.encode()) if each.what == kind]
    assert (found.what, found.form, found.after.decode()) == (kind, form, bare)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    if isinstance(x, int):\n        return 1\n    return 2\n",
        "try:\n    y = d[k]\nexcept KeyError:\n    log(k)\n    y = other(k)\n",
        "if x is None:\n    a()\n    b()\n",
        "if x or y: pass\n",
        "y = d.get(*k)\n",
        "def f(:\n",
    ],
)
def test_what_is_no_guard_stays(text: str) -> None:
    assert list(removals("m.py", text.encode())) == []


def test_equal_trees_are_the_same() -> None:
    assert is_same_tree(b"x = (1)\n", b"x = 1  # one\n")
    assert not is_same_tree(b"x = 1\n", b"x = 2\n")


def test_the_page_tells_right_warned_and_silent_patches_apart() -> None:
    def measured(split: Split, result: Result, *, is_warned: bool = False) -> Measured:
        return Measured(
            "p", split.value, f"m.py:3:and:{result}", "none", "and", result, "KeyError", seconds=2, is_warned=is_warned,
            original="--- a/m.py\n+++ b/m.py\n@@ -3 +3 @@\n+x\n", diff="+y\n",
        )  # fmt: skip

    entries = [
        measured(Split.LOOKED_AT, Result.SAME),
        measured(Split.LOOKED_AT, Result.EQUIVALENT),
        measured(Split.MEASURED, Result.DIFFERENT, is_warned=True),
        measured(Split.MEASURED, Result.DIFFERENT),
        measured(Split.MEASURED, Result.NOTHING),
        measured(Split.MEASURED, Result.NO_CRASH),
    ]
    read_back = [from_line(entry.line()) for entry in entries]
    readings = {entries[1].removal: "By reading it is not.", entries[2].removal: "It is."}
    page = document(read_back, "One version.", readings)
    assert "\nOne version.\n\n| split |" in page
    assert "| looked-at | 2 | 1 | 1 | 100 % | 0 | 0 | 0 | 0 | 0 |" in page
    assert "| measured | 3 | 0 | 0 | 0 % | 1 | 1 | 1 | 0 | 0 |" in page
    assert "without a warning and are different: 1; 2.0 right ones" in page
    assert page.count("It is.") == 2
    assert "## Counted as equivalent, and yet not the same: looked-at\n" in page
    assert "; kept without a warning. By reading it is not.\n" in page
    assert "```diff\n@@ -3 +3 @@\n+x\n```" in page
