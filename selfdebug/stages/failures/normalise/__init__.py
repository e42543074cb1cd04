"""Bytes -> lines: encoding, line ends, terminal codes, prefixes, damage. Knows nothing of runners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from selfdebug.stages.failures.normalise.encoding import decoded_lines
from selfdebug.stages.failures.normalise.line import Line
from selfdebug.stages.failures.normalise.prefixes import PrefixStripper
from selfdebug.stages.failures.normalise.terminal import without_codes

__all__ = ["Line", "normalised"]


def normalised(file: BinaryIO) -> Iterator[Line]:
    """The lines of a log, each with the stream it belongs to."""
    strip = PrefixStripper()
    for raw in decoded_lines(file):
        yield strip(without_codes(raw))
