"""A piece of source with the guilty expression underlined, aligned also for tabs, wide characters and escapes."""

from __future__ import annotations

from codemods.selfdebug.spans import Span, split_lines
from selfdebug.model import FaultLocation, Frame
from selfdebug.terminal import Paint, Tone, cells, clipped, displayed

AROUND = 2
"""Lines of a long statement that are shown before and after the underlined one."""


def excerpt_of_fault(location: FaultLocation, paint: Paint) -> list[str]:
    """The statement that raised, with its most likely receiver underlined."""
    lines = split_lines(location.statement_code)
    lines[:1] = [" " * location.statement.start_column + lines[0]] if lines else []
    receiver = location.receivers[0].receiver if location.receivers else None
    return _excerpt(lines, location.statement.start_line, receiver, location.line, paint)


def excerpt_of_frame(frame: Frame, paint: Paint) -> list[str]:
    """The source line of a frame, underlined where the interpreter named the expression and the line is as it was."""
    if not frame.code or frame.line is None:
        return []
    is_whole = frame.code[:1].isspace()
    span = frame.span if is_whole else None
    return _excerpt(split_lines(frame.code)[:1], frame.line, span, frame.line, paint)


def _excerpt(lines: list[str], first: int, underlined: Span | None, line: int, paint: Paint) -> list[str]:
    focus = underlined.start_line if underlined else line
    low, high = max(first, focus - AROUND), focus + AROUND
    texts = [(number, text.rstrip("\r\n")) for number, text in enumerate(lines, first) if low <= number <= high]
    indent = min((len(text) - len(text.lstrip()) for _, text in texts if text.strip()), default=0)
    shown = []
    for number, text in texts:
        if underlined and underlined.start_line == number:
            end = underlined.end_column if underlined.end_line == number else len(text)
            blank = cells(text[indent : underlined.start_column])
            length = max(1, cells(text[underlined.start_column : end]))
            shown += _underlined(text[indent:], blank, length, paint)
        else:
            shown.append(_shown(text[indent:], 0, paint))
    return shown


def _underlined(text: str, blank: int, length: int, paint: Paint) -> list[str]:
    """A line with marks below `length` cells from `blank` on, moved to the left where they could not be seen."""
    start = 0
    if paint.columns is not None and blank + length >= paint.columns:
        start = max(0, min(blank - paint.columns // 3, cells(text) - paint.columns))
        length = min(length, paint.columns - (blank - start))
    marks = " " * (blank - start) + paint("^" * length, Tone.BAD, Tone.STRONG)
    return [_shown(text, start, paint), marks]


def _shown(text: str, start: int, paint: Paint) -> str:
    return displayed(text) if paint.columns is None else clipped(text, paint.columns, start)
