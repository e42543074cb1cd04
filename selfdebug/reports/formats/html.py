"""A page for people: self-contained HTML, readable on a phone, in print and by a screen reader."""

from __future__ import annotations

from selfdebug.model import Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.page import page
from selfdebug.reports.run_document import document


def render(repair: Repair, _view: View) -> bytes:
    """The run as one HTML document."""
    return page(document(repair))


EXPECTED_KEPT = 'if <mark title="the receiver">customer</mark>.orders &gt; 10:  # a regular'

REPORT = Report(
    name="html",
    summary="A self-contained page for a browser.",
    render=render,
    examples=(
        Example("kept", EXPECTED_KEPT, is_part=True),
        Example(
            "nothing_failed", '<p class="sentence">All 3 tests pass; there is nothing to repair.</p>', is_part=True
        ),
    ),
    suffixes=(".html", ".htm"),
)
