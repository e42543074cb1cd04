"""A pytest plugin that records which tests execute each line of some files, at most some dozens for each line.

Tracing is slow, so of each function only the first calls in a test are traced.

`GUARD_REMOVAL_FILES` lists the files, one a line; `GUARD_REMOVAL_LINES` is the file to write: tests by `FILE:LINE`.
It runs in the project's environment, so it uses the standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from types import CodeType, FrameType
from typing import Any

_FILES = set(os.environ.get("GUARD_REMOVAL_FILES", "").splitlines())
_MOST = 40
_TESTS: dict[tuple[str, int], list[str]] = {}
_MOST_CALLS = 25
_CALLS: dict[CodeType, int] = {}
_RUNNING = [""]


def _global(frame: FrameType, _event: str, _value: object) -> Any:
    code = frame.f_code
    if code.co_filename not in _FILES:
        return None
    _CALLS[code] = calls = _CALLS.get(code, 0) + 1
    return _local if calls <= _MOST_CALLS else None


def _local(frame: FrameType, event: str, _value: object) -> Any:
    if event == "line":
        tests = _TESTS.setdefault((frame.f_code.co_filename, frame.f_lineno), [])
        if len(tests) < _MOST and (not tests or tests[-1] != _RUNNING[0]):
            tests.append(_RUNNING[0])
    return _local


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record for this test; a test before may have taken the tracer away."""
    _RUNNING[0] = nodeid
    _CALLS.clear()
    sys.settrace(_global)


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    sys.settrace(None)
    found = {f"{file}:{line}": tests for (file, line), tests in _TESTS.items()}
    with open(os.environ["GUARD_REMOVAL_LINES"], "w", encoding="utf-8") as file:  # noqa: PTH123 - nothing more to import
        json.dump(found, file)
