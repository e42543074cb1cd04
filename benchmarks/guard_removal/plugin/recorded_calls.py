"""A pytest plugin that records what some functions of the project gave back, call by call, as one digest a function.

`GUARD_REMOVAL_FUNCTIONS` lists them as `FILE::NAME`, one a line; `GUARD_REMOVAL_RECORD` is the file to write.
It runs in the project's environment, so it uses the standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from types import FrameType
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_WANTED = {tuple(entry.split("::")) for entry in os.environ.get("GUARD_REMOVAL_FUNCTIONS", "").splitlines()}
_SEEN: dict[str, Any] = {}
_COUNT: dict[str, int] = {}


def _profile(frame: FrameType, event: str, value: object) -> None:
    if event != "return":
        return
    code = frame.f_code
    for file, name in _WANTED:
        if code.co_name == name and code.co_filename.endswith(file):
            _record(f"{file}::{name}", value)


def _record(key: str, value: object) -> None:
    try:
        said = _ADDRESS.sub("0x", repr(value))[:2000]
    except Exception as error:  # noqa: BLE001 - a project's __repr__ may raise anything, and none of it is ours
        said = type(error).__name__
    _SEEN.setdefault(key, hashlib.sha256()).update(f"{type(value).__name__} {said}\n".encode("utf-8", "replace"))
    _COUNT[key] = _COUNT.get(key, 0) + 1


def pytest_runtest_setup() -> None:
    """Record from the first test on, and again after a test that took the profiler away."""
    sys.setprofile(_profile)


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    sys.setprofile(None)
    found = {key: [_COUNT[key], digest.hexdigest()] for key, digest in _SEEN.items()}
    with open(os.environ["GUARD_REMOVAL_RECORD"], "w", encoding="utf-8") as file:  # noqa: PTH123 - nothing more to import
        json.dump(found, file)
