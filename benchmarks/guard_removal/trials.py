"""One removal, measured: does the project's suite crash without the guard, and what does selfdebug make of it?"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmarks.guard_removal.environments import Prepared, checked_out
from benchmarks.guard_removal.equivalence import difference, is_same_tree
from benchmarks.guard_removal.removals import GUARDABLE, Removal
from selfdebug.model import Failure, PytestRun


class Result(StrEnum):
    """What became of a removal."""

    SAME = "same as the original"
    EQUIVALENT = "equivalent"
    DIFFERENT = "plausible but different"
    NOTHING = "nothing"
    ERROR = "error"
    NO_CRASH = "no crash"


_LATE = "not ended"
_LATE_TESTS = "The tests did not end"


@dataclass(frozen=True, slots=True)
class Measured:
    """A removal with its result; `tried` counts the candidates that were run, `seconds` is the time of the tool.

    `original` is the guard that was taken out, as the difference that would bring it back; `is_warned` tells whether
    the report warns of the kept patch (a part of it is not pinned by any test, or another patch behaves differently).
    """

    project: str
    split: str
    removal: str
    what: str
    form: str
    result: Result
    crash: str = ""
    failing: int = 0
    suite_seconds: float = 0.0
    seconds: float = 0.0
    tried: int = 0
    guard: str = ""
    diff: str = ""
    detail: str = ""
    original: str = ""
    is_warned: bool = False

    @property
    def is_late(self) -> bool:
        """Whether the run was stopped for its time."""
        return self.result is Result.NOTHING and self.detail.startswith((_LATE, _LATE_TESTS))

    def line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(asdict(self))


def measured(ready: Prepared, removal: Removal, folder: Path, limit: float) -> Measured:
    """Take the guard out, and let selfdebug work on it in `folder` for at most `limit` seconds."""
    project = ready.project
    about = (project.name, project.split.value, removal.id, removal.what, removal.form)
    tests = ready.tests_of.get(f"{removal.file}:{removal.telling}", ())
    if not tests:
        return Measured(*about, Result.NO_CRASH, detail="no test executes it")
    crashed = ready.run({removal.file: removal.after}, node_ids=tuple(tests))
    crash = _crash(crashed)
    if crash is None:
        return Measured(*about, Result.NO_CRASH)
    original = (ready.tree / removal.file).read_bytes()
    checked_out(ready, folder, removal.file, removal.after)
    began = time.monotonic()
    exit_code, output, errors = _selfdebug(ready, folder, limit)
    seconds = time.monotonic() - began
    result, guard, diff, detail, tried, failing, is_warned = Result.ERROR, "", "", errors[-2000:], 0, 0, False
    if exit_code is None:
        result, detail = Result.NOTHING, f"{_LATE} after {limit:.0f} s"
    elif exit_code in (0, 1, 128) and output.startswith("{"):
        report = json.loads(output)
        failing = len(report["failures"])
        tried = sum(trial["verdict"] != "refused" for trial in report["candidates"])
        guard = ", ".join(kept["guard"] for patch in report["patches"] for kept in patch["guards"])
        diff, detail, is_warned = report["diff"], report["message"], _is_warned(report)
        result, why = _judged(ready, folder, removal, original) if exit_code == 0 else (Result.NOTHING, "")
        detail = why or detail
    left = _left_over(folder, is_kept=exit_code == 0)
    if left:
        result, detail = Result.ERROR, f"left behind: {left}; {detail}"
    numbers = (failing, ready.seconds, seconds, tried)
    guarded = _difference(removal.file, removal.after, original)
    return Measured(*about, result, crash, *numbers, guard, diff, detail, guarded, is_warned)


def _is_warned(report: Mapping[str, Any]) -> bool:
    """Whether the report says of the kept patch that the tests do not hold a part of it."""
    guards = [guard for patch in report["patches"] for guard in patch["guards"]]
    return any(not pin["pinned"] for guard in guards for pin in guard["pins"])


def _difference(file: str, one: bytes, other: bytes) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (one, other))
    return "".join(difflib.unified_diff(old, new, f"a/{file}", f"b/{file}"))


def _crash(run: PytestRun) -> str | None:
    """The crash that most failures show, in the project's own code; None where tests fail in other ways."""
    crashes = [failure for failure in run.failures if _is_crash(failure)]
    if not run.ended or not crashes or 2 * len(crashes) < len(run.failures):
        return None
    first = crashes[0].crash
    frame = first.deepest_source
    return f"{first.exception.short_type}: {first.exception.message[:120]} at {frame.place if frame else None}"


def _is_crash(failure: Failure) -> bool:
    leaf = failure.crash
    return leaf.exception.short_type in GUARDABLE and leaf.deepest_source is not None


def _selfdebug(ready: Prepared, folder: Path, limit: float) -> tuple[int | None, str, str]:
    """Exit code (None after the limit), standard output and standard error of `selfdebug run --json`."""
    options = ("--json", "--root", str(folder), "--python", str(ready.python), "--timeout", "120")
    command = [sys.executable, "-m", "selfdebug", "run", *options, "--pytest-args", shlex.join(ready.pytest_args)]
    env = {**ready.environment(folder), "SELFDEBUG_SESSION": "benchmark"}
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        try:
            output, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGTERM)  # it rolls back, also where this script runs with SIGINT ignored
            output, errors = child.communicate()
            return None, output, errors
        return child.returncode, output, errors


def _judged(ready: Prepared, folder: Path, removal: Removal, original: bytes) -> tuple[Result, str]:
    """How near the patch is to the original, and where it is another one, what tells so."""
    changed = [file for file in _changed(folder) if file.endswith(".py")]
    patched = {file: (folder / file).read_bytes() for file in {*changed, removal.file}}
    before = {file: original if file == removal.file else (ready.tree / file).read_bytes() for file in patched}
    if all(is_same_tree(before[file], data) for file, data in patched.items()):
        return Result.SAME, ""
    found = difference(ready, before, patched)
    return (Result.EQUIVALENT, "") if found is None else (Result.DIFFERENT, found)


def _left_over(folder: Path, *, is_kept: bool) -> list[str]:
    """What git sees beside a kept patch of Python files: nothing, if all is well."""
    return [file for file in _changed(folder) if not (is_kept and file.endswith(".py"))]


def _changed(folder: Path) -> list[str]:
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [line[3:] for line in done.stdout.splitlines()]


def from_line(line: str) -> Measured:
    """The record that `Measured.line` wrote."""
    fields: dict[str, Any] = json.loads(line)
    return Measured(**{**fields, "result": Result(fields["result"])})
