"""Which tests are run ahead of the suite for a patch: by the function that it changes, within a share of the time."""

from __future__ import annotations

import pytest

from codemods.selfdebug.spans import Span
from selfdebug.model import Calls, Candidate, Patch, Site
from selfdebug.repair.reach import Reach, changed_functions

BEFORE = b"""import os


class Shop:
    @property
    def name(self):
        return self.title.strip()

    def price(self, unit=None):
        def one():
            return unit.price

        total = 0
        total += one()
        return total


if os.name:
    try:
        def late():
            return 1
    except OSError:
        def late():
            return 2
"""


def patch(old: bytes, new: bytes, before: bytes = BEFORE) -> Patch:
    assert before.count(old) == 1
    place = Span(1, 0, 1, 1)
    order = Candidate("1", "wrap", "wrap", "shop.py", Site.CRASH, place, place, "x", None, None, "not-none", "")
    return Patch(order, "shop.py", before, before.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        (b"self.title.strip()", b"self.title", {"Shop.name"}),
        (
            b"        return self.title.strip()\n",
            b"        if 1:\n            return 2\n        return 3\n",
            {"Shop.name"},
        ),
        (b"        total += one()\n", b"        if 1:\n            return 2\n        total += one()\n", {"Shop.price"}),
        (b"unit.price", b"unit", {"Shop.price.one"}),
        (b"        return total\n", b"        return total\n        pass\n", set()),  # after the last line
        (b"unit=None", b"unit=0", set()),
        (b"import os\n", b"import os\nimport re\n", set()),
        (b"return 2", b"return 3", {"late"}),
    ],
)
def test_a_change_lies_in_the_innermost_function_whose_body_holds_it(old: bytes, new: bytes, names: set[str]) -> None:
    changed = patch(old, new)
    assert changed_functions(changed.before, changed.after) == names


def reach(**durations: float) -> Reach:
    calls = Calls({("shop.py", 5): ("slow", "quick", "new"), ("shop.py", 9): ("other",), ("shop.py", 20): ("late",)})
    return Reach(calls, {"slow": 2.0, "quick": 0.1, "other": 0.1, "late": 0.1, "rest": 9.0, **durations})


def test_the_tests_of_the_changed_function_are_chosen_quickest_first() -> None:
    assert reach().tests_of(patch(b"self.title.strip()", b"self.title"), BEFORE) == ("quick", "slow")
    assert reach(slow=20.0).tests_of(patch(b"self.title.strip()", b"self.title"), BEFORE) == ("quick",)
    assert reach().tests_of(patch(b"return 2", b"return 3"), BEFORE) == ("late",)
    assert reach().tests_of(patch(b"import os\n", b"import os, re\n"), BEFORE) == ()


def test_functions_are_found_again_by_name_after_lines_have_moved() -> None:
    moved = b"# a line\n\n" + BEFORE
    assert reach().tests_of(patch(b"total += one()", b"total = 1", moved), BEFORE) == ("other",)
    later = Reach(reach().calls, reach().durations, files={"shop.py": BEFORE})
    assert later.tests_of(patch(b"total += one()", b"total = 1", moved), b"") == ("other",)


def test_what_turned_a_patch_down_comes_first_where_it_runs_the_change() -> None:
    known = reach()
    known.turned_down_by("slow")
    known.turned_down_by("slow")
    assert known.tests_of(patch(b"self.title.strip()", b"self.title"), BEFORE) == ("slow", "quick")
    assert known.tests_of(patch(b"total += one()", b"total = 1"), BEFORE) == ("other",)
    unknown = Reach(None, dict(known.durations), ["slow"])
    assert not unknown.is_known
    assert unknown.tests_of(patch(b"total += one()", b"total = 1"), BEFORE) == ("slow",)
    assert Reach(Calls({}, "taken"), {}).is_known is False
