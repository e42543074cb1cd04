"""Reads Python tracebacks line by line: chained ones, exception groups, remote ones, with damage tolerated.

The layout follows `traceback.TracebackException.format` of the standard library; what deviates (lost indentation,
blank lines between, lines cut out) is accepted as long as the entries themselves can be recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar

MAX_MESSAGE_LINES = 200
MAX_FRAMES = 4000
_STRAYS = 6
_BLANKS = 6
_SEPARATOR = re.compile(r"\s*\+(-\+)?-{10,}(?: (\d+|\.\.\.) -{10,})?\s*$")
_CONTENT = re.compile(r"\s*\|(?: |$)")


@dataclass(slots=True)
class Part:
    """One traceback of a chain: entries, exception line, and the members of a group."""

    frames: list[Frame] = field(default_factory=list)
    type: str = ""
    message: list[str] = field(default_factory=list)
    group: list[Failure] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read."""
        return not (self.frames or self.type)

    def failure(self, causes: tuple[Failure, ...] = ()) -> Failure:
        """The record, with frames as the log writes them."""
        message = "\n".join(self.message).strip()
        exception = grammar.exception_of(self.type, message, is_cut=message.endswith("...") and "\n" not in message)
        return Failure(None, When.CALL, exception, tuple(self.frames), causes, tuple(self.group))


def failure_of(parts: list[Part]) -> Failure | None:
    """The last part as the failure, the earlier ones as its causes, newest first."""
    told = [part for part in parts if not part.is_empty]
    if not told:
        return None
    causes = tuple(part.failure() for part in reversed(told[:-1]))
    return told[-1].failure(causes)


class _Chain:
    """The tracebacks of one level, joined by chain sentences."""

    def __init__(self, *, bounded: bool) -> None:
        self.bounded = bounded
        self.parts = [Part()]
        self.state = "head"
        self.header = 0
        self.frame_indent = 0
        self.strays = self.blanks = 0
        self.wants_code = False

    @property
    def part(self) -> Part:
        return self.parts[-1]

    def feed(self, line: str) -> bool:
        """Take the line, or say that it does not belong here."""
        if not line or line.isspace():
            return self._blank()
        state = self.state
        if state != "wait":
            self.blanks = 0
        if "exception" in line and grammar.is_chain_sentence(line):
            return self._chained()
        if grammar.TRACEBACK in line and grammar.is_traceback_header(line):
            return self._header(line)
        if state in ("frames", "head"):
            return self._entry(line)
        if state == "message":
            return self._message(line)
        return self._after(line) if state == "after" else self._waiting(line)

    def _blank(self) -> bool:
        self.blanks += 1
        if self.state == "message":
            self.state = "after"
        return self.blanks <= _BLANKS or self.bounded

    def _chained(self) -> bool:
        if not self.part.is_empty:
            self.parts.append(Part())
        self.state, self.wants_code = "wait", False
        return True

    def _header(self, line: str) -> bool:
        if self.part.type.endswith("RemoteTraceback"):
            self.parts[-1] = Part()
        if not self.part.is_empty or self.state in ("message", "after"):
            return False
        self.state, self.header, self.wants_code = "frames", grammar.indentation(line), False
        return True

    def _waiting(self, line: str) -> bool:
        frame = grammar.frame_of(line)
        if frame:
            self.state = "frames"
            return self._entry(line)
        self.strays += 1
        return self.strays <= _STRAYS

    def _entry(self, line: str) -> bool:
        frame = grammar.frame_of(line)
        if frame:
            if len(self.part.frames) < MAX_FRAMES:
                self.part.frames.append(frame)
            self.state, self.wants_code, self.strays = "frames", True, 0
            self.frame_indent = grammar.indentation(line)
            return True
        indent = grammar.indentation(line)
        if self._is_code(line, indent):
            return True
        found = grammar.exception_line(line.strip())
        if found and (self.part.frames or self.state == "frames"):
            self.part.type, self.part.message = found.type, [found.message]
            self.state, self.strays = "message", 0
            return True
        self.strays += 1
        return self.strays <= _STRAYS

    def _is_code(self, line: str, indent: int) -> bool:
        """Whether the line is source below an entry; with the indentation lost, at most one line a entry is."""
        text = line.strip()
        flush = bool(self.part.frames) and self.frame_indent <= self.header
        if text.startswith("[Previous line repeated") or grammar.is_marker_line(line):
            return True
        if self.wants_code and self.part.frames and (indent > self.header or flush):
            if flush and grammar.surely_exception(text):
                return False
            last = self.part.frames[-1]
            self.part.frames[-1] = Frame(last.path, last.line, last.function, code=text[:500])
            self.wants_code = False
            return True
        return bool(self.part.frames) and not flush and indent > self.header

    def _message(self, line: str) -> bool:
        if line.strip() == '"""':
            return True
        if grammar.frame_of(line):
            return False
        if len(self.part.message) > MAX_MESSAGE_LINES:
            return True
        if self.bounded or grammar.indentation(line) > self.header:
            self.part.message.append(line[self.header :].rstrip())
            return True
        return False

    def _after(self, line: str) -> bool:
        if line.strip() == '"""':
            return True
        if self.bounded and not grammar.frame_of(line):
            if len(self.part.message) <= MAX_MESSAGE_LINES:
                self.part.message += ["", line[self.header :].rstrip()]
                self.state = "message"
            return True
        return False


