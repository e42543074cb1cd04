"""Tracebacks that rich draws in a box, also in a narrow one that wraps paths, and in the ASCII box of old consoles."""

from __future__ import annotations

import re
from itertools import pairwise

from selfdebug.model import Frame
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import MAX_FRAMES, Part, failure_of

RANK = 30
MARKS = ("Traceback (most recent",)
_TOP = re.compile(r"\s*[╭┌+][-─━ ]+Traceback \(most recent call last\)[-─━ ]*[╮┐+]?\s*$")
_BOTTOM = re.compile(r"\s*[╰└+][-─━]{3,}[╯┘+]?\s*$")
_SIDES = "│┃|"
_NESTED = ("╭", "│", "╰", "┌", "└", "+-", "| ")
_CODE = re.compile(r"(?:[❱>] *\d+|\s+\d+)(?:\s|$)")
_AT = re.compile(r"(.+):(\d+) in (\S.*)$")
_ANONYMOUS = re.compile(r"in (\S.*):(\d+)$")


class RichBox:
    """Opens at the top edge; after the bottom edge the exception follows, then perhaps the next box of a chain."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parts: list[Part] = []
        self._header: list[str] = []
        self._after: list[str] = []
        self._in_box = False
        self._width = 0
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take the top edge with the words of a traceback's header."""
        if grammar.TRACEBACK not in line or not _TOP.match(line):
            return False
        self._parts, self._after = [], []
        self._start = self._stream.findings.line
        self._top(line)
        return True

    def feed(self, line: str) -> bool:
        """Take box lines and what follows the box."""
        if not self._parts:
            return False
        if self._in_box:
            return self._inside(line)
        if grammar.TRACEBACK in line and _TOP.match(line):
            return self._next_box(line)
        return self._outside(line)

    def close(self) -> None:
        """Record what the boxes told."""
        self._end_header()
        self._tell_exception()
        parts, self._parts = self._parts, []
        failure = failure_of(parts)
        if failure:
            self._stream.add(failure, Source.TRACEBACK, self._start)

    def _top(self, line: str) -> None:
        self._parts.append(Part())
        self._in_box, self._width, self._header = True, len(line.strip()) - 4, []

    def _inside(self, line: str) -> bool:
        text = line.strip()
        if _BOTTOM.match(line):
            self._end_header()
            self._in_box = False
            return True
        if text[:1] not in _SIDES or not text:
            if text:
                self.close()
                return False
            return True
        self._content(_without_sides(text))
        return True

    def _content(self, content: str) -> None:
        if not content.strip() or content.startswith(_NESTED) or _CODE.match(content):
            self._end_header()
        elif not content.startswith(" ") and len(self._header) < 12:
            self._header.append(content)

    def _end_header(self) -> None:
        """Join the wrapped lines of an entry: a line as wide as the box was broken inside a word."""
        lines, self._header = self._header, []
        if not lines or not self._parts:
            return
        text = lines[0].rstrip()
        for before, line in pairwise(lines):
            text += ("" if len(before.rstrip()) >= self._width else " ") + line.strip()
        frame = _entry(text)
        if frame and len(self._parts[-1].frames) < MAX_FRAMES:
            self._parts[-1].frames.append(frame)

    def _outside(self, line: str) -> bool:
        text = line.strip()
        if text:
            if self._after and self._after[-1] == "" and not _may_chain([*self._after, text]):
                self.close()
                return False
            self._after.append(text)
        elif self._after and self._after[-1]:
            self._after.append("")
        if len(self._after) > 40:
            self.close()
        return True

    def _next_box(self, line: str) -> bool:
        if not any(map(grammar.is_chain_sentence, _paragraphs(self._after))):
            self.close()
            return False
        self._tell_exception()
        self._top(line)
        return True

    def _tell_exception(self) -> None:
        lines, self._after = self._after, []
        paragraphs = _paragraphs(lines)
        found = grammar.exception_line(paragraphs[0]) if paragraphs else None
        if found and self._parts:
            self._parts[-1].type, self._parts[-1].message = found.type, [found.message]


def _without_sides(text: str) -> str:
    content = text[1:].removeprefix(" ")
    return content[:-1].removesuffix(" ") if content[-1:] in tuple(_SIDES) else content


def _entry(text: str) -> Frame | None:
    match = _AT.match(text)
    if match:
        return Frame(match[1], int(match[2][:9]), match[3])
    match = _ANONYMOUS.match(text)
    return Frame("<string>", int(match[2][:9]), match[1]) if match else None


def _paragraphs(lines: list[str]) -> list[str]:
    """Wrapped lines joined, one text a paragraph."""
    texts: list[list[str]] = [[]]
    for line in lines:
        if line:
            texts[-1].append(line)
        else:
            texts.append([])
    return [" ".join(text) for text in texts if text]


def _may_chain(lines: list[str]) -> bool:
    last = _paragraphs(lines)[-1]
    return any(sentence.startswith(last) for sentence in grammar.CHAIN_SENTENCES)


FORM = RichBox
