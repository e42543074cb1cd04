"""What passing tests show at the crash: the classes that work there, from which a guard knows what to let through."""

from __future__ import annotations

from pathlib import Path

from small_projects import project, run

CODE = """
class Money:
    def __init__(self, cents):
        self.cents = cents

def is_same(one, other):
    return one.cents == other.cents
"""
TESTS = """
from shop import Money, is_same

def test_same():
    assert is_same(Money(1), Money(1))

def test_other():
    assert is_same(Money(1), 1) is False
"""


def test_the_class_that_works_in_passing_tests_is_asked_for(tmp_path: Path) -> None:
    root = project(tmp_path, {"shop.py": CODE, "test_shop.py": TESTS})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    (turn,) = done.attempts
    seen = {(each.node_id, each.value.type, each.in_failure) for each in turn.diagnosis.observations}
    assert ("test_shop.py::test_other", "int", True) in seen
    assert ("test_shop.py::test_same", "shop.Money", False) in seen
    patched = (root / "shop.py").read_text()
    assert "return isinstance(other, Money) and one.cents == other.cents" in patched
