"""A pytest plugin that records the seconds of each test that takes long: `GUARD_REMOVAL_SLOW` is the file to write.

It runs in the project's environment, so it uses the standard library only.
"""

from __future__ import annotations

import json
import os
import time

_LONG = 1.0
_SECONDS: dict[str, float] = {}
_CLOCK = (time.perf_counter,)  # in a tuple, where libraries that freeze time do not look for it
_BEGAN = [0.0]


def pytest_runtest_logstart() -> None:
    """A test begins."""
    _BEGAN[0] = _CLOCK[0]()


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note a test that took long."""
    seconds = _CLOCK[0]() - _BEGAN[0]
    if seconds > _LONG:
        _SECONDS[nodeid] = seconds


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    with open(os.environ["GUARD_REMOVAL_SLOW"], "w", encoding="utf-8") as file:  # noqa: PTH123 - nothing more to import
        json.dump(_SECONDS, file)
