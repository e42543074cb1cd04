"""A test that complains of a None: the run explains it, and returns what a function computes and forgot to return."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codemods.selfdebug.source import Source
from origin.traced_programs import write
from selfdebug.model import Link
from selfdebug.stages.propose import apply_candidate
from selfdebug.stages.propose.missing_returns import missing_returns

TEST = """
import app

def test_it():
    assert app.find(2) == 4
"""


def patched(text: str, file: str = "app.py", kind: str = "fell-off-end") -> list[str]:
    """The source after each proposed return, for a chain with one link at the last line."""
    source = Source.parse(text.encode())
    link = Link(file, text.count("\n"), 0, "f", "", "None", kind, "observed", "")
    return [apply_candidate(each, source).after.decode() for each in missing_returns([link], lambda _file: source)]


@pytest.mark.parametrize(
    ("body", "returned"),
    [
        ("    x * 2\n", ["    return x * 2\n"]),
        ("    y = x * 2\n", ["    y = x * 2\n    return y\n"]),
        ("    y: int = x * 2\n", ["    y: int = x * 2\n    return y\n"]),
        (
            "    y = 0\n    for z in x:\n        y += z\n",
            ["    y = 0\n    for z in x:\n        y += z\n    return y\n"],
        ),
        (
            "    y = []\n    for z in x:\n        y.append(z)\n",
            ["    y = []\n    for z in x:\n        y.append(z)\n    return y\n"],
        ),
        (
            "    y = {}\n    for z in x:\n        y[z] = 1\n",
            ["    y = {}\n    for z in x:\n        y[z] = 1\n    return y\n"],
        ),
        (
            "    y = 1\n    if x:\n        return y\n    while x:\n        x -= 1\n",
            [
                "    y = 1\n    if x:\n        return y\n    while x:\n        x -= 1\n    return y\n",
                "    y = 1\n    if x:\n        return y\n    while x:\n        x -= 1\n    return x\n",
            ],
        ),
        ("    y = 0\n    y += x\n", ["    y = 0\n    y += x\n    return y\n"]),
        (
            "    if x.endswith('/'):\n        return x[:-1].strip()\n",
            ["    if x.endswith('/'):\n        return x[:-1].strip()\n    return x\n"],
        ),
        ("    if x:\n        return x[:-1]\n    if not x:\n        return x * 2\n", []),
        ("    y = g()\n    if y:\n        return y.strip()\n", []),
        ("    if x > 2:\n        return x * 2\n", []),
        ("    pass\n", []),
        ("    'text'\n", []),
        ("    x.y = 1\n", []),
    ],
)
def test_the_return_that_is_plain(body: str, returned: list[str]) -> None:
    text = f"def f(x):\n{body}"
    assert patched(text) == [f"def f(x):\n{one}" for one in returned]


def test_tests_and_other_links_are_left_alone() -> None:
    text = "def f(x):\n    x * 2\n"
    assert patched(text, file="tests/test_app.py") == []
    assert patched(text, kind="return") == []
    assert patched("x = 1\n") == []


def run(root: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of a run."""
    command = [sys.executable, "-m", "selfdebug", "run", "--json", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_forgotten_return_is_given_back(tmp_path: Path) -> None:
    write(tmp_path, "app.py", "def find(number):\n    result = number * 2  # twice\n")
    write(tmp_path, "test_app.py", TEST)
    code, document = run(tmp_path)
    assert code == 0
    assert (
        tmp_path / "app.py"
    ).read_text() == "def find(number):\n    result = number * 2  # twice\n    return result\n"
    assert [link["kind"] for link in document["origin"]] == ["fell-off-end"]
    assert document["final_status"] == "pass"


def test_a_branch_that_was_not_taken_is_explained(tmp_path: Path) -> None:
    app = "def find(number):\n    if number > 2:\n        return number * 2\n"
    write(tmp_path, "app.py", app)
    write(tmp_path, "test_app.py", TEST)
    code, document = run(tmp_path)
    assert code == 1
    assert document["exit_reason"] == "no-candidate"
    assert [(link["file"], link["line"], link["kind"]) for link in document["origin"]] == [
        ("app.py", 2, "fell-off-end"),
        ("app.py", 2, "branch-not-taken"),
    ]
    assert "number was 2" in document["origin"][1]["sentence"]
    assert "what is left where app.py:2 goes on, and no code tells which value belongs there" in document["message"]
    assert (tmp_path / "app.py").read_text() == app
