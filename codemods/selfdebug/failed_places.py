"""Where a program failed, as far as the codemods have to know it: read out of a log or out of the last recorded run.

This reader knows the two ways in which frames are written, Python's `File "x.py", line N` and pytest's `x.py:N:`. The
complete reading of logs, of whatever form, belongs to `selfdebug failures`; a codemod must also work without it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

RECORD = ".selfdebug/last-failure.json"


class NoFailureError(Exception):
    """There is no place to work at; the message says in one sentence what is missing."""


@dataclass(frozen=True, slots=True)
class FailedPlace:
    """The deepest frame of one failure: `file` as it was written down, `line` from 1, `column` a code point from 0.

    `carets` are the columns that a traceback underlined, counted from the first character of the line's code.
    """

    file: str
    line: int
    message: str = ""
    receiver: str | None = None
    column: int | None = None
    carets: tuple[int, int] | None = None


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PYTHON_FRAME = re.compile(r'\s*File "(?P<file>[^"\n]+)", line (?P<line>[0-9]{1,7})\b')
_PYTEST_FRAME = re.compile(r"(?P<file>[^\s:][^:\n]*\.py|[A-Za-z]:[^:\n]+\.py):(?P<line>[0-9]{1,7}):(?: (?P<rest>.*))?$")
_ERROR = re.compile(r"(?:E\s+)?(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_ERROR_NAME = re.compile(r"(?:[\w.]*\.)?[A-Z]\w*$")
_CARETS = re.compile(r" {4,}(?P<marks>[~^]*\^[~^]*)\s*$")
# A new failure begins; what an exception chain shows before its last traceback is a cause, not the failure.
_NEXT_FAILURE = re.compile(r"={4,}|_{4,} .* _{4,}$|Traceback \(most recent call last\)|(?:FAILED|ERROR) ")
_NEXT_IN_CHAIN = re.compile(r"(?:During handling of the above exception|The above exception was the direct cause)")
_LIBRARY = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|lib/python\d[\d.]*|_pytest|\.tox|\.nox)/|^<|\bimportlib\b"
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")


def read_log(text: str) -> tuple[FailedPlace, ...]:
    """The deepest frame of each failure in a log, outside of libraries and of tests, each place once, in order."""
    found: dict[tuple[str, int], FailedPlace] = {}
    for failure in _failures(text):
        own = [place for place in failure if not _LIBRARY.search(place.file) and not _TEST_FILE.search(place.file)]
        if own:
            found.setdefault((own[-1].file, own[-1].line), replace(own[-1], message=failure[-1].message))
    return tuple(found.values())


def _failures(text: str) -> list[list[FailedPlace]]:
    """The frames of each failure; the message of the exception is kept with the last frame."""
    reading = _Reading()
    for raw in text.splitlines():
        reading.take(_COLOUR.sub("", raw).rstrip())
    reading.end_failure()
    return reading.failures


class _Reading:
    def __init__(self) -> None:
        self.failures: list[list[FailedPlace]] = []
        self.frames: list[FailedPlace] = []
        self.message = ""

    def take(self, line: str) -> None:
        """Read the next line of the log."""
        frame, error, carets = _frame(line), _ERROR.match(line), _CARETS.match(line)
        if _NEXT_IN_CHAIN.match(line):
            self.end_failure()
            del self.failures[-1:]  # it was the cause of the failure that follows
        elif _NEXT_FAILURE.match(line):
            self.end_failure()
        elif frame is not None:
            self.frames.append(frame)
            self.message = self.message or frame.message
            if frame.message:
                self.end_failure()
        elif carets and self.frames:
            start = carets.start("marks") - 4
            self.frames[-1] = replace(self.frames[-1], carets=(start, start + len(carets["marks"])))
        elif error and not self.message and _ERROR_NAME.match(error["type"]) and (self.frames or line[0] == "E"):
            self.message = error["message"] or error["type"]

    def end_failure(self) -> None:
        """Keep the frames that were read, if any, as one failure."""
        if self.frames:
            self.failures.append([*self.frames[:-1], replace(self.frames[-1], message=self.message)])
        self.frames, self.message = [], ""


def _frame(line: str) -> FailedPlace | None:
    """The frame that a line of a log names; `message` is set where pytest writes the exception behind the place."""
    python = _PYTHON_FRAME.match(line)
    found = python or _PYTEST_FRAME.match(line)
    if found is None:
        return None
    rest = "" if python else found["rest"] or ""
    kind, _, text = rest.partition(": ")
    message = text or kind if _ERROR_NAME.match(kind) else ""
    return FailedPlace(found["file"].replace("\\", "/"), int(found["line"]), message)


def last_recorded(folder: Path) -> tuple[FailedPlace, ...]:
    """What the last run in `folder`, or in the nearest folder above it, recorded; files come back as absolute paths.

    Raises NoFailureError when nothing was recorded or the record cannot be read.
    """
    root = next((each for each in [folder, *folder.parents] if (each / RECORD).is_file()), None)
    if root is None:
        raise NoFailureError(
            "say where: --line N (with --receiver EXPR or --column N), or --failure LOG; "
            f"no failure is recorded in {folder} or above it"
        )
    try:
        record = json.loads((root / RECORD).read_text("utf-8"))
        return tuple(_recorded(root, entry) for entry in record["failures"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoFailureError(f"the recorded failure {root / RECORD} cannot be read: {error!r}") from error


def _recorded(root: Path, entry: dict[str, object]) -> FailedPlace:
    receiver, column = entry.get("receiver"), entry.get("column")
    return FailedPlace(
        file=(root / str(entry["file"])).as_posix(),
        line=int(str(entry["line"])),
        receiver=receiver if isinstance(receiver, str) else None,
        column=column if isinstance(column, int) else None,
    )


def names_file(written: str, path: Path) -> bool:
    """Whether a path as a log writes it can mean the file `path`.

    A path that exists here means itself; one from another machine or folder is compared by its end, of an absolute path
    the last two parts.
    """
    here = Path(written)
    if here.exists():
        return here.resolve() == path.resolve()
    parts = PurePosixPath(written).parts
    end = (
        parts[-2:]
        if here.is_absolute() or re.match(r"[A-Za-z]:", written)
        else tuple(part for part in parts if part != ".")
    )
    return path.resolve().parts[-len(end) :] == end
