"""One failing entry of pytest's report, in any style: what stands between two underscored titles."""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.tracebacks import MAX_FRAMES, MAX_MESSAGE_LINES, Part, TracebackReader, failure_of

_OUTPUT_TITLES = ("Captured ", "live log", "generated xml", "Hypothesis", ">> begin captured", "coverage:")
_DEFINITION = re.compile(r"[> ]\s*(?:async +def|def|class) +([^\W\d]\w*)|(?:async +def|def) +([^\W\d]\w*)")
_FIXTURE_FILE = re.compile(r"file (.+), line (\d+)$")
_ERROR_TEXT = re.compile(r"E(?: +|$)")
_CRASHED = re.compile(r"worker '[^']*' crashed while running '([^']+)'")
_ONLY_SUBTESTS = re.compile(r"contains \d+ failed subtests?$")
_XDIST = re.compile(r"\[gw\d+\] \S+ -- Python ")
_SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_CRASH_ONLY = ("UnexpectedException",)


class EntryReader:
    """Collects frames, exception and causes of one entry; takes every line, since only the next title ends it."""

    def __init__(self, title: str | None) -> None:
        self.title = title
        self.is_complete = False
        self._parts = [Part()]
        self._error: list[str] = []
        self._text: list[str] = []
        self._crash = ""
        self._native: TracebackReader | None = None
        self._is_captured = False
        self._function: str | None = None
        self._seen_source = False
        self._code: str | None = None
        self._fixture: tuple[str, int] | None = None

    @property
    def _part(self) -> Part:
        return self._parts[-1]

    def feed(self, line: str) -> None:
        """Take the next line of the entry."""
        if self._is_captured:
            return
        if (
            line.startswith("--")
            and line.lstrip("-").lstrip().startswith(_OUTPUT_TITLES)
            and line.rstrip().endswith("-")
        ):
            self._is_captured = True
            return
        if self._native is not None:
            if not grammar.is_chain_sentence(line) and not self._ends_native(line) and self._native.feed(line):
                return
            self._take_native()
        if grammar.is_chain_sentence(line):
            self._next_part()
        elif grammar.is_traceback_header(line) and not _ERROR_TEXT.match(line):
            self._native = TracebackReader(bounded=True)
            self._native.feed(line)
        elif _ERROR_TEXT.match(line):
            self._take_error(line)
        else:
            self._take_source(line)

    @property
    def is_captured(self) -> bool:
        """Whether the entry has come to its captured output."""
        return self._is_captured

    @property
    def has_frames(self) -> bool:
        """Whether the present part has an entry."""
        return bool(self._part.frames) or self._native is not None

    @property
    def has_error(self) -> bool:
        """Whether the exception of the present part has been read."""
        return bool(self._error) or bool(self._part.type)

    def failure(self) -> Failure | None:
        """The entry as a record; None when it holds neither frame nor exception."""
        if self._native is not None:
            self._take_native()
        self._close_part()
        failure = failure_of(self._parts)
        if failure is None:
            return self._message_only()
        return replace(failure, when=when_of(self.title))

    def _message_only(self) -> Failure | None:
        text = "\n".join(self._text).strip()
        if self.title is None or not text:
            return None
        crashed = _CRASHED.search(text)
        if crashed:
            return Failure(crashed[1], When.CALL, grammar.exception_of("", text))
        if _ONLY_SUBTESTS.match(text):
            return None
        kind = "" if self._seen_source else "Failed"
        return Failure(None, when_of(self.title), grammar.exception_of(kind, "" if self._seen_source else text))

    def _ends_native(self, line: str) -> bool:
        return self._native is not None and self._native.is_told and grammar.location_of(line) is not None

    def _take_native(self) -> None:
        parts = self._native.parts if self._native else []
        self._native = None
        if not parts:
            return
        self._close_part()
        if self._part.is_empty:
            self._parts.pop()
        self._parts.extend(parts)

    def _next_part(self) -> None:
        self._close_part()
        self._parts.append(Part())
        self._new_source()

    def _new_source(self) -> None:
        self._function, self._seen_source, self._code = None, False, None

    def _close_part(self) -> None:
        """Settle the exception of the current part from its E lines, or from the type at its crash location."""
        part, error = self._part, self._error
        self._error = []
        if error and not part.type:
            inner = _settle_error(part, error, self._crash)
            if inner:
                self._parts[-1:-1] = inner
        if not part.type and self._crash and self._crash not in _CRASH_ONLY and part.frames:
            part.type = self._crash
        if self._fixture and not part.frames:
            part.frames.append(Frame(self._fixture[0], self._fixture[1], self._function))
            if not part.type:
                part.type, part.message = "FixtureLookupError", ["\n".join(error).strip()]
        self._crash = ""

    def _take_error(self, line: str) -> None:
        if len(self._error) < MAX_MESSAGE_LINES:
            self._error.append(line[1:].rstrip())

    def _take_source(self, line: str) -> None:
        text = line.strip()
        if self.title is None and self._error and not self._seen_source and line.startswith("    "):
            self._error.append("   " + line[4:].rstrip())
            return
        if not text:
            return
        if grammar.rule_title(line, "_") is not None and not line.strip("_ "):
            self._new_source()
            return
        frame = grammar.short_frame_of(line)
        if frame:
            self._add(frame)
            return
        location = grammar.location_of(line)
        if location and self._take_location(*location):
            return
        self._take_other(line, text)

    def _take_other(self, line: str, text: str) -> None:
        fixture = _FIXTURE_FILE.match(text)
        if fixture:
            self._fixture = (fixture[1], int(fixture[2][:9]))
        if line.startswith(">"):
            self._code = text[1:].strip()
        if len(self._text) < 20 and not _XDIST.match(text):
            self._text.append(text)
        if not self._seen_source and (line[:1] in " >" or text.startswith(("def ", "async def "))):
            self._name_function(line, text)

    def _name_function(self, line: str, text: str) -> None:
        """The first source line of a frame (below its decorators) is the head of the function."""
        if text.lstrip("> ").startswith("@"):
            return
        self._seen_source = True
        match = _DEFINITION.match(line)
        if match:
            self._function = match[1] or match[2]

    def _take_location(self, path: str, line: int, rest: str) -> bool:
        found = grammar.exception_line(rest) if rest else None
        if rest and not (found and not found.message):
            return False
        if rest and self._crash in ("", *_CRASH_ONLY):
            self._crash = rest
            self.is_complete = True
        if rest in (*_CRASH_ONLY, "DocTestFailure") and self._part.type:
            return True
        self._add(Frame(path, line, self._function, code=self._code))
        return True

    def _add(self, frame: Frame) -> None:
        if len(self._part.frames) < MAX_FRAMES:
            self._part.frames.append(frame)
        self._new_source()