class TracebackReader:
    """Feed it the lines of a traceback from its header on; it refuses the first line that is not part of it.

    `bounded` says that the caller knows where the block ends, so the lines after the exception are its message.
    """

    def __init__(self, *, bounded: bool = False) -> None:
        self._levels = [_Chain(bounded=bounded)]
        self._indents = [0]
        self._in_group = False
        self._closed = False

    def feed(self, line: str) -> bool:
        """Take the line, or return False when it is not part of this traceback."""
        if "+" in line and self._margin(line):
            return True
        if self._in_group:
            if _CONTENT.match(line):
                return self._levels[-1].feed(_CONTENT.sub("", line, count=1))
            if not line.strip():
                return True
            if not grammar.is_chain_sentence(line):
                return False
            self._leave_group()
        return self._levels[0].feed(line)

    def failure(self) -> Failure | None:
        """What was read, None when it was nothing."""
        self._leave_group()
        return failure_of(self._levels[0].parts)

    @property
    def parts(self) -> list[Part]:
        """The tracebacks of the outermost chain that hold anything."""
        self._leave_group()
        return [part for part in self._levels[0].parts if not part.is_empty]

    @property
    def is_told(self) -> bool:
        """Whether an exception line has been read."""
        return bool(self._levels[0].part.type)

    def _margin(self, line: str) -> bool:
        if "+ " + grammar.GROUP_TRACEBACK in line:
            if self._in_group and len(self._levels) > 1 and self._closed:
                self._leave_group()
            if not self._levels[-1].feed(grammar.TRACEBACK):
                return False
            self._in_group, self._closed = True, False
            return True
        match = _SEPARATOR.match(line) if self._in_group else None
        if match is None:
            return False
        indent = grammar.indentation(line)
        if match[1]:
            self._push(indent + 2)
        elif match[2]:
            self._sibling(indent)
        else:
            self._pop()
            self._closed = True
        return True

    def _push(self, indent: int) -> None:
        member = _Chain(bounded=True)
        member.state = "frames"  # one that was never raised has no traceback, only its exception line
        self._levels.append(member)
        self._indents.append(indent)
        self._closed = False

    def _sibling(self, indent: int) -> None:
        if self._closed and indent not in self._indents:
            self._closed = False
        while len(self._levels) > 1 and indent in self._indents and self._indents[-1] != indent:
            self._pop()
        if len(self._levels) > 1:
            self._pop()
        self._push(indent)

    def _pop(self) -> None:
        if len(self._levels) == 1:
            return
        ended = failure_of(self._levels.pop().parts)
        self._indents.pop()
        if ended:
            self._levels[-1].part.group.append(ended)

    def _leave_group(self) -> None:
        while len(self._levels) > 1:
            self._pop()
        self._in_group = False
