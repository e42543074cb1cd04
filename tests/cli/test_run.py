"""`run`, `probe`, `diff` and `demo` as processes, on a real project in a real repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from selfdebug.demo import lay_out
from selfdebug.reports.schema import schema

BROKEN = b"    if customer.orders > REGULAR:      # we know you by now\n"
GUARDED = b"    if customer is not None and customer.orders > REGULAR:      # we know you by now\n"
GUEST = "tests/test_discount.py::test_a_guest_saves_nothing"


def selfdebug(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in the project."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        [sys.executable, "-m", "selfdebug", *arguments],
        cwd=cwd,
        capture_output=True,
        check=False,
        env={**environment, **environ},
    )


def git(*arguments: str, cwd: Path, stdin: bytes | None = None) -> bytes:
    """Run git, with an identity."""
    identity = ["-c", "user.name=case", "-c", "user.email=case@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=cwd, input=stdin, capture_output=True, check=True).stdout


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo project in a repository of its own, with nothing to commit."""
    folder = lay_out(tmp_path / "shop")
    git("init", "-q", cwd=folder)
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "before", cwd=folder)
    return folder


def discount(shop: Path) -> bytes:
    """The file that is to be repaired."""
    return (shop / "shop" / "discount.py").read_bytes()


def status(shop: Path) -> bytes:
    """What git says has changed."""
    return git("status", "--porcelain", cwd=shop)


def schema_of(document: Mapping[str, object]) -> None:
    """Check a document against the shipped schema."""
    jsonschema.validate(document, json.loads(schema()))


def test_run_repairs_reports_and_can_be_undone(shop: Path) -> None:
    before = discount(shop)
    done = selfdebug("run", "--json", cwd=shop)
    document = json.loads(done.stdout)
    schema_of(document)
    assert (done.returncode, document["exit_code"], document["final_status"]) == (0, 0, "pass")
    assert document["files_patched"] == ["shop/discount.py"]
    assert discount(shop) == before.replace(BROKEN, GUARDED)
    assert status(shop) == b" M shop/discount.py\n"
    assert re.search(rb"^DBG-PROBE frame=discount line=10 locals=\{.*'customer': None.*\}$", done.stderr, re.MULTILINE)
    assert b"DBG-CAUGHT AttributeError line=10 error='NoneType' object has no attribute 'orders'\n" in done.stderr
    assert any(probe["kind"] == "value" and probe["value"]["is_none"] for probe in document["probes"])
    assert [patch["file"] for patch in document["patches"]] == ["shop/discount.py"]
    verdicts = {candidate["verdict"] for candidate in document["candidates"]}
    assert "plausible" in verdicts
    listed = json.loads(selfdebug("runs", "--json", cwd=shop).stdout)["runs"]
    assert document["run_id"] in [run["run_id"] for run in listed]
    undone = selfdebug("rollback", document["run_id"], cwd=shop)
    assert (undone.returncode, discount(shop)) == (0, before)
    assert status(shop) == b""


def test_a_dry_run_writes_nothing_and_its_diff_applies(shop: Path) -> None:
    before = discount(shop)
    done = selfdebug("run", "--dry-run", "--format", "diff", "--module", GUEST, cwd=shop)
    assert (done.returncode, discount(shop), status(shop)) == (0, before, b"")
    git("apply", "-", cwd=shop, stdin=done.stdout)
    assert discount(shop) == before.replace(BROKEN, GUARDED)


def test_a_dry_run_can_be_asked_why_and_leaves_nothing_in_the_project(shop: Path) -> None:
    held = sorted(shop.iterdir())
    run_id = json.loads(selfdebug("run", "--dry-run", "--json", "--module", GUEST, cwd=shop).stdout)["run_id"]
    assert sorted(shop.iterdir()) == held
    listed = json.loads(selfdebug("runs", "recorded", "--json", cwd=shop).stdout)["runs"]
    assert [run["id"] for run in listed] == [run_id]
    told = selfdebug("explain", "why", "this", "patch?", cwd=shop)
    assert (told.returncode, b"#" in told.stdout) == (0, True), told.stdout
    assert sorted(shop.iterdir()) == held


def test_diff_is_the_patch_that_run_would_make(shop: Path) -> None:
    done = selfdebug("diff", "--color", "always", cwd=shop)
    assert (done.returncode, status(shop)) == (0, b"")
    assert b"\x1b[31m-" + BROKEN.rstrip() + b"\x1b[0m\n" in done.stdout
    assert b"\x1b[32m+" + GUARDED.rstrip() + b"\x1b[0m\n" in done.stdout


def test_a_captured_log_starts_the_run(shop: Path) -> None:
    log = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"], cwd=shop, capture_output=True, check=False
    )
    (shop.parent / "ci.log").write_bytes(log.stdout)
    done = selfdebug("run", "../ci.log", cwd=shop)
    assert done.returncode == 0
    shown = done.stdout.decode()
    for piece in (
        "DBG-PROBE frame=discount line=10",
        f"FAILED {GUEST}\n  shop/discount.py:10 in discount\n    if customer.orders > REGULAR:",
        "\n       ^^^^^^^^\n",
        "\n+    if customer is not None and customer.orders > REGULAR:",
        "plausible patch",
        "To undo: selfdebug rollback ",
    ):
        assert piece in shown
    assert "\x1b" not in shown


def test_nothing_failed(shop: Path) -> None:
    done = selfdebug("run", "--module", "tests/test_discount.py::test_a_newcomer_saves_nothing", "--json", cwd=shop)
    document = json.loads(done.stdout)
    schema_of(document)
    assert (done.returncode, document["final_status"], document["attempts"]) == (0, "pass", 0)


def test_probe_looks_and_leaves(shop: Path) -> None:
    done = selfdebug("probe", "--json", cwd=shop)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"]
    (diagnosis,) = document["diagnoses"]
    assert (diagnosis["receiver"], diagnosis["line"]) == ("customer", 10)
    assert {probe["kind"] for probe in document["probes"]} == {"value", "caught"}
    assert status(shop) == b""
    shown = selfdebug("probe", cwd=shop)
    assert shown.stdout.startswith(b"DBG-PROBE frame=discount line=10 locals={")
    assert b"  10: customer = None <- failed here\n" in shown.stdout


@pytest.mark.parametrize("python", ["nowhere/python", "no-such-command"])
def test_an_interpreter_that_is_not_there(shop: Path, python: str) -> None:
    done = selfdebug("run", "--json", "--python", python, cwd=shop)
    document = json.loads(done.stdout)
    schema_of(document)
    assert (done.returncode, document["exit_reason"]) == (64, "environment")
    assert python in document["message"]
    assert status(shop) == b""


def test_the_demo_can_stay(tmp_path: Path) -> None:
    done = selfdebug("demo", "--into", "kept", "--color", "always", cwd=tmp_path)
    assert done.returncode == 0
    assert GUARDED in (tmp_path / "kept" / "shop" / "discount.py").read_bytes()
    assert b"\x1b[31;1mFAILED\x1b[0m" in done.stdout
    assert b"To undo: selfdebug rollback " in done.stdout
    assert f"It stays in {tmp_path / 'kept'}.".encode() in done.stdout
