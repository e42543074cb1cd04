"""Stacks that are dumped rather than raised: faulthandler's fatal errors, and pytest-timeout before it ends pytest."""

from __future__ import annotations

import re

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream

RANK = 15
MARKS = ("atal Python error", "atal exception", "+++", "Timeout (")
_FATAL = re.compile(r"(?:Windows f|F)atal (?:Python error|exception): (.*)$")
_THREAD = re.compile(r"(?:Current thread|Thread) .*\(most recent call first\):")
_STACK = re.compile(r"~+ Stack of (\S+)")


class StackDumps:
    """Opens at `Fatal Python error:` or at the first `+++ Timeout +++`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._kind = ""
        self._message = ""
        self._wanted = False
        self._frames: list[Frame] = []
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take the line that announces a dump."""
        fatal = _FATAL.match(line)
        if fatal:
            self._begin("Fatal Python error", fatal[1])
        elif _is_timeout(line):
            self._begin("Timeout", "")
        elif line.startswith("Timeout (") and line.rstrip().endswith(")!"):
            self._begin("", "")
        else:
            return False
        return True

    def feed(self, line: str) -> bool:
        """Take the stacks, keeping that of the thread that matters."""
        if not self._start:
            return False
        text = line.strip()
        if _is_timeout(line):
            self.close()
            return True
        if self._kind == "Timeout" and _STACK.match(text):
            self._wanted = _STACK.match(text) is not None and "MainThread" in text
        elif _THREAD.match(text):
            self._wanted = text.startswith("Current thread") or (not self._frames and self._kind != "Timeout")
        elif not self._is_dump_line(line, text):
            self.close()
            return False
        return True

    def close(self) -> None:
        """Record the dump; faulthandler prints the innermost entry first."""
        start, self._start = self._start, 0
        if not start or not self._kind or not (self._frames or self._message):
            return
        frames = self._frames if self._kind == "Timeout" else self._frames[::-1]
        failure = Failure(None, When.CALL, grammar.exception_of(self._kind, self._message), tuple(frames))
        self._stream.add(failure, Source.RUNNER, start)

    def _begin(self, kind: str, message: str) -> None:
        self._kind, self._message, self._frames = kind, message.strip(), []
        self._wanted, self._start = False, self._stream.findings.line

    def _is_dump_line(self, line: str, text: str) -> bool:
        frame = grammar.frame_of(line)
        if frame is None:
            return not text or line[:1] == " " or text.startswith(("~", "Python runtime state", "Extension modules"))
        if self._wanted and len(self._frames) < 500:
            self._frames.append(frame)
        return True


def _is_timeout(line: str) -> bool:
    """pytest-timeout's rule, also behind the name of the test file."""
    return "+++ Timeout +++" in line and line.rstrip().endswith("+++")


FORM = StackDumps
