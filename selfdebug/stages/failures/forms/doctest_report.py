"""The report of `python -m doctest`: a rule of stars, the place of the example, what it expected, raised or got."""

from __future__ import annotations

from dataclasses import replace

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import TracebackReader

RANK = 25
MARKS = ("*****",)


class DoctestReport:
    """Opens at a rule of stars that an example follows."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._example: Frame | None = None
        self._is_open = False
        self._text: list[str] = []
        self._reader: TracebackReader | None = None
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take a rule of stars."""
        if not (line.lstrip().startswith("***") and grammar.is_rule(line, "*", 40)):
            return False
        self._is_open, self._start = True, self._stream.findings.line
        return True

    def feed(self, line: str) -> bool:
        """Take the example, up to the next rule or the count."""
        if not self._is_open:
            return False
        if grammar.is_rule(line, "*", 40):
            self.close()
            return self.opens(line)
        if self._example is None:
            self._example = grammar.frame_of(line)
            self._is_open = self._example is not None or not line.strip()
            return self._is_open
        if "had failures:" in line or line.startswith("***Test Failed***"):
            self.close()
            return False
        self._body(line)
        return True

    def close(self) -> None:
        """Record the example."""
        example, self._example = self._example, None
        reader, self._reader = self._reader, None
        text, self._text = self._text, []
        self._is_open = False
        if example is None or not (text or reader):
            return
        node_id = f"{example.path}::{example.function or ''}"
        failure = reader.failure() if reader else None
        if failure is None:
            failure = Failure(None, When.CALL, grammar.exception_of("DocTestFailure", "\n".join(text)), (example,))
        elif not failure.frames:
            failure = replace(failure, frames=(example,))
        self._stream.add(replace(failure, node_id=node_id), Source.RUNNER, self._start)

    def _body(self, line: str) -> None:
        if self._reader is not None:
            self._reader.feed(line)
        elif grammar.is_traceback_header(line):
            self._reader = TracebackReader(bounded=True)
            self._reader.feed(line)
        elif len(self._text) < 60:
            self._text.append(line.strip())


FORM = DoctestReport
