"""The JSON document of `selfdebug failures`: plain dictionaries and lists, places relative to the root."""

from __future__ import annotations

from typing import Any

from selfdebug.model import Failure, Frame
from selfdebug.stages.failures import FailureLog


def document(log: FailureLog) -> dict[str, Any]:
    """The whole document: the failures in the order of the log, and the sentences for the reader."""
    return {"failures": [failure_document(failure) for failure in log.failures], "notes": list(log.notes)}


def failure_document(failure: Failure) -> dict[str, Any]:
    """One failure; `causes` and `group` hold documents of the same form."""
    return {
        "node_id": failure.node_id,
        "when": failure.when.value,
        "exc_type": failure.exception.type or None,
        "msg": failure.exception.message,
        "msg_is_cut": failure.exception.is_cut,
        "frames": [_frame(frame) for frame in failure.frames],
        "deepest": _place(failure.deepest),
        "deepest_source": _place(failure.deepest_source),
        "causes": [failure_document(cause) for cause in failure.causes],
        "group": [failure_document(member) for member in failure.group],
    }


def _place(frame: Frame | None) -> dict[str, Any] | None:
    return None if frame is None else {"file": frame.file, "line": frame.line, "function": frame.function}


def _frame(frame: Frame) -> dict[str, Any]:
    """`file` is the project file, or the path as the log writes it where the frame lies outside."""
    return {
        "file": frame.file or frame.path,
        "line": frame.line,
        "function": frame.function,
        "in_project": frame.file is not None,
        "is_test": frame.is_test,
    }
