"""Damage that only the whole shows: doubled line ends, hard wrapping, broken lines, HTML, the newest line first.

Each repair is tried only where its sign is present, and kept only when more failures can be read with it than without
(see `recognise.best`); so a wrong suspicion does no harm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from selfdebug.stages.failures.normalise.markup import from_html, looks_like_html
from selfdebug.stages.failures.normalise.prefixes import Shape, uniform_prefix

Repair = Callable[[Iterable[str]], Iterable[str]]
SHORTEST_WRAP = 20
LONGEST_WRAP = 400


def _html(lines: list[str]) -> Repair | None:
    return _html_undone if looks_like_html(lines) else None


def _doubled(lines: list[str]) -> Repair | None:
    return _doubling_undone if _is_doubled(lines) else None


def _uniform(lines: list[str]) -> Repair | None:
    shape = uniform_prefix(lines)
    return partial(_shape_undone, shape=shape) if shape else None


def _indented(lines: list[str]) -> Repair | None:
    margin = _margin(lines)
    return partial(_dedented, margin=margin) if margin else None


def _wrapped(lines: list[str]) -> Repair | None:
    width = _wrap_width(lines)
    return partial(_wrap_undone, width=width) if width else None


def _broken(lines: list[str]) -> Repair | None:
    return _breaks_undone if any(map(_is_broken, lines)) else None


def _turned(lines: list[str]) -> Repair | None:
    return _reversed if _may_be_reversed(lines) else None


SUSPICIONS: tuple[Callable[[list[str]], Repair | None], ...] = (
    _html,
    _doubled,
    _uniform,
    _indented,
    _wrapped,
    _broken,
    _turned,
)
"""Each looks for the sign of one kind of damage and gives its repair, in the order in which they are to be tried."""


def _shape_undone(lines: Iterable[str], shape: Shape) -> Iterator[str]:
    for line in lines:
        match = shape.match(line)
        yield line[match.end() :] if match else line


def _html_undone(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from from_html(line) if "&" in line or "<" in line else (line,)


def _is_doubled(lines: list[str]) -> bool:
    if len(lines) < 6:
        return False
    pairs = len(lines) // 2
    return any(sum(not line.strip() for line in lines[start::2]) >= pairs * 0.97 for start in (0, 1))


def _doubling_undone(lines: Iterable[str]) -> Iterator[str]:
    was_blank = True
    for line in lines:
        is_blank = not line.strip()
        if not is_blank or was_blank:
            yield line
        was_blank = is_blank and not was_blank


def _margin(lines: list[str]) -> str:
    """The blanks in front of an indented rule, as quoting a whole report leaves them."""
    rule = next((line for line in lines if line.startswith((" ", "\t")) and "=====" in line), "")
    return rule[: len(rule) - len(rule.lstrip())] if rule.lstrip().startswith("=====") else ""


def _dedented(lines: Iterable[str], margin: str) -> Iterator[str]:
    return (line.removeprefix(margin) for line in lines)


def _wrap_width(lines: list[str]) -> int:
    """The width at which no line goes on, though many reach it; 0 when there is none."""
    lengths = Counter(len(line) for line in lines)
    longest = max(lengths, default=0)
    if not SHORTEST_WRAP <= longest <= LONGEST_WRAP or lengths[longest] < max(2, len(lines) // 50):
        return 0
    return longest


def _wrap_undone(lines: Iterable[str], width: int) -> Iterator[str]:
    """Join lines of full width with the next, but neither a whole rule nor a line that its writer cut."""
    pending = last = ""
    for line in lines:
        goes_on = len(last) == width and len(pending) < 40 * width and not _is_whole(last, line)
        if pending and not goes_on:
            yield pending
            pending = ""
        pending = pending + line if goes_on else line
        last = line
        if not pending:
            yield ""
    if pending:
        yield pending


def _is_whole(line: str, following: str) -> bool:
    text = line.strip()
    if text.endswith("..."):
        return True
    is_rule = len(text) > 3 and text[0] == text[-1] and text[0] in "=_-!~+*―"
    is_rule = is_rule and text[1] in (text[0], " ") and text[-2] in (text[0], " ")
    return is_rule and not following.startswith(text[0])


def _is_broken(line: str) -> bool:
    """Whether a traceback entry stops in its middle."""
    text = line.strip()
    if not text.startswith('File "'):
        return False
    _, quote, rest = text[6:].partition('"')
    return not quote or not rest.startswith(", line ") or rest.rstrip().endswith((", in", ",", "line"))


def _breaks_undone(lines: Iterable[str]) -> Iterator[str]:
    pending = ""
    joined = 0
    for line in lines:
        whole = _joined(pending, line) if pending else line
        if _is_broken(whole) and joined < 4:
            pending = whole.rstrip()
            joined += 1
            continue
        pending, joined = "", 0
        yield whole
    if pending:
        yield pending


def _joined(start: str, rest: str) -> str:
    """A name is broken without a blank, everything else at one."""
    in_name = '"' not in start.partition('File "')[2]
    return start + ("" if in_name else " ") + rest.strip()


def _may_be_reversed(lines: list[str]) -> bool:
    """Whether a traceback's header stands below its entries, or the last line of a session above the first."""
    last = [line for line in lines[-12:] if line.strip()][-3:]
    if any("Traceback (most recent call last)" in line for line in last):
        return True
    header = next((index for index, line in enumerate(lines) if "Traceback (most recent call last)" in line), None)
    entry = next((index for index, line in enumerate(lines) if 'File "' in line and ", line " in line), None)
    if header is not None and entry is not None and entry < header:
        return True
    start = next(
        (index for index, line in enumerate(lines) if "= FAILURES =" in line or "test session starts" in line), None
    )
    summary = next((index for index, line in enumerate(lines) if "short test summary info" in line), None)
    errors = next((index for index, line in enumerate(lines) if line.lstrip().startswith("E  ")), None)
    return start is not None and any(other is not None and other < start for other in (summary, errors))


def _reversed(lines: Iterable[str]) -> Iterable[str]:
    return list(lines)[::-1]
