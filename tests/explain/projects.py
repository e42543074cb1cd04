"""Small projects that a real run repairs quickly, or never."""

from __future__ import annotations

from pathlib import Path

SOURCE = """\
def is_regular(customer):
    if customer.orders > 10:  # often here
        return True
    return False
"""
TEST = """\
from src_root.shop import is_regular


class Customer:
    orders = 12


def test_a_regular():
    assert is_regular(Customer())


def test_a_guest():
    assert is_regular(None) is False
"""
SLOW = """\
import time

from src_root.shop import is_regular


def test_a_guest():
    assert is_regular(None) is False


def test_that_takes_long_once_the_guest_is_let_in():
    try:
        is_regular(None)
    except AttributeError:
        return
    time.sleep(120)
"""


def failing_project(root: Path, test: str = TEST) -> Path:
    """A project with one failing test, whose first fitting guard repairs it."""
    package = root / "src_root"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "shop.py").write_text(SOURCE)
    (root / "tests").mkdir()
    (root / "tests" / "test_shop.py").write_text(test)
    (root / "conftest.py").write_text("")
    (root / "pyproject.toml").write_text("[project]\nname = 'shop'\nversion = '1'\n")
    return root
