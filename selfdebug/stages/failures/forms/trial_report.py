"""Twisted's trial: a rule, `[ERROR]`, a traceback, and below it the tests that ended with it."""

from __future__ import annotations

import re

from selfdebug.model import Failure
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import TracebackReader

RANK = 21
MARKS = ("[FAIL]", "[ERROR]", " ... ")
_OUTCOMES = ("[FAIL]", "[ERROR]")
_PROGRESS = re.compile(r" \.\.\. +\[(?:OK|FAIL|ERROR|SKIPPED|TODO)\]$")
_TEST = re.compile(r"(?:[^\W\d]\w*\.)+[^\W\d]\w*$")


class TrialReport:
    """Opens at the outcome that stands alone in its line."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._reader: TracebackReader | None = None
        self._failure: Failure | None = None
        self._tests: list[str] = []
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take `[FAIL]` or `[ERROR]`; progress lines only tell that a run is going on."""
        text = line.strip()
        if text in _OUTCOMES:
            self._reader, self._failure, self._tests = TracebackReader(), None, []
            self._start = self._stream.findings.line
            self._stream.start_run(claims_earlier=True)
            return True
        if text.endswith("]") and " ... " in text and _PROGRESS.search(text[-100:]) and not self._stream.in_run:
            self._stream.start_run()
        return False

    def feed(self, line: str) -> bool:
        """Take the traceback, then the names of tests."""
        if self._reader is not None:
            if self._reader.feed(line):
                return True
            self._failure, self._reader = self._reader.failure(), None
        text = line.strip()
        if self._failure and _TEST.match(text):
            self._tests.append(text)
            return True
        if self._failure and not text:
            return True
        self.close()
        return False

    def close(self) -> None:
        """Record the failure for each test that ended with it."""
        reader, self._reader = self._reader, None
        failure = reader.failure() if reader else self._failure
        self._failure = None
        if failure is None:
            return
        tests: list[str | None] = [*self._tests]
        for test in tests or [None]:
            self._stream.add(failure, Source.RUNNER, self._start, test)


FORM = TrialReport
