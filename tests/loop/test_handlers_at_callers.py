"""An exception that is raised to be caught may be caught by any of the functions that it passed."""

from __future__ import annotations

from pathlib import Path

from small_projects import project, run

STORE = """\
class Store:
    def put(self, key, value):
        if value > 3:
            raise ValueError("too large")
        return value


def keep(store, key, value):
    return store.put(key, value)
"""
TEST = """\
from store import Store, keep


def test_large():
    assert keep(Store(), "a", 5) == 5


def test_small():
    assert keep(Store(), "a", 2) == 2
"""
HANDLED = """\
    try:
        return store.put(key, value)
    except ValueError:
        return value
"""


def test_a_caller_catches_what_a_function_raises_on_purpose(tmp_path: Path) -> None:
    done = run(project(tmp_path, {"store.py": STORE, "test_store.py": TEST}))
    assert done.exit_code == 0, done.sentence
    assert (tmp_path / "store.py").read_text() == STORE.replace("    return store.put(key, value)\n", HANDLED)
