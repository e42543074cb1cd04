"""The unit that the forms read."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line without its end and prefix; `stream` tells the writers apart that a log interleaves."""

    stream: str
    text: str
