"""behave's reports: pretty and plain ones that show each step, progress ones, and the list of scenarios at the end.

A failure is named as behave itself runs it: `features/a.feature:8`, the line of the scenario (or, in the progress
formats, of the step).
"""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import TracebackReader

RANK = 15
MARKS = (
    "Scenario",
    " # ",
    " in step '",
    "Traceback (most recent",
    "ASSERT FAILED: ",
    "Assertion Failed: ",
    "iling scenarios:",
    "rrored scenarios:",
)
_SCENARIO = re.compile(r"\s*Scenario(?: Outline)?: ?(.*?)\s+# (\S.*:\d+)(?: |$)")
_STEP = re.compile(r"\s+(?:Given|When|Then|And|But|\*) .* # (\S.*):(\d+)(?: \d+\.\d+s)?$")
_IN_STEP = re.compile(r"(?:FAILURE|ERROR) in step '.*' \((\S.*:\d+)\):$")
_ASSERTS = ("ASSERT FAILED: ", "Assertion Failed: ")
_LISTS = ("Failing scenarios:", "Errored scenarios:")
_LISTED = re.compile(r"  (\S.*\.feature:\d+)(?: |$)")
_ENDS = ("Captured ", "CAPTURED ", "----")


class BehaveReport:
    """Remembers the scenario and the step; opens at what stands below a step that failed."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._title: str | None = None
        self._step: Frame | None = None
        self._step_line = -1
        self._reader: TracebackReader | None = None
        self._message: list[str] | None = None
        self._in_list = False
        self._start = 0
        self._told: set[str] = set()

    def opens(self, line: str) -> bool:
        """Take the traceback or the message of a step, and the list of scenarios; note scenarios and steps."""
        if line.startswith(_LISTS):
            self._in_list = True
            return True
        if self._note(line):
            return False
        is_below = self._title is not None and self._step_line == self._stream.findings.line - 1
        self._start = self._stream.findings.line
        if is_below and grammar.is_traceback_header(line):
            self._reader = TracebackReader()
            return self._reader.feed(line)
        text = line.strip()
        if is_below and text.startswith(_ASSERTS):
            self._message = [text.partition(": ")[2]]
            return True
        return False

    def feed(self, line: str) -> bool:
        """Take what goes on."""
        if self._in_list:
            return self._listed(line)
        if self._reader is not None and self._reader.feed(line):
            return True
        if self._message is not None and line.strip() and not line.strip().startswith(_ENDS):
            self._message.append(line.strip())
            return True
        self.close()
        return False

    def close(self) -> None:
        """Record the failure of the step."""
        self._in_list = False
        reader, self._reader = self._reader, None
        message, self._message = self._message, None
        failure = reader.failure() if reader else None
        if message is not None:
            exception = grammar.exception_of("AssertionError", "\n".join(message))
            failure = Failure(None, When.CALL, exception, (self._step,) if self._step else ())
        if failure is not None and self._title is not None:
            self._told.add(self._title)
            self._stream.add(replace(failure, node_id=self._title), Source.RUNNER, self._start)

    def _note(self, line: str) -> bool:
        """Whether the line names a scenario or a step; what stands below it is theirs."""
        scenario = _SCENARIO.match(line) if "Scenario" in line else None
        if scenario:
            self._title, self._step = scenario[2], None
            return True
        in_step = _IN_STEP.match(line.strip()) if " in step '" in line else None
        if in_step:
            self._title, self._step, self._step_line = in_step[1], None, self._stream.findings.line
            return True
        step = _STEP.match(line) if self._title is not None and " # " in line else None
        if step:
            self._step, self._step_line = Frame(step[1], int(step[2][:9])), self._stream.findings.line
        return step is not None

    def _listed(self, line: str) -> bool:
        """A scenario of the list, where no report above told more about any."""
        listed = _LISTED.match(line)
        if listed is None:
            self._in_list = False
            return False
        if not self._told:
            unknown = Failure(listed[1], When.CALL, grammar.exception_of("", ""))
            self._stream.add(unknown, Source.SUMMARY, self._stream.findings.line)
        return True


FORM = BehaveReport
