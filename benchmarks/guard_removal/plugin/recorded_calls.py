"""A pytest plugin that records what some functions of the project did, call by call, as two digests a function.

The first is of what they gave back or that they raised; the second also of what they left in their arguments.
`GUARD_REMOVAL_FUNCTIONS` lists them as `FILE::NAME` (the qualified name), one a line; `GUARD_REMOVAL_RECORD` is the
file to write. It runs in the project's environment, so it uses the standard library only; Python 3.11 or later.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import opcode
import os
import re
import sys
from types import CodeType, FrameType
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_LONGEST = 2000
_WANTED = {tuple(entry.split("::")) for entry in os.environ.get("GUARD_REMOVAL_FUNCTIONS", "").splitlines()}
_NAMES = {name for _, name in _WANTED}
_LEAVING = {"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE", "RETURN_GENERATOR"}
_RESULTS: dict[str, Any] = {}
_EFFECTS: dict[str, Any] = {}
_COUNT: dict[str, int] = {}
_IS_RECORDING = [False]


def _profile(frame: FrameType, event: str, value: object) -> None:
    code = frame.f_code
    if event != "return" or code.co_qualname not in _NAMES or _IS_RECORDING[0]:
        return
    for file, name in _WANTED:
        if code.co_qualname == name and code.co_filename.endswith(file):
            _IS_RECORDING[0] = True  # the texts of objects may be made by the very functions
            try:
                _record(f"{file}::{name}", frame, value)
            finally:
                _IS_RECORDING[0] = False


def _record(key: str, frame: FrameType, value: object) -> None:
    result = f"{type(value).__name__} {_said(value)}" if _is_leaving(frame.f_code, frame.f_lasti) else "raised"
    left = " ".join(_state(argument) for argument in _arguments(frame))
    _RESULTS.setdefault(key, hashlib.sha256()).update(f"{result}\n".encode("utf-8", "replace"))
    _EFFECTS.setdefault(key, hashlib.sha256()).update(f"{result} {left}\n".encode("utf-8", "replace"))
    _COUNT[key] = _COUNT.get(key, 0) + 1


def _is_leaving(code: CodeType, offset: int) -> bool:
    """Whether the frame ends of its own accord; after an exception the profiler sees None given back, too."""
    return opcode.opname[code.co_code[offset]] in _LEAVING


def _arguments(frame: FrameType) -> list[object]:
    names = inspect.getargs(frame.f_code)
    wanted = [*names.args, *(name for name in (names.varargs, names.varkw) if name)]
    return [frame.f_locals[name] for name in wanted if name in frame.f_locals]


def _state(value: object) -> str:
    """What can be said of an argument: its text, and its attributes where that text does not tell them."""
    own = getattr(value, "__dict__", None) if type(value).__repr__ is object.__repr__ else None
    if not isinstance(own, dict):
        return _said(value)
    return " ".join(f"{name}={_said(part)}" for name, part in own.items())


def _said(value: object) -> str:
    try:
        # The order of a set of classes or other objects is that of their addresses.
        text = ", ".join(sorted(map(repr, value))) if isinstance(value, (set, frozenset)) else repr(value)
        return _ADDRESS.sub("0x", text)[:_LONGEST]
    except Exception as error:  # noqa: BLE001 - a project's __repr__ may raise anything, and none of it is ours
        return type(error).__name__


def pytest_runtest_setup() -> None:
    """Record from the first test on, and again after a test that took the profiler away."""
    sys.setprofile(_profile)


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    sys.setprofile(None)
    found = {key: [_COUNT[key], digest.hexdigest(), _EFFECTS[key].hexdigest()] for key, digest in _RESULTS.items()}
    with open(os.environ["GUARD_REMOVAL_RECORD"], "w", encoding="utf-8") as file:  # noqa: PTH123 - nothing more to import
        json.dump(found, file)
