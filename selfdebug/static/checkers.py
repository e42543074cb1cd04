"""Complaints of mypy and pyright about values that may be None, read from the JSON that they write.

mypy: `--output json`, a JSON object a line, columns from 0. pyright: `--outputjson`, one document, lines and columns
from 0, in UTF-16 units.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codemods.selfdebug.base import Parameters, RefusedError, Target, TargetNotFoundError
from codemods.selfdebug.conditions import condition_for
from codemods.selfdebug.dereferences import Operation
from codemods.selfdebug.failed_places import FailedPlace
from codemods.selfdebug.receivers import target_at
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at
from codemods.selfdebug.static.unguarded import Unguarded
from selfdebug.errors import InputError

# What mypy says of a None, and what Python would say, by which the use on the line is found.
_MYPY = (
    (re.compile(r'Item "None" of .* has no attribute "__(?:iter|next)__"'), "'NoneType' object is not iterable"),
    (re.compile(r'Item "None" of .* has no attribute "__a?enter__"'), "context manager"),
    (re.compile(r'Item "None" of .* has no attribute "(\w+)"'), "'NoneType' object has no attribute '{0}'"),
    (re.compile(r'Value of type ".*(?:None|Optional).*" is not indexable'), "not subscriptable"),
    (re.compile(r'"None" not callable'), "is not callable"),
    (re.compile(r"Unsupported (?:left |right )?operand types? for .*None"), "unsupported operand"),
)
_PYRIGHT = {
    "reportOptionalMemberAccess": "'NoneType' object has no attribute '{0}'",
    "reportOptionalSubscript": "not subscriptable",
    "reportOptionalCall": "is not callable",
    "reportOptionalIterable": "not iterable",
    "reportOptionalContextManager": "context manager",
    "reportOptionalOperand": "unsupported operand",
    "reportOperatorIssue": "unsupported operand",
}
_QUOTED = re.compile(r'"(\w+)"')


@dataclass(frozen=True, slots=True)
class Complaint:
    """One place, with what the checker says there and what Python would say.

    `column` counts UTF-16 units from 0 and decides only where the line has several such uses.
    """

    line: int
    column: int
    text: str
    message: str
    checker: str


def read_complaints(data: bytes, root: Path) -> Mapping[str, tuple[Complaint, ...]]:
    """The complaints about None by project file, relative to `root`. Raises InputError for what no checker wrote."""
    text = data.decode("utf-8", "replace").strip()
    found: dict[str, list[Complaint]] = {}
    for path, complaint in _complaints(text):
        file = Path(os.path.relpath(Path(root, path).resolve(), root.resolve())).as_posix()
        if not file.startswith("../"):
            found.setdefault(file, []).append(complaint)
    return {file: tuple(complaints) for file, complaints in found.items()}


def _complaints(text: str) -> Iterator[tuple[str, Complaint]]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    try:
        if isinstance(whole, dict) and "generalDiagnostics" in whole:
            yield from _from_pyright(whole["generalDiagnostics"])
        else:
            yield from _from_mypy(json.loads(line) for line in text.splitlines() if line.startswith("{"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"This is no report of mypy (--output json) or pyright (--outputjson): {type(error).__name__}: {error}."
        ) from error


def _from_mypy(messages: Iterator[dict[str, Any]]) -> Iterator[tuple[str, Complaint]]:
    for said in messages:
        text = str(said["message"])
        for pattern, meaning in _MYPY:
            match = pattern.match(text)
            if match:
                yield (
                    said["file"],
                    Complaint(int(said["line"]), int(said["column"]), text, meaning.format(*match.groups()), "mypy"),
                )
                break


def _from_pyright(diagnostics: list[dict[str, Any]]) -> Iterator[tuple[str, Complaint]]:
    for said in diagnostics:
        meaning = _PYRIGHT.get(str(said.get("rule")))
        start, text = said["range"]["start"], str(said["message"])
        if meaning is None or "None" not in text:
            continue
        quoted = _QUOTED.search(text)
        message = meaning.format(quoted[1] if quoted else "")
        yield said["file"], Complaint(int(start["line"]) + 1, int(start["character"]), text, message, "pyright")


def use_at(source: Source, complaint: Complaint) -> Unguarded | None:
    """The use that a complaint is about; None where the line has no such use, or is guarded by now."""
    try:
        target = _target(source, complaint)
        condition_for(source.site(target), Parameters())
    except (RefusedError, TargetNotFoundError):
        return None
    code = text_at(source.lines, target.receiver)
    said = f"{complaint.checker}: {complaint.text.splitlines()[0]}"
    return Unguarded(target, code, Operation.NAME, "", said)


def _target(source: Source, complaint: Complaint) -> Target:
    place = FailedPlace("", complaint.line, message=complaint.message)
    try:
        return target_at(source, place)
    except RefusedError:  # several uses: the column tells
        line = source.lines[complaint.line - 1]
        if complaint.checker == "mypy" and not line.isascii():
            raise  # its columns count neither bytes nor characters then
        column = len(line.encode("utf-16-le")[: 2 * complaint.column].decode("utf-16-le", "ignore"))
        return target_at(source, replace(place, column=column))
