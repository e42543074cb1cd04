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
