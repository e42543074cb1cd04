r"""Text inside text: a whole log as one string of a JSON record, with `\n` and `\"` spelled out, even twice."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator

MAX_DEPTH = 4
MAX_RECORD = 200_000
MAX_WRAPS = 5_000
_WRAP_WIDTHS = range(20, 401)
_TEXT_KEYS = ("log", "message", "msg", "line", "text", "MESSAGE", "textPayload", "event", "body")
_MARKS = ("Traceback (most recent call last)", 'File \\"', 'File \\\\"', "= FAILURES =", "= ERRORS =", 'File "', ".py:")
_RECORD = re.compile(r"\s*(?:[{\[\"]|b?['\"]|\S+=\")")
_HTML_KEY = re.compile(r"&quot;: ?(?:&quot;|[\[{\d])")
_DECODER = json.JSONDecoder(strict=False)
_SIMPLE = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\(?:u001b|x1b|([ntr\"'\\/]))")


def rejoined(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with each JSON record that was hard-wrapped at a fixed column in one line again."""
    held: list[str] = []
    for line in lines:
        if held:
            held.append(line)
            if len(line) != len(held[0]) or len(held) > MAX_WRAPS:
                text = "".join(held)
                yield from [text] if _is_json(text) else held
                held = []
        elif line.startswith('{"') and len(line) in _WRAP_WIDTHS and not line.endswith("}"):
            held = [line]
        else:
            yield line
    yield from held


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def unfolded(line: str) -> Iterator[str]:
    """The line, or the lines that are spelled out in its strings."""
    if "&quot;" in line and _HTML_KEY.search(line):
        line = html.unescape(line)
    if line.startswith('{"') and line.rstrip().endswith("}") and len(line) < MAX_RECORD:
        text = _record_text(line)
        if text is not None:
            yield from text.rstrip("\r\n").split("\n")
            return
    if "\\n" not in line or not _holds_log(line):
        yield line
        return
    yield from _unfolded(line, 0)


def _record_text(line: str) -> str | None:
    """The text of a log record of one line, as container runtimes and structured loggers write them."""
    try:
        record = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    texts = [value for value in record.values() if isinstance(value, str)]
    if any("\n" in text.rstrip("\n") or ("\\n" in text and any(mark in text for mark in _MARKS)) for text in texts):
        return None
    return next((record[key] for key in _TEXT_KEYS if isinstance(record.get(key), str)), None)


def _holds_log(line: str) -> bool:
    if not any(mark in line for mark in _MARKS):
        return False
    return bool(_RECORD.match(line)) or '": "' in line or '":"' in line or '="' in line


def _unfolded(line: str, depth: int) -> Iterator[str]:
    if depth >= MAX_DEPTH or "\\n" not in line or not any(mark in line for mark in _MARKS):
        yield line
        return
    texts = [text for text in _strings(line) if "\n" in text and any(mark in text for mark in _MARKS)]
    if not texts:
        again = [text for text in _strings(line) if "\\n" in text and any(mark in text for mark in _MARKS)]
        texts = again or [_ESCAPE.sub(_unescaped, line)]
        if not again and texts[0] == line:
            yield line
            return
    for text in texts:
        yield ""
        for inner in text.split("\n"):
            yield from _unfolded(inner, depth + 1)
    yield ""


def _unescaped(match: re.Match[str]) -> str:
    return _SIMPLE[match[1]] if match[1] else "\x1b"


def _strings(line: str) -> Iterator[str]:
    """The JSON strings of a line; each failed attempt goes on behind the place where it failed."""
    at = line.find('"')
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(line, at)
        except json.JSONDecodeError as error:
            if error.pos <= at:
                return
            end = error.pos + 1
        else:
            yield value
        at = line.find('"', end)
