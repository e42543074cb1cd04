"""A guard that only moves the crash, for several tests at once: none of them is forgotten on the way."""

from __future__ import annotations

from pathlib import Path

from small_projects import project, run

from selfdebug.model import Repair

ADDS = "def total(box, more):\n    size = box.size\n    return size + more\n"
TESTS = """\
from boxes import total


def test_one():
    assert total(None, 1) == 1


def test_other():
    assert total(None, 2) == {expected}
"""


def repaired(root: Path, expected: int) -> Repair:
    files = {"boxes.py": ADDS, "test_boxes.py": TESTS.format(expected=expected)}
    return run(project(root, files), max_candidates=30)


def test_a_patch_that_helps_one_of_two_tests_is_no_success(tmp_path: Path) -> None:
    done = repaired(tmp_path, 50)
    assert done.exit_code == 128, done.sentence
    assert (tmp_path / "boxes.py").read_text() == ADDS


def test_a_patch_that_helps_both_is_one(tmp_path: Path) -> None:
    done = repaired(tmp_path, 2)
    assert done.exit_code == 0, done.sentence


ROWS = "def {name}(row):\n    return row['{name}'].strip()\n"
ALL = "from more import three\nfrom rows import one, two\n\ndef every(r):\n    return one(r) + two(r) + three(r)\n"
NAMED = (
    "from every import every\n\n\ndef test_nothing():\n    assert every(dict.fromkeys(('one', 'two', 'three'))) == ''\n"
)


def test_functions_and_files_that_crash_alike_get_the_same_guard_whatever_the_limit_of_turns(tmp_path: Path) -> None:
    first, second = ROWS.format(name="one") + "\n\n" + ROWS.format(name="two"), ROWS.format(name="three")
    files = {"rows.py": first, "more.py": second, "every.py": ALL, "test_every.py": NAMED}
    done = run(project(tmp_path, files), max_attempts=2)
    assert done.exit_code == 0, done.sentence
    assert [(turn.leads_on, turn.kept is not None) for turn in done.attempts] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    guarded = "row['{0}'].strip() if row['{0}'] is not None else ''"
    for name, file, text in (("one", "rows.py", first), ("two", "rows.py", first), ("three", "more.py", second)):
        assert guarded.format(name) in (tmp_path / file).read_text()
        assert len((tmp_path / file).read_text().splitlines()) == len(text.splitlines())


def test_two_receivers_of_one_line_are_two_repairs(tmp_path: Path) -> None:
    code = "def name(shop):\n    return shop.owner.spouse.name.title()\n"
    tests = """
    from types import SimpleNamespace as N

    from shops import name

    def test_no_owner():
        assert name(N(owner=None)) == ""

    def test_no_spouse():
        assert name(N(owner=N(spouse=None))) == ""
    """
    done = run(project(tmp_path, {"shops.py": code, "test_shops.py": tests}))
    assert done.exit_code == 0, done.sentence
    assert "except" not in (tmp_path / "shops.py").read_text()
