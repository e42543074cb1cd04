"""Prefixes of log lines, found from the text itself.

Some lines can only begin one way: a traceback's header, a rule with a title. What stands before such an anchor is a
prefix; its numbers vary from line to line, its words do not. The shape learned from one anchor is then taken off
every line that has it.
"""

from __future__ import annotations

import re

from selfdebug.stages.failures.normalise.line import Line

MAX_SHAPES = 12
MAX_STREAMS = 64
MAX_PREFIX = 300

_HEADER = "Traceback (most recent call last)"
_TAIL_OF_HEADER = re.compile(r"(?:(?:\+ )?Exception Group |[\w.]+ {3,})$")
_TYPE_BEFORE_HEADER = re.compile(r"(?:(?:\+ )?Exception Group |[\w.]+ +)$")
_BOX = re.compile(r"(?: {2})?[+╭┌][-─━ ]*$")
_RULE = re.compile(r"(?:^|(?<=[\s|\]:+]))(?:={5,}|_{5,}|―{5,})")
_NOT_A_PREFIX = re.compile(r"[E>] {2,}|\d{3} $|\s*(?:[|+│┃]\s*)*$|>>> |.*[\"'(>]$")
_TIMES = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ,]+\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\d+\.\d+|\b\d{6,}\b"
)
_LEVEL = re.compile(r"\b(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|TRACE|debug|info|warn|warning|error)\b")
_LAST_LEVEL = re.compile(r"\b(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|TRACE)$")
_LEVELS = ("DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "TRACE")
_NUMBER = re.compile(r"\d+")
_PIECES = re.compile(r"(\d+| +)")
_GITLAB = re.compile(r"\d\d[OE][+ ]$")


class Shape:
    """A prefix with its numbers and levels left open."""

    def __init__(self, prefix: str) -> None:
        body = prefix.rstrip()
        blank = len(prefix) - len(body)
        level = _LAST_LEVEL.search(body)
        if level and blank:
            body = body[: level.start()]
        self.length = len(prefix)
        pattern = "".join(_generalised(piece) for piece in _PIECES.split(_LEVEL.sub("\0", body)))
        if _GITLAB.search(prefix):
            pattern, blank = pattern.replace(re.escape("+"), ""), 1
        end = rf"(?:[ +\t]{{{blank}}}|[ \t]*$)" if blank else ""
        if level and blank:
            end = _padded_levels(len(level[0]) + blank)
        self.match = re.compile(pattern + end).match

    def stream(self, prefix: str) -> str:
        """The prefix without its times: the name of the writer."""
        text = _LEVEL.sub("", _TIMES.sub("", prefix)).rstrip(" +\t")
        text = _bare_numbers(text) if _NAMED_NUMBER.search(text) else _NUMBER.sub("", text)
        return " ".join(text.split())


_NAMED_NUMBER = re.compile(r"[A-Za-z#\]\[][-_./\[]?\d")


def _bare_numbers(text: str) -> str:
    return re.sub(r"(?<![A-Za-z0-9#\[._/-])\d+", "", text)


def _padded_levels(width: int) -> str:
    """Level names padded to a column, as many formats write them at the end of the prefix."""
    names = "|".join(f"{name}(?: {{{max(width - len(name), 1)}}}|[ \\t]*$)" for name in _LEVELS)
    return f"(?:{names})"


def _generalised(piece: str) -> str:
    if piece.isdigit():
        return r"\d+"
    if piece.isspace():
        return " +"
    return re.escape(piece).replace("\0", r"[A-Za-z]+")


class PrefixStripper:
    """Takes prefixes off lines, learning their shapes on the way."""

    def __init__(self) -> None:
        self._shapes: list[Shape] = []
        self._known: set[str] = set()
        self._streams: dict[str, str] = {}

    def __call__(self, line: str) -> Line:
        """The line without its prefix, in the stream that the prefix names."""
        if not self._shapes and not ("=====" in line or "_____" in line or "―――――" in line or _HEADER in line):
            return "", line
        for shape in self._shapes:
            match = shape.match(line)
            if match:
                text = line[match.end() :]
                if self._learn(text, line[: match.end()]):
                    return self(line)
                return self._stream(shape, match[0]), text
        if self._learn(line, ""):
            return self(line)
        return "", line

    def _stream(self, shape: Shape, prefix: str) -> str:
        name = self._streams.get(prefix)
        if name is None:
            name = shape.stream(prefix)
            if len(self._streams) > 4096:
                self._streams.clear()
            self._streams[prefix] = name
        return name

    def _learn(self, text: str, before: str) -> bool:
        """Learn the prefix in front of an anchor of `text`; whether there was a new one."""
        if len(self._shapes) >= MAX_SHAPES or not (
            "=====" in text or "_____" in text or "―――――" in text or _HEADER in text
        ):
            return False
        prefix = _prefix_of(text)
        if not prefix or len(prefix) > MAX_PREFIX:
            return False
        whole = before + prefix
        key = _NUMBER.sub("0", _LEVEL.sub("", whole))
        if key in self._known:
            return False
        self._known.add(key)
        self._shapes.append(Shape(whole))
        self._shapes.sort(key=lambda shape: -shape.length)
        return True


def _prefix_of(text: str) -> str:
    """What stands before the anchor of a line: the empty string when there is none, or it is no prefix."""
    at = text.find(_HEADER)
    if at > MAX_PREFIX:
        return ""
    if at >= 0:
        is_notebook = not text[at + len(_HEADER) :].startswith(":")
        prefix = _BOX.sub("", (_TYPE_BEFORE_HEADER if is_notebook else _TAIL_OF_HEADER).sub("", text[:at]))
        if text[:at].endswith("+ Exception Group "):
            prefix = prefix.removesuffix("  ")
    else:
        rule = _RULE.search(text)
        if rule is None or not text.rstrip().endswith(rule[0][:3]):
            return ""
        prefix = text[: rule.start()]
    return "" if _NOT_A_PREFIX.match(prefix) or "##teamcity[" in prefix else prefix


def uniform_prefix(lines: list[str]) -> Shape | None:
    """The shape that nearly all lines begin with, for pieces that hold no anchor."""
    told = [line[:MAX_PREFIX] for line in lines[:2000] if line.strip()]
    if len(told) < 3:
        return None
    masked = [_NUMBER.sub("0", _LEVEL.sub("\0", line)) for line in told]
    common = masked[0]
    for text in masked[1:]:
        common = _common_start(common, text)
    common = common[: max(map(common.rfind, " \t|>")) + 1]
    raw = told[0]
    ends = (end for end in range(1, len(raw) + 1) if _NUMBER.sub("0", _LEVEL.sub("\0", raw[:end])) == common)
    prefix = raw[: max(ends, default=0)]
    if not prefix.strip() or prefix[0] == "E":
        return None
    return Shape(prefix)


def _common_start(one: str, other: str) -> str:
    size = min(len(one), len(other))
    return next((one[:index] for index in range(size) if one[index] != other[index]), one[:size])
