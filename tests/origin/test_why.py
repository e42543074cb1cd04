"""`selfdebug why` and the origin in the reports of `selfdebug run`, over the demo project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from invoked import Done, process, selfdebug

from selfdebug.demo import PROJECT

LINK = {"file", "line", "column", "function", "code", "value", "kind", "evidence", "sentence"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the demo project."""
    return Path(shutil.copytree(PROJECT, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__")))


def why(*arguments: str, cwd: Path) -> Done:
    """The command in this process."""
    return selfdebug("why", *arguments, cwd=cwd)


def test_without_arguments_there_is_one_chain_a_failure(shop: Path) -> None:
    before = {path: path.read_bytes() for path in shop.rglob("*.py")}
    done = process("why", "--json", cwd=shop)
    assert done.returncode == 0
    (chain,) = json.loads(done.stdout)["chains"]
    assert chain["node_id"] == "tests/test_discount.py::test_a_guest_saves_nothing"
    assert chain["expression"] == "customer"
    assert [(link["file"], link["line"], link["kind"]) for link in chain["links"]] == [
        ("shop/discount.py", 9, "assignment"),
        ("shop/customers.py", 19, "return"),
        ("shop/customers.py", 19, "missing-key"),
    ]
    assert all(set(link) == LINK for link in chain["links"])
    assert {path: path.read_bytes() for path in shop.rglob("*.py")} == before


def test_the_text_is_an_indented_chain(shop: Path) -> None:
    lines = why(cwd=shop).stdout.decode().splitlines()
    assert lines[0] == "tests/test_discount.py::test_a_guest_saves_nothing"
    assert lines[1] == "  Where customer came from:"
    assert lines[2] == "    shop/discount.py:9  customer = register.find(email)"
    assert lines[-1].strip().endswith("[None, observed]")
    indents = [len(line) - len(line.lstrip()) for line in lines[2::2]]
    assert indents == sorted(set(indents))


def test_any_expression_of_any_executed_line_can_be_asked_for(shop: Path) -> None:
    done = why("--at", "shop/customers.py:19", "email", "--json", cwd=shop)
    (chain,) = json.loads(done.stdout)["chains"]
    assert [link["kind"] for link in chain["links"]] == ["parameter", "parameter", "literal"]
    assert chain["links"][-1]["value"] == "'nobody@example.org'"
    here = json.loads(why("REGULAR", "--json", cwd=shop).stdout)["chains"][0]
    assert [(link["line"], link["kind"]) for link in here["links"]] == [(3, "literal")]


def test_what_cannot_be_answered_is_said(shop: Path) -> None:
    not_run = why("--at", "shop/discount.py:11", "RATES", cwd=shop)
    assert not_run.returncode == 1
    assert "shop/discount.py:11 was not executed by the failing test." in not_run.stdout.decode()
    absent = why("--at", "shop/discount.py:10", "nobody", cwd=shop)
    assert "shop/discount.py:10 has no expression nobody." in absent.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--at", "shop/discount.py"], "--at takes FILE:LINE"),
        (["--at", "nowhere.py:3"], "is no file of the project"),
        (["a b"], "is neither a file nor an expression"),
        (["log", "x", "y"], "at most a log and one expression"),
    ],
)
def test_wrong_questions_are_usage_errors(shop: Path, arguments: list[str], sentence: str) -> None:
    done = why(*arguments, cwd=shop)
    assert done.returncode == 64
    assert sentence in done.stderr.decode()


def test_nothing_failed(shop: Path) -> None:
    (shop / "tests" / "test_discount.py").write_text("def test_fine():\n    pass\n")
    done = why(cwd=shop)
    assert done.returncode == 1
    assert b"Nothing failed" in done.stdout
