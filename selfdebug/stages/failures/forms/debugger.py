"""Stacks that pdb shows (`where`), for logs in which nothing else tells of the failure."""

from __future__ import annotations

import re

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream

RANK = 95
MARKS = (".py", "Error: ")
_ENTRY = re.compile(r"(?:> ?|\s+)(\S.*?\.pyx?)\((\d+)\)([^()\s]+)\(\)")


class DebuggerStack:
    """Opens at an entry; the exception, if it is named, stood just before."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._frames: list[Frame] = []
        self._named: tuple[int, grammar.ExceptionLine] | None = None
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take an entry, and remember an exception that is named before one."""
        if "Error: " in line:
            found = grammar.surely_exception(line.strip())
            if found:
                self._named = (self._stream.findings.line, found)
        if ".py" not in line or not _ENTRY.match(line):
            return False
        self._start, self._frames = self._stream.findings.line, []
        return self.feed(line)

    def feed(self, line: str) -> bool:
        """Take entries and the source lines below them."""
        match = _ENTRY.match(line)
        if match and len(self._frames) < 500:
            self._frames.append(Frame(match[1], int(match[2][:9]), match[3]))
            return True
        if line.startswith(("-> ", "(Pdb)", "ipdb>", "(pdb)")) and self._frames:
            return True
        self.close()
        return False

    def close(self) -> None:
        """Record the stack, as the weakest kind of evidence."""
        frames, self._frames = self._frames, []
        if not frames:
            return
        named = self._named[1] if self._named and self._start - self._named[0] <= 5 else None
        exception = grammar.exception_of(named.type, named.message) if named else grammar.exception_of("", "")
        self._stream.add(Failure(None, When.CALL, exception, tuple(frames)), Source.IGNORED, self._start)


FORM = DebuggerStack
