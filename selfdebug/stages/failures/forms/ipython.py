"""IPython and notebooks, versions 5 to 9, in the modes Context and Verbose: numbered source with an arrow."""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import Frame
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import MAX_FRAMES, Part, failure_of

RANK = 40
MARKS = ("Traceback (most recent",)
_HEADER = re.compile(r"\s*([^\W\d][\w.]*) +(?:Python \S+: |\S+ )?Traceback \(most recent call last\) *$")
_ARROW = re.compile(r"\s*-+> ?(\d+)(?: (.*))?$")
_NUMBERED = re.compile(r"\s*\d+(?: |$)")
_FILE = re.compile(r"\s*File ([^\"].*?):(\d+)(?:, in |, |$)")
_CELL = re.compile(r"\s*(?:Cell In ?\[\d+\]|Input In \[\d+\])(?:, line (\d+))?")
_OLD = re.compile(r"\s*(\S.*?\.(?:pyx?|pyw|ipynb)|<[^>]*>) in (\S+)$")


class IPythonTraceback:
    """Opens at the header that has the exception's type on its left."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parts: list[Part] = []
        self._expected = ""
        self._is_told = False
        self._blanks = 0
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take the header `TypeError    Traceback (most recent call last)`."""
        if grammar.TRACEBACK not in line:
            return False
        match = _HEADER.match(line)
        if match is None:
            return False
        self._parts, self._expected = [Part()], match[1]
        self._is_told, self._blanks, self._start = False, 0, self._stream.findings.line
        return True

    def feed(self, line: str) -> bool:
        """Take entries, source, the exception, and the next traceback of a chain."""
        if not self._parts:
            return False
        text = line.strip()
        if not text:
            self._blanks += 1
            return True
        if grammar.is_chain_sentence(text):
            self._parts.append(Part())
            self._is_told = False
            return True
        header = _HEADER.match(line) if grammar.TRACEBACK in line else None
        if self._is_told or header:
            return self._after(line, header)
        self._entry(line, text)
        self._blanks = 0
        return True

    def close(self) -> None:
        """Record the traceback; where its last line was cut off, the header still names the type."""
        parts, self._parts = self._parts, []
        if not parts:
            return
        if not parts[-1].type:
            parts[-1].type = self._expected
        failure = failure_of(parts)
        if failure:
            self._stream.add(failure, Source.TRACEBACK, self._start)

    def _after(self, line: str, header: re.Match[str] | None) -> bool:
        part = self._parts[-1]
        if header and part.is_empty:
            self._expected = header[1]
            return True
        if header is None and not self._blanks and len(part.message) < 50:
            part.message.append(line.rstrip())
            return True
        self.close()
        return False

    def _entry(self, line: str, text: str) -> None:
        part = self._parts[-1]
        arrow = _ARROW.match(line)
        if arrow:
            self._arrow(part, int(arrow[1][:9]), (arrow[2] or "").strip())
            return
        if _NUMBERED.match(line):
            return
        frame = _frame_header(line)
        if frame and len(part.frames) < MAX_FRAMES:
            part.frames.append(frame)
            return
        found = grammar.exception_line(text)
        if found and found.type.rsplit(".", 1)[-1] == self._expected.rsplit(".", 1)[-1]:
            part.type, part.message = found.type, [found.message]
            self._is_told = True

    def _arrow(self, part: Part, line: int, code: str) -> None:
        """The arrow gives the line to a frame header that has none."""
        if part.frames and part.frames[-1].line is None:
            part.frames[-1] = replace(part.frames[-1], line=line)
        if part.frames and part.frames[-1].code is None:
            part.frames[-1] = replace(part.frames[-1], code=code)


def _frame_header(line: str) -> Frame | None:
    quoted = grammar.frame_of(line) if '"' in line else None
    if quoted:
        return quoted
    new = _FILE.match(line)
    if new:
        _, found, function = line[new.start(2) :].partition(" in ")
        return Frame(new[1], int(new[2][:9]), grammar.bare_function(function) if found else None)
    cell = _CELL.match(line)
    if cell:
        return Frame("<cell>", int(cell[1][:9]) if cell[1] else None, "<module>")
    head, bracket, _ = line.partition("(")
    old = _OLD.match(head.rstrip()) or (_OLD.match(line.rstrip()) if bracket else None)
    return Frame(old[1], None, old[2]) if old else None


FORM = IPythonTraceback
