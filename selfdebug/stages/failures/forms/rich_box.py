"""Tracebacks that rich draws in boxes: narrow ones that wrap paths, ASCII ones of old consoles, and nested ones.

The members of an exception group stand in boxes of their own below the exception, each with boxes inside.
"""

from __future__ import annotations

import re
from itertools import pairwise

from selfdebug.model import Failure, Frame
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.tracebacks import MAX_FRAMES, Part, failure_of

RANK = 30
MARKS = ("Traceback (most recent",)
_HEADER = "Traceback (most recent call last)"
_MEMBER = "Sub-exception #"
_SHORTEST_TITLE = 9
_BOTTOM = re.compile(r"\s*[╰└+][-─━]{3,}[╯┘+]?\s*$")
_EDGE = "╭┌+-─━ ╮┐"
_SIDES = "│┃|"
_NESTED = ("╭", "│", "╰", "┌", "└", "+-", "| ")
_CODE = re.compile(r"(?:[❱>] *\d+|\s+\d+)(?:\s|$)")
_AT = re.compile(r"(.+):(\d+) in (\S.*)$")
_ANONYMOUS = re.compile(r"in (\S.*):(\d+)$")
_MAX_DEPTH = 20


class _Level:
    """The boxes of one level: the tracebacks of a chain, each with its exception and perhaps members of a group."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._parts = [Part()]
        self._header: list[str] = []
        self._after: list[str] = []
        self._in_box = False
        self._width = 0
        self._member: _Level | None = None

    def feed(self, line: str) -> bool:
        """Take a line of this level, without the sides of the boxes around it, or say that it does not belong here."""
        if self._member is not None:
            return self._inside_member(self._member, line)
        if self._in_box:
            return self._inside(line)
        title = _title(line)
        if title and _begins(_HEADER, title):
            return self._next_box(line)
        if title and _begins(_MEMBER, title) and self._depth < _MAX_DEPTH:
            self._tell_exception()
            self._member = _Level(self._depth + 1)
            return True
        return self._outside(line)

    def failure(self) -> Failure | None:
        """What the boxes told."""
        self._end_member()
        self._end_header()
        self._tell_exception()
        return failure_of(self._parts)

    def _inside_member(self, member: _Level, line: str) -> bool:
        text = line.strip()
        if _BOTTOM.match(line):
            self._end_member()
        elif text[:1] in _SIDES and text:
            member.feed(_without_sides(text))
        elif text:
            return False
        return True

    def _end_member(self) -> None:
        member, self._member = self._member, None
        failure = member.failure() if member else None
        if failure:
            self._parts[-1].group.append(failure)

    def _top(self, line: str) -> bool:
        if not self._parts[-1].is_empty:
            self._parts.append(Part())
        self._in_box, self._width, self._header = True, len(line.strip()) - 4, []
        return True

    def _inside(self, line: str) -> bool:
        text = line.strip()
        if _BOTTOM.match(line):
            self._end_header()
            self._in_box = False
        elif text[:1] in _SIDES and text:
            self._content(_without_sides(text))
        elif text:
            return False
        return True

    def _content(self, content: str) -> None:
        if not content.strip() or content.startswith(_NESTED) or _CODE.match(content):
            self._end_header()
        elif not content.startswith(" ") and len(self._header) < 12:
            self._header.append(content)

    def _end_header(self) -> None:
        """Join the wrapped lines of an entry: a line as wide as the box was broken inside a word."""
        lines, self._header = self._header, []
        if not lines:
            return
        text = lines[0].rstrip()
        for before, line in pairwise(lines):
            in_word = len(before.rstrip()) >= self._width and not before.rstrip().endswith(" in")
            text += ("" if in_word else " ") + line.strip()
        frame = _entry(text)
        if frame and len(self._parts[-1].frames) < MAX_FRAMES:
            self._parts[-1].frames.append(frame)

    def _outside(self, line: str) -> bool:
        text = line.strip()
        if text:
            may_follow = not self._after or self._after[-1] != "" or _may_chain([*self._after, text])
            if not may_follow or len(self._after) > 40:
                return False
            self._after.append(text)
        elif self._after and self._after[-1]:
            self._after.append("")
        return True

    def _next_box(self, line: str) -> bool:
        begun = self._parts[-1].is_empty and not self._after
        if not begun and not any(map(grammar.is_chain_sentence, _paragraphs(self._after))):
            return False
        self._tell_exception()
        return self._top(line)

    def _tell_exception(self) -> None:
        """The first paragraph below a box names its exception, unless members of a group stood there already."""
        lines, self._after = self._after, []
        paragraphs = _paragraphs(lines)
        found = grammar.exception_line(paragraphs[0]) if paragraphs else None
        if found and not self._parts[-1].type:
            self._parts[-1].type, self._parts[-1].message = found.type, [found.message]


class RichBox:
    """Opens at the top edge; after the bottom edge the exception follows, then members of a group, the next box."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._level: _Level | None = None
        self._start = 0

    def opens(self, line: str) -> bool:
        """Take the top edge with the words of a traceback's header."""
        title = _title(line)
        if not title or not _begins(_HEADER, title):
            return False
        self._start, self._level = self._stream.findings.line, _Level()
        return self._level.feed(line)

    def feed(self, line: str) -> bool:
        """Take box lines and what follows the box."""
        if self._level is None:
            return False
        if self._level.feed(line):
            return True
        self.close()
        return False

    def close(self) -> None:
        """Record what the boxes told."""
        level, self._level = self._level, None
        failure = level.failure() if level else None
        if failure:
            self._stream.add(failure, Source.TRACEBACK, self._start)


def _title(line: str) -> str:
    """The words in a top edge, the empty string for any other line."""
    text = line.strip()
    return text.strip(_EDGE) if text[:1] in tuple("╭┌+") else ""


def _begins(words: str, title: str) -> bool:
    """Whether a title begins with the words, or is what a narrow box leaves of them."""
    return title.startswith(words) or (len(title) >= _SHORTEST_TITLE and words.startswith(title))


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
