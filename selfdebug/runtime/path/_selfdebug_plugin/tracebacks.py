"""Live exceptions as records: frames with exact columns and local variables, chained causes, the leaves of groups.

Columns are handed on as the interpreter counts them, in UTF-8 bytes, together with the lines they belong to.
"""

from __future__ import annotations

import itertools
import linecache
import os
import re
import sys
from types import FrameType, TracebackType
from typing import Any, Dict, Iterator

from .guarded import guarded
from .redaction import redact
from .values import base_names, class_name, local_variables, render

MAX_MESSAGE = 4_000
MAX_LINE = 2_000
MAX_FRAMES = (40, 120)  # so many outermost and innermost entries are kept of a deep recursion
MAX_FRAMES_WITH_LOCALS = 25
MAX_CAUSES = 10
MAX_LEAVES = 40
_RUNNERS = frozenset({"_pytest", "pluggy", "importlib", "_selfdebug_plugin"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_HIDE = "__tracebackhide__"
_NAMED = re.compile(r"has no attribute '([^']+)'|(?:name|variable) '([^']+)'")

Record = Dict[str, Any]


class Project:
    """Which files belong to the project: those under its root, unless they are installed there."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self._prefix = os.path.realpath(sys.prefix) + os.sep
        self._known: dict[str, bool] = {}

    def __contains__(self, path: str) -> bool:
        if path not in self._known:
            self._known[path] = self._belongs(path)
        return self._known[path]

    def _belongs(self, path: str) -> bool:
        real = os.path.realpath(path)
        if path.startswith("<") or not real.startswith(self._root):
            return False
        is_installed = not _INSTALLED.isdisjoint(real.split(os.sep))
        is_environment = self._prefix.startswith(self._root) and real.startswith(self._prefix)
        return not (is_installed or is_environment)


def unwrapped(exception: BaseException | None) -> BaseException | None:
    """The project's own exception inside what pytest and doctest wrap it in."""
    inner = exception
    while inner is not None:
        exception, inner = inner, _wrapped(inner)
    return exception


def _wrapped(exception: BaseException) -> BaseException | None:
    kind = type(exception).__name__
    if kind in ("CollectError", "ConftestImportFailure"):
        return exception.__cause__
    if kind == "MultipleDoctestFailures":  # with --doctest-continue-on-failure: the first of them
        return next(iter(getattr(exception, "failures", ())), None)
    if kind == "UnexpectedException":  # an example of a doctest raised
        return getattr(exception, "exc_info", (None, None))[1]
    return None


def describe_failure(exception: BaseException, project: Project) -> Record:
    """The record of an exception, with its chain of causes and the leaves of its group."""
    record = _describe(exception, project)
    record["causes"] = [_describe(cause, project) for cause in _causes(exception)]
    return record


def _describe(exception: BaseException, project: Project) -> Record:
    return {
        "exception": describe_exception(exception),
        "frames": list(_frames(exception, project)),
        "group": [_leaf(leaf, project) for leaf in itertools.islice(_leaves(exception, set()), MAX_LEAVES)],
    }


def _leaf(exception: BaseException, project: Project) -> Record:
    return {
        "exception": describe_exception(exception),
        "frames": list(_frames(exception, project)),
        "causes": [_describe(cause, project) for cause in _causes(exception)],
    }


def describe_exception(exception: BaseException) -> Record:
    """Class, message and what the exception says of itself."""
    text = guarded(lambda: str.__str__(str(exception)), "")
    message, _ = redact(text)
    return {
        "type": class_name(type(exception)),
        "mro": [class_name(type(exception)), *base_names(type(exception))],
        "message": message[:MAX_MESSAGE],
        "is_cut": len(text) > MAX_MESSAGE,
        "name": _name(exception, text),
        "key": _key(exception),
    }


def _name(exception: BaseException, text: str) -> str | None:
    if not isinstance(exception, (AttributeError, NameError)):
        return None
    name = guarded(lambda: getattr(exception, "name", None), None)
    if type(name) is str:
        return name
    # Before Python 3.10, and for UnboundLocalError, only the message knows.
    match = _NAMED.search(text[:MAX_MESSAGE])
    return (match.group(1) or match.group(2)) if match else None


def _key(exception: BaseException) -> str | None:
    if not isinstance(exception, KeyError) or type(exception.args) is not tuple or not exception.args:
        return None
    return render(exception.args[0])[0]


def _causes(exception: BaseException) -> Iterator[BaseException]:
    """What Python would print above the exception, newest first."""
    seen = {id(exception)}
    for _ in range(MAX_CAUSES):
        following = exception.__cause__
        if following is None and not exception.__suppress_context__:
            following = exception.__context__
        if following is None or id(following) in seen:
            return
        seen.add(id(following))
        exception = following
        yield exception


def _leaves(exception: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The exceptions inside a group (of Python 3.11 or of the backport), groups within groups opened."""
    if not any(base.__name__ == "BaseExceptionGroup" for base in type(exception).__mro__) or id(exception) in seen:
        return
    seen.add(id(exception))
    members: tuple[BaseException, ...] = guarded(lambda: tuple(exception.exceptions), ())  # type: ignore[attr-defined] # a group has it
    for member in members:
        if any(base.__name__ == "BaseExceptionGroup" for base in type(member).__mro__):
            yield from _leaves(member, seen)
        else:
            yield member


def _frames(exception: BaseException, project: Project) -> Iterator[Record]:
    entries = _without_runner(list(_entries(exception.__traceback__)), project)
    first, last = MAX_FRAMES
    if len(entries) > first + last:
        entries = entries[:first] + entries[-last:]
    of_project = [index for index, entry in enumerate(entries) if entry[0].f_code.co_filename in project]
    with_locals = set(of_project[-MAX_FRAMES_WITH_LOCALS:])
    for index, (frame, line, instruction) in enumerate(entries):
        yield _frame(frame, line, instruction, index in with_locals)
    if isinstance(exception, SyntaxError) and exception.filename and exception.lineno:
        yield _syntax_error_frame(exception)


def _entries(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno or traceback.tb_frame.f_code.co_firstlineno, traceback.tb_lasti
        traceback = traceback.tb_next


def _without_runner(entries: list[tuple[FrameType, int, int]], project: Project) -> list[tuple[FrameType, int, int]]:
    """The entries from the first that is not of pytest, unittest or the import system; all if there is none."""
    for index, (frame, _, _) in enumerate(entries):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_filename in project or not (top in _RUNNERS or "__unittest" in frame.f_globals):
            return entries[index:]
    return entries


def _frame(frame: FrameType, line: int, instruction: int, with_locals: bool) -> Record:
    code = frame.f_code
    record: Record = {
        "path": _absolute(code.co_filename),
        "line": line,
        "function": code.co_name,
        "code": _source_line(code.co_filename, line, frame.f_globals),
        "hidden": _is_hidden(frame),
    }
    position = _position(code, instruction)
    if position is not None:
        record["position"] = position
        record["position_lines"] = [
            _source_line(code.co_filename, number, frame.f_globals) for number in (position[0], position[2])
        ]
    if with_locals:
        record["locals"] = local_variables(frame)
    return record


def _position(code: Any, instruction: int) -> tuple[int, int, int, int] | None:
    """Start line, start column, end line, end column of the instruction, where the interpreter keeps them (3.11+)."""
    if not hasattr(code, "co_positions") or instruction < 0:
        return None
    found = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    if found is None or None in found:
        return None
    line, end_line, column, end_column = found
    return line, column, end_line, end_column


def _source_line(path: str, line: int, module_globals: dict[str, Any]) -> str:
    text: str = guarded(lambda: linecache.getline(path, line, module_globals), "")
    return text.rstrip("\r\n")[:MAX_LINE]


def _is_hidden(frame: FrameType) -> bool:
    """Whether the frame asks not to be shown; pytest also takes a function that decides, which is not called here."""
    mark = guarded(lambda: frame.f_locals.get(_HIDE, frame.f_globals.get(_HIDE)), None)
    return mark is True or (type(mark) is int and mark != 0)


def _syntax_error_frame(exception: SyntaxError) -> Record:
    text = exception.text if isinstance(exception.text, str) else ""
    return {
        "path": _absolute(str(exception.filename)),
        "line": int(exception.lineno or 0),
        "function": None,
        "code": text.rstrip("\r\n")[:MAX_LINE],
        "hidden": False,
    }


def _absolute(path: str) -> str:
    return path if path.startswith("<") else os.path.abspath(path)
