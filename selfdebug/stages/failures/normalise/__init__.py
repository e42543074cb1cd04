"""Bytes -> lines: encoding, line ends, terminal codes, prefixes, damage. Knows nothing of runners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from selfdebug.stages.failures.normalise import structured
from selfdebug.stages.failures.normalise.damage import SUSPICIONS, Repair
from selfdebug.stages.failures.normalise.embedded import rejoined, unfolded
from selfdebug.stages.failures.normalise.encoding import decoded_blocks
from selfdebug.stages.failures.normalise.line import Line
from selfdebug.stages.failures.normalise.markup import unglued, without_links, without_typography
from selfdebug.stages.failures.normalise.prefixes import PrefixStripper
from selfdebug.stages.failures.normalise.terminal import without_codes

__all__ = ["SUSPICIONS", "Line", "Repair", "plain_lines", "spelled_out", "without_prefixes"]

MAX_LINE = 10_000
_SIGNS = ("\\n", '{"', "\\_", "“", "”", "«")


def plain_lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a log as they would look in an editor: decoded, without colours, links and string escapes."""
    for block in decoded_blocks(file):
        text = unglued(without_links(without_codes(block)))
        yield from spelled_out(text.split("\n"), text)


def spelled_out(lines: list[str], text: str) -> Iterable[str]:
    """The lines (of which `text` holds all) with the texts and exceptions that JSON in them holds."""
    if '{"' in text:
        lines = list(rejoined(lines))
        text = text if len(lines) == text.count("\n") + 1 else "\n".join(lines)
    if any(sign in text for sign in structured.SIGNS):
        lines = list(structured.with_exceptions(lines))
    return _unspelled(lines) if any(sign in text for sign in _SIGNS) else lines


def _unspelled(lines: list[str]) -> Iterator[str]:
    for line in lines:
        for inner in unfolded(line):
            yield without_typography(inner if inner is line else without_links(without_codes(inner)))


def without_prefixes(lines: Iterable[str], sample: Iterable[str] = ()) -> Iterator[Line]:
    """The lines without their prefixes, each with the stream it belongs to.

    Prefixes are learned from the sample first, so that lines above the first anchor lose theirs as well.
    """
    strip = PrefixStripper()
    for line in sample:
        strip(line[:MAX_LINE])
    for line in lines:
        yield strip(line[:MAX_LINE] if len(line) > MAX_LINE else line)
