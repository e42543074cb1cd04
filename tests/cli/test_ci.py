"""`selfdebug ci`, the GitHub action that calls it, and the hook for pre-commit: each as its server would run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from invoked import selfdebug

from selfdebug.cli.ci import exit_code, server_of
from selfdebug.demo import lay_out
from selfdebug.model import Repair
from selfdebug.reports import failed_run
from selfdebug.reports.relocation import relocated
from selfdebug.reports.run_document import document
from selfdebug.reports.samples import KEPT, NOTHING_FAILED, ROLLED_BACK

HERE = Path(__file__).parents[2]
NO_SERVER = {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the demo project in a folder of it."""
    lay_out(tmp_path / "it" / "apps" / "shop")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "it", check=True)
    return tmp_path / "it"


# ---------------------------------------------------------------- the action


def action() -> dict[str, Any]:
    """The composite action as data."""
    loaded: dict[str, Any] = yaml.safe_load((HERE / "action.yml").read_text())
    return loaded


def step(name: str) -> dict[str, Any]:
    """One step of the action."""
    return next(step for step in action()["runs"]["steps"] if step["name"].startswith(name))


def executed(name: str, folder: Path, inputs: dict[str, str], **environ: str) -> subprocess.CompletedProcess[str]:
    """What the runner does for a step with a script: expressions go into its environment, the script into bash."""
    given = {key: value["default"] for key, value in action()["inputs"].items()} | inputs
    names = {f"${{{{ inputs.{key} }}}}": value for key, value in given.items()}
    environment = {key: names.get(value, value) for key, value in step(name)["env"].items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]],
        cwd=folder,
        env={**os.environ, **environment, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The documented environment of a runner, with selfdebug installed where the first step puts it."""
    binary = tmp_path / "temp" / "selfdebug" / "bin" / "selfdebug"
    binary.parent.mkdir(parents=True)
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m selfdebug "$@"\n')
    binary.chmod(0o755)
    return {
        "GITHUB_ACTIONS": "true",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }


def test_the_action_reports_a_failing_project_of_a_larger_repository(
    repository: Path, runner: dict[str, str], tmp_path: Path
) -> None:
    done = executed("Run the tests", repository, {"root": "apps/shop", "python": sys.executable}, **runner)
    assert done.returncode == 1, done.stderr
    assert "::error title=selfdebug (none-attribute),file=apps/shop/shop/discount.py,line=10," in done.stdout
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert outputs == {
        "status": "pass",
        "exit-reason": outputs["exit-reason"],
        "has-patch": "true",
        "reports": "selfdebug-reports",
    }
    reports = repository / "selfdebug-reports"
    assert (tmp_path / "summary.md").read_text() == (reports / "comment.md").read_text()
    assert "a/apps/shop/shop/discount.py" in (reports / "comment.md").read_text()
    assert (reports / "selfdebug.html").read_bytes().startswith(b"<!DOCTYPE html>")
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert status.stdout == "?? apps/\n"  # as before: nothing was patched, and the reports ignore themselves
    subprocess.run(["git", "apply", "--check", "selfdebug-reports/selfdebug.patch"], cwd=repository, check=True)


@pytest.mark.parametrize("name", ["root", "python", "log", "pytest-args", "reports"])
def test_no_input_of_the_action_is_ever_part_of_a_command(
    repository: Path, runner: dict[str, str], tmp_path: Path, name: str
) -> None:
    hostile = f'"; touch {tmp_path}/owned; "$(touch {tmp_path}/owned)`touch {tmp_path}/owned`\''
    done = executed("Run the tests", repository, {"python": sys.executable, name: hostile}, **runner)
    assert done.returncode not in (0, 3)
    assert not (tmp_path / "owned").exists()


def test_no_script_of_the_action_holds_an_expression() -> None:
    scripts = [step["run"] for step in action()["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)


def test_the_actions_own_example_asks_for_no_more_than_it_needs() -> None:
    workflow = yaml.safe_load((HERE / "docs/ci/github.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["tests"]
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    given = next(step["with"] for step in job["steps"] if step.get("uses", "").startswith("selfdebug/"))
    assert set(given) <= set(action()["inputs"])


# ---------------------------------------------------------------- other servers


def test_on_gitlab_the_job_of_the_example_leaves_what_the_server_reads(repository: Path) -> None:
    job = yaml.safe_load((HERE / "docs/ci/gitlab-ci.yml").read_text())["selfdebug"]
    words = job["script"][-1].split()[1:]
    given = [sys.executable if "command" in word else word for word in words if word not in ("-v", 'python)"')]
    done = selfdebug(*given, "--root", "apps/shop", cwd=repository, environ={**NO_SERVER, "GITLAB_CI": "true"})
    assert done.returncode == 1
    assert done.stdout.startswith(b"DBG-PROBE frame=discount ")
    (issue,) = json.loads((repository / job["artifacts"]["reports"]["codequality"]).read_bytes())
    assert issue["location"]["path"] == "apps/shop/shop/discount.py"


def test_where_nothing_fails_a_job_ends_well(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    (tmp_path / "pyproject.toml").write_text("")
    done = selfdebug("ci", cwd=tmp_path, environ=NO_SERVER)
    assert done.returncode == 0
    assert ET.parse(tmp_path / "selfdebug-reports" / "selfdebug.xml").getroot().tag == "testsuites"
    assert (tmp_path / "selfdebug-reports" / "selfdebug.patch").read_bytes() == b""


def test_the_server_is_known_by_its_environment(tmp_path: Path) -> None:
    github = server_of({"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": "/tmp/out"}, tmp_path)
    assert (github.format_name, github.summary, github.variables) == ("github", None, Path("/tmp/out"))
    formats = {file.format_name for file in server_of({}, tmp_path).files}
    assert formats == {"diff", "html", "junit"}


def test_a_summary_that_cannot_be_added_to_is_said_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    (tmp_path / "pyproject.toml").write_text("")
    environ = {**NO_SERVER, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path), "GITHUB_OUTPUT": ""}
    done = selfdebug("ci", cwd=tmp_path, environ=environ)
    assert done.returncode == 0
    assert b"Cannot add to " in done.stderr


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = selfdebug("ci", "--reports", "taken/reports", cwd=tmp_path, environ=NO_SERVER)
    assert done.returncode == 3
    assert done.stderr.decode() == "selfdebug: Cannot make the folder taken/reports: Not a directory.\n"


@pytest.mark.parametrize(
    ("repair", "codes"),
    [
        (NOTHING_FAILED, (0, 0)),
        (KEPT, (1, 0)),
        (ROLLED_BACK, (1, 0)),
        (failed_run(1, "no-tests", "pytest collected no tests."), (1, 1)),
        (failed_run(1, "timeout", "pytest took too long."), (1, 1)),
        (failed_run(130, "interrupted", "Interrupted."), (130, 130)),
        (failed_run(3, "internal-error", "Oh."), (3, 3)),
    ],
    ids=lambda value: value.exit_reason if isinstance(value, Repair) else "",
)
def test_the_exit_code_of_a_job(repair: Repair, codes: tuple[int, int]) -> None:
    assert (exit_code(repair, exit_zero=False), exit_code(repair, exit_zero=True)) == codes


# ---------------------------------------------------------------- files named from elsewhere


def test_every_file_of_a_run_is_named_from_the_new_root() -> None:
    moved = relocated(KEPT, "apps/my shop")
    written = json.dumps(document(moved))
    named = re.findall(r"(?<![\w/])(?:apps/my shop/)?shop/discount\.py", written)
    assert len(named) > 8
    assert {name for name in named if not name.startswith("apps/")} == set()
    assert moved.files_patched == ("apps/my shop/shop/discount.py",)
    assert relocated(moved, "") is moved


# ---------------------------------------------------------------- pre-commit


def test_the_hook_is_a_command_that_writes_nothing() -> None:
    (hook,) = yaml.safe_load((HERE / ".pre-commit-hooks.yaml").read_text())
    assert hook["stages"] == ["pre-push", "manual"]
    assert not hook["pass_filenames"]
    program, *words = hook["entry"].split()
    assert program == "selfdebug"
    assert "--dry-run" in words
    assert selfdebug(*words, "--help").returncode == 0
