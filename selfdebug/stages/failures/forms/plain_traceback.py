"""Tracebacks as the interpreter prints them, anywhere: scripts, servers, logging, threads, exception groups."""

from __future__ import annotations

from dataclasses import replace

from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import TracebackReader

RANK = 90
MARKS = ("Traceback (most recent", "File ", "Exception ignored", "Error: ", "Exception: ")
_IGNORED = ("Exception ignored in", "Exception ignored while")
_PAGE_TYPE = "Exception Type:"
_PAGE_VALUE = "Exception Value:"


class PlainTraceback:
    """Opens at a header, or at an entry whose header was cut off."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._reader: TracebackReader | None = None
        self._start = 0
        self._source = Source.TRACEBACK
        self._ignored_line = -10
        self._page: dict[str, str] = {}
        self._before: tuple[int, grammar.ExceptionLine] | None = None

    def opens(self, line: str) -> bool:
        """At `Traceback (most recent call last)`, or at a `File` entry."""
        if "Error: " in line or "Exception: " in line:
            found = grammar.surely_exception(line.strip().removeprefix("[ERROR] "))
            self._before = (self._stream.findings.line, found) if found else self._before
        if line.lstrip().startswith(_IGNORED):
            self._ignored_line = self._stream.findings.line
            return False
        if not grammar.is_traceback_header(line) and grammar.frame_of(line) is None:
            return False
        self._reader = TracebackReader()
        self._start, self._page = self._stream.findings.line, {}
        was_ignored = self._start - self._ignored_line <= 3
        self._source = Source.IGNORED if was_ignored else Source.TRACEBACK
        self._reader.feed(line)
        return True

    def feed(self, line: str) -> bool:
        """Take the line if it continues the traceback, or the lines of Django's page that follow it."""
        if self._reader is None:
            return False
        if "Exception " in line:
            text = line.strip()
            for label in (_PAGE_TYPE, _PAGE_VALUE):
                if text.startswith(label):
                    self._page[label] = text[len(label) :].strip()
                    return True
        if not (self._page and line.strip()) and self._reader.feed(line):
            return True
        self.close()
        return False

    def close(self) -> None:
        """Record the traceback; one that was cut before its first entry is nothing."""
        reader, self._reader = self._reader, None
        failure = reader.failure() if reader else None
        if failure is None or not (failure.frames or failure.group):
            return
        if not failure.exception.type and _PAGE_TYPE in self._page:
            name = self._page[_PAGE_TYPE].partition(" at /")[0].strip()
            failure = replace(failure, exception=grammar.exception_of(name, self._page.get(_PAGE_VALUE, "")))
        if not failure.exception.type and self._before and self._start - self._before[0] <= 2:
            named = self._before[1]
            failure = replace(failure, exception=grammar.exception_of(named.type, named.message))
        self._stream.add(failure, self._source, self._start)


FORM = PlainTraceback
