"""What a person sees: harmless text, colour and width as the terminal has them, progress for it or for a log file."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import util
from typing import TextIO

from selfdebug.model import Progress

LOG_INTERVAL = 15.0
"""Seconds between two plain progress lines of one stage, where standard error is no terminal."""
STAGE_INTERVAL = 2.0
"""Seconds after which a new stage gets a plain line of its own."""

_CLEAR_LINE = "\r\x1b[2K"
_RESET = "\x1b[0m"
_SGR = re.compile(r"\x1b\[[0-9;]*m")
_TAB = "    "
_CUT = "…"
_NARROWEST, _WIDEST = 20, 100
_BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_SEPARATORS = {0x85, 0x2028, 0x2029}


class ColorChoice(StrEnum):
    """The values of `--color`."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Tone(StrEnum):
    """What a piece of text means; the value is its SGR parameter."""

    GOOD = "32"
    BAD = "31"
    WARNING = "33"
    PLACE = "36"
    STRONG = "1"
    FAINT = "2"


# ---------------------------------------------------------------- harmless text


def _is_harmless(character: str) -> bool:
    code = ord(character)
    if code < 0x20:
        return character in "\n\t"
    return not (0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in _BIDI or code in _SEPARATORS)


def plain(text: str) -> str:
    """The text with terminal escapes, control and direction characters and lone surrogates written as `\\xNN`.

    Names, messages and source lines come from the project and from logs: none of them may move the cursor, change the
    window title or hide what it says. Line feeds and tabs stay; the CR of a CRLF line end goes.
    """
    text = text.replace("\r\n", "\n")
    if all(map(_is_harmless, text)):
        return text
    return "".join(
        character if _is_harmless(character) else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def one_line(text: str) -> str:
    """The text as `plain` gives it, with its line feeds and tabs as escapes too."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def counted(number: int, what: str, many: str | None = None) -> str:
    """A number with its noun: `1 test`, `2 tests`."""
    return f"{number} {what if number == 1 else many or what + 's'}"


# ---------------------------------------------------------------- cells


def displayed(text: str) -> str:
    """The harmless text with each tab as four blanks, as source is shown."""
    return plain(text.replace("\t", _TAB))


def cells(text: str) -> int:
    """The columns that the displayed text takes on a terminal (Unicode Standard Annex 11)."""
    return sum(map(_cell, displayed(text)))


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int, start: int = 0) -> str:
    """The displayed text from the cell `start` on, in at most `columns` cells; an ellipsis stands for what is cut."""
    text = displayed(text)
    is_cut = cells(text) > start + columns
    if not start and not is_cut:
        return text
    first, last = start + bool(start), start + columns - is_cut
    shown, at = "", 0
    for character in text:
        begin, at = at, at + _cell(character)
        if begin >= first and at <= last:
            shown += character
        elif begin < first < at:  # of a wide character only the right half is to be seen
            shown += " "
    return f"{_CUT if start else ''}{shown}{_CUT if is_cut else ''}"


# ---------------------------------------------------------------- colour and width


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours text, or leaves it as it is; what it is given is made harmless first.

    `columns` are those that lines have to fit into; None where no terminal shows them.
    """

    enabled: bool
    columns: int | None = None

    def __call__(self, text: str, *tones: Tone) -> str:
        """The harmless text in the given tones."""
        text = plain(text)
        if not self.enabled or not tones or not text:
            return text
        return f"\x1b[{';'.join(tones)}m{text}{_RESET}"

    def inset(self, columns: int) -> Paint:
        """The same for text that stands so many columns from the left."""
        return self if self.columns is None else replace(self, columns=max(1, self.columns - columns))

    def folded(self, line: str, hanging: int = 2) -> list[str]:
        """A line, painted or harmless already, as rows that fit, broken at blanks.

        The rows after the first are indented `hanging` columns deeper than it. A word that is too long stays whole, so
        that a path or the name of a test can be copied. A colour ends with its row and begins again in the next one,
        because pagers forget it there.
        """
        if self.columns is None or cells(_SGR.sub("", line)) <= self.columns:
            return [line]
        body = line.lstrip(" ")
        indent = " " * (len(line) - len(body))
        margin = indent + " " * hanging
        rows, row, tone = [], indent, ""
        for word in re.findall(r" *[^ ]+", body):
            begun = _SGR.sub("", row)
            if begun.strip() and cells(begun + _SGR.sub("", word)) > self.columns:
                rows.append(row + (_RESET if tone else ""))
                row = margin + tone + word.lstrip(" ")
            else:
                row += word
            if codes := _SGR.findall(word):
                tone = "" if codes[-1] == _RESET else codes[-1]
        return [*rows, row]


def wants_color(choice: ColorChoice, stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour what goes to `stream`: the option, then NO_COLOR, FORCE_COLOR, then whether it is a terminal.

    NO_COLOR counts when it is not empty (no-color.org), FORCE_COLOR when it is neither empty nor `0`.
    """
    if choice is not ColorChoice.AUTO:
        return choice is ColorChoice.ALWAYS
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal(stream, environ)


def is_terminal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a person reads `stream` on a terminal that understands escapes."""
    return stream.isatty() and environ.get("TERM", "") not in ("", "dumb")


def columns_for(stream: TextIO) -> int | None:
    """The columns that text on a stream is to fit into, at most 100; None where no terminal shows it."""
    return max(_NARROWEST, min(_WIDEST, columns_of(stream))) if stream.isatty() else None


def columns_of(stream: TextIO) -> int:
    """What COLUMNS says, else the columns of the terminal that a stream writes to; 80 where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


# ---------------------------------------------------------------- progress


@contextmanager
def progress(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Iterator[Callable[[Progress], None]]:
    """What to call with each event while the work goes on; the display is gone when the block ends.

    A terminal gets one line that is rewritten (by rich where it is installed), anything else a plain line
    now and then: at a new stage after STAGE_INTERVAL seconds, in a long one every LOG_INTERVAL seconds.
    """
    if not is_terminal(stream, environ):
        yield _LogLines(stream).show
    elif util.find_spec("rich") is not None:
        with _rich_status(stream) as show:
            yield show
    else:
        with progress_line(stream) as line:
            yield line.show


@contextmanager
def progress_line(stream: TextIO) -> Iterator[TerminalLine]:
    """Progress on a terminal that is also used to ask: `clear` the line before something else is written."""
    line = TerminalLine(stream)
    try:
        yield line
    finally:
        line.clear()


def sentence_of(event: Progress) -> str:
    """One event as a line of text: `try 3/40: guard early-return at cart.py:12`."""
    count = "" if event.done is None else f" {event.done}" if event.total is None else f" {event.done}/{event.total}"
    return one_line(f"{event.stage}{count}: {event.message}")


class _LogLines:
    """Progress for a log file: lines that stay, few enough to be read."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage: str | None = None
        self._written = 0.0

    def show(self, event: Progress) -> None:
        now = time.monotonic()
        wait = LOG_INTERVAL if event.stage == self._stage else STAGE_INTERVAL
        if self._stage is not None and now - self._written < wait:
            return
        self._stage, self._written = event.stage, now
        _write(self._stream, f"selfdebug: {sentence_of(event)}\n")


class TerminalLine:
    """Progress for a terminal without rich: one line, rewritten in place and cut to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Progress) -> None:
        """Write an event over the one before."""
        _write(self._stream, _CLEAR_LINE + clipped(sentence_of(event), max(1, columns_of(self._stream) - 1)))

    def clear(self) -> None:
        """Leave an empty line, with the cursor at its start."""
        _write(self._stream, _CLEAR_LINE)


@contextmanager
def _rich_status(stream: TextIO) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.text import Text

    status = Console(file=stream).status(Text("starting"))
    with status:
        yield lambda event: status.update(Text(sentence_of(event), overflow="ellipsis", no_wrap=True))


def _write(stream: TextIO, text: str) -> None:
    """Progress is a courtesy: a closed pipe or a full disk must not end the run that it tells about."""
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except (OSError, ValueError):
        return
