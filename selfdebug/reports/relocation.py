"""A run whose files are named from another folder: CI servers and reviewers count from the root of the repository."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from selfdebug.model import PytestRun, Repair

_Record = TypeVar("_Record")


def relocated(repair: Repair, prefix: str) -> Repair:
    """The run with `prefix` (POSIX, without a final slash) before the name of each project file."""
    if prefix in ("", "."):
        return repair
    return replace(_record(repair, prefix), files_patched=tuple(f"{prefix}/{file}" for file in repair.files_patched))


def _moved(value: Any, prefix: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(inner, prefix) for inner in value)
    if isinstance(value, PytestRun) or not is_dataclass(value) or isinstance(value, type):
        return value  # what pytest was asked is told as it was asked
    return _record(value, prefix)


def _record(record: _Record, prefix: str) -> _Record:
    changed = {}
    for field in fields(record):  # type: ignore[arg-type]  # called with instances of dataclasses only
        value = getattr(record, field.name)
        new = f"{prefix}/{value}" if field.name == "file" and isinstance(value, str) else _moved(value, prefix)
        if new is not value:
            changed[field.name] = new
    return replace(record, **changed) if changed else record  # type: ignore[type-var]  # as above