def _settle_error(part: Part, error: list[str], crash: str) -> list[Part]:
    """Set type and message of `part` from its E lines; a traceback of another process in them is returned."""
    lines = _dedented(error)
    first = lines[0] if lines else ""
    found = grammar.exception_line(first)
    if found and crash and found.type.rsplit(".", 1)[-1] != crash.rsplit(".", 1)[-1]:
        found = None
    if found is None:
        syntax = next((known for known in map(grammar.surely_exception, lines) if _is_syntax_error(known)), None)
        if syntax:
            part.frames.extend(frame for frame in map(grammar.frame_of, lines) if frame)
            part.type, part.message = syntax.type, [syntax.message]
            return []
        part.type = crash or ("AssertionError" if first.startswith("assert") else "")
        part.message = lines
        return []
    part.type, part.message = found.type, [found.message, *lines[1:]]
    if not found.type.endswith("RemoteTraceback"):
        return []
    reader = TracebackReader()
    for line in lines[1:]:
        reader.feed(line)
    part.type, part.message = "", []
    return reader.parts


def _is_syntax_error(found: grammar.ExceptionLine | None) -> bool:
    return found is not None and found.type in _SYNTAX_ERRORS


def _dedented(lines: list[str]) -> list[str]:
    """The lines without their common indentation and without empty ones in front."""
    told = [grammar.indentation(line) for line in lines if line.strip()]
    margin = min(told, default=0)
    start = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    return [line[margin:] for line in lines[start:]]


def when_of(title: str | None) -> When:
    """The phase that an entry's title names."""
    title = title or ""
    for start, when in (
        ("ERROR at setup of ", When.SETUP),
        ("ERROR at teardown of ", When.TEARDOWN),
        ("ERROR collecting", When.COLLECT),
    ):
        if title.startswith(start):
            return when
    return When.CALL
