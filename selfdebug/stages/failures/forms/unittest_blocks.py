"""Blocks of unittest and what descends from it (nose, Django's runner, trial): a rule, `ERROR: id`, a traceback."""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import ExceptionRecord, Failure, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import TracebackReader

RANK = 20
MARKS = (
    "=====",
    " ... ",
    "Ran ",
    "$ ",
    "+ ",
    "-m unittest",
    "manage.py test",
    "Found ",
    "Creating test",
    "System check ",
)
_HEADER = re.compile(r"(ERROR|FAIL|UNEXPECTED SUCCESS): (\S.*)$")
_PROGRESS = re.compile(r"\S.* \.\.\. (?:ok|ERROR|FAIL|skipped\b.*)$")
_RAN = re.compile(r"Ran \d+ tests? in ")
_COMMANDS = ("$ ", "+ ", "Found ", "Creating test database", "System check ")
_OUTPUT = re.compile(r"(?:Stdout:|Stderr:)$|-+ >> (?:begin|end) captured ")


class UnittestBlocks:
    """Opens at a rule of equal signs; stays as long as blocks follow each other."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._title: str | None = None
        self._reader: TracebackReader | None = None
        self._start = 0
        self._muted = False

    def opens(self, line: str) -> bool:
        """At a rule; progress lines and the count only tell that a run is going on."""
        if line.startswith(_COMMANDS) or "-m unittest" in line or "manage.py test" in line:
            self._stream.release()
        if line.startswith("==") and grammar.is_rule(line, "=", 40):
            self._begin()
            return True
        if " ... " in line and _PROGRESS.match(line):
            self._stream.start_run()
        elif line.startswith("Ran ") and _RAN.match(line):
            self._stream.end_run()
        return False

    def feed(self, line: str) -> bool:
        """The rule, the header, the traceback up to the next rule."""
        if grammar.is_rule(line, "=", 40):
            self.close()
            self._begin()
            return True
        if self._title is None:
            return self._head(line)
        if _RAN.match(line) or (line.startswith("==") and line.rstrip().endswith("=")):
            self.close()
            return False
        if grammar.is_rule(line, "-", 40):
            return True
        self._body(line)
        return True

    def close(self) -> None:
        """Record the block."""
        title, self._title = self._title, None
        reader, self._reader = self._reader, None
        if title is None:
            return
        failure = reader.failure() if reader else None
        if failure is None:
            failure = Failure(None, When.CALL, ExceptionRecord("", ""))
        self._stream.add(replace(failure, when=_when(title)), Source.RUNNER, self._start, title)

    def _begin(self) -> None:
        self._title, self._reader, self._muted = None, None, False
        self._start = self._stream.findings.line

    def _head(self, line: str) -> bool:
        match = _HEADER.match(line)
        if match is None:
            return not line.strip() or grammar.is_rule(line, "=", 40)
        self._title = match[2].strip()
        self._stream.start_run(claims_earlier=True)
        return True

    def _body(self, line: str) -> None:
        if self._muted:
            return
        if _OUTPUT.match(line):
            self._muted = True
        elif self._reader is not None:
            self._reader.feed(line)
        elif grammar.is_traceback_header(line) or grammar.frame_of(line):
            self._reader = TracebackReader(bounded=True)
            self._reader.feed(line)


def _when(title: str) -> When:
    if title.startswith(("setUpClass", "setUpModule", "_ErrorHolder")):
        return When.SETUP
    if title.startswith(("tearDownClass", "tearDownModule")):
        return When.TEARDOWN
    return When.COLLECT if title.startswith(("Failure: ", "unittest.loader.")) or "_FailedTest" in title else When.CALL


FORM = UnittestBlocks
