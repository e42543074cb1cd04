"""Bytes -> lines: encoding, line ends, terminal codes, prefixes, damage. Knows nothing of runners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from selfdebug.stages.failures.normalise.damage import Repair, suspected
from selfdebug.stages.failures.normalise.embedded import unfolded
from selfdebug.stages.failures.normalise.encoding import decoded_lines
from selfdebug.stages.failures.normalise.line import Line
from selfdebug.stages.failures.normalise.markup import without_links
from selfdebug.stages.failures.normalise.prefixes import PrefixStripper
from selfdebug.stages.failures.normalise.terminal import without_codes

__all__ = ["Line", "Repair", "plain_lines", "suspected", "without_prefixes"]

MAX_LINE = 10_000


def plain_lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a log as they would look in an editor: decoded, without colours, links and string escapes."""
    for raw in decoded_lines(file):
        for line in unfolded(without_codes(raw)):
            yield without_links(without_codes(line) if line is not raw else line)


def without_prefixes(lines: Iterable[str]) -> Iterator[Line]:
    """The lines without the prefixes that were learned from them, each with the stream it belongs to."""
    strip = PrefixStripper()
    for line in lines:
        yield strip(line[:MAX_LINE] if len(line) > MAX_LINE else line)
