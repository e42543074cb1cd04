"""Runs that leave no report: commands that only look, wrong input, an interrupt, an error of our own."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from invoked import selfdebug

from selfdebug.config import Settings
from selfdebug.repair import open_bench

NO_FAILURE = b"all is well\n"


def project(folder: Path) -> Path:
    """A folder that is a project."""
    (folder / "pyproject.toml").write_text("")
    return folder


def recorded(folder: Path) -> list[tuple[str, str]]:
    """The runs of a project that can be asked, the last first: ids and how they ended."""
    listed = json.loads(selfdebug("runs", "recorded", "--json", cwd=folder).stdout)["runs"]
    return [(run["id"], run["status"]) for run in listed]


@pytest.mark.parametrize("command", ["probe", "why"])
def test_a_command_that_only_looks_has_not_crashed(tmp_path: Path, command: str) -> None:
    selfdebug(command, "-", cwd=project(tmp_path), stdin=NO_FAILURE)
    ((_, status),) = recorded(tmp_path)
    assert status == "only looked"
    told = selfdebug("explain", cwd=tmp_path).stdout.decode()
    assert " only looked.\nWhat failed\n  The failures that were read: 0 [ingest#0].\n  The run only looked.\n" in told


def test_who_looked_afterwards_is_told_of_the_run_that_repaired(tmp_path: Path) -> None:
    selfdebug("run", "-", cwd=project(tmp_path), stdin=NO_FAILURE)
    ((run, _),) = recorded(tmp_path)
    selfdebug("why", "-", cwd=tmp_path, stdin=NO_FAILURE)
    assert f"Run {run} passed.\n" in selfdebug("explain", cwd=tmp_path).stdout.decode()
    assert sorted(status for _, status in recorded(tmp_path)) == ["only looked", "passed"]


@pytest.mark.parametrize("command", ["run", "probe", "why"])
def test_a_run_that_a_wrong_input_ended_has_failed_and_says_of_what(tmp_path: Path, command: str) -> None:
    assert selfdebug(command, "-", cwd=project(tmp_path)).returncode == 64
    ((_, status),) = recorded(tmp_path)
    assert status == "failed"
    told = selfdebug("explain", "why rolled back", cwd=tmp_path).stdout.decode()
    assert "I did not roll back: the run failed. The log is empty: give a file" in told
    assert "process was gone" not in told


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "I did not roll back: the run was interrupted. It was interrupted [report#0]."),
        (ValueError("oh"), "the run crashed. An error of selfdebug itself ended the run [report#0]."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_else_ends_a_run_is_told_as_it_was(tmp_path: Path, error: BaseException, told: str) -> None:
    with suppress(type(error)), open_bench(Settings(root=project(tmp_path)), lambda _event: None):
        raise error
    assert told in selfdebug("explain", "why rolled back", cwd=tmp_path).stdout.decode()
