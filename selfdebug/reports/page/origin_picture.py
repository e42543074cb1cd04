"""The way of a value as a picture: files as lanes, the links in order, each a link to its code below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element

from selfdebug.reports.page.elements import element
from selfdebug.terminal import plain

LANE, ROW, TOP, BOX_WIDTH, BOX_HEIGHT = 260, 84, 44, 236, 56
_LETTERS = 30
"""Characters of code that fit into a box."""


def origin_picture(links: Sequence[dict[str, Any]], anchor: str, title: str) -> Element:
    """The links from the birth (top) to the crash (bottom); box N leads to the element `{anchor}-N`."""
    files = list(dict.fromkeys(link["file"] for link in reversed(links)))
    width, height = LANE * len(files), TOP + ROW * len(links) + 8
    boxes = list(reversed(list(enumerate(links, 1))))
    places = [(files.index(link["file"]) * LANE + LANE // 2, TOP + ROW * row) for row, (_, link) in enumerate(boxes)]
    lanes = [_lane(number, file, height) for number, file in enumerate(files)]
    arrows = [_arrow(start, end) for start, end in pairwise(places)]
    drawn = [_box(link, place, f"#{anchor}-{number}") for (number, link), place in zip(boxes, places, strict=True)]
    attributes: dict[str, object] = {
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "role": "img",
        "aria-label": title,
        "class": "origin",
    }
    return element("svg", attributes, element("title", None, title), _arrow_head(), *lanes, *arrows, *drawn)


def _arrow_head() -> Element:
    marker: dict[str, object] = {
        "id": "arrow",
        "viewBox": "0 0 10 10",
        "refX": 9,
        "refY": 5,
        "markerWidth": 8,
        "markerHeight": 8,
        "orient": "auto",
    }
    return element("defs", None, element("marker", marker, element("path", {"d": "M0 0L10 5L0 10z"})))


def _lane(number: int, file: str, height: int) -> Element:
    x = number * LANE
    shade = element("rect", {"class": "lane", "x": x + 4, "y": 4, "width": LANE - 8, "height": height - 8, "rx": 6})
    name = element("text", {"class": "file", "x": x + LANE // 2, "y": 26}, shortened(file, from_end=True))
    return element("g", None, shade, name)


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> Element:
    (x1, y1), (x2, y2) = start, end
    bend = (y1 + BOX_HEIGHT + y2) // 2
    path = f"M{x1} {y1 + BOX_HEIGHT}C{x1} {bend} {x2} {bend} {x2} {y2 - 2}"
    return element("path", {"class": "arrow", "d": path, "marker-end": "url(#arrow)"})


def _box(link: dict[str, Any], place: tuple[int, int], target: str) -> Element:
    x, y = place
    left = x - BOX_WIDTH // 2
    frame: dict[str, object] = {"x": left, "y": y, "width": BOX_WIDTH, "height": BOX_HEIGHT, "rx": 5}
    box = element("rect", {**frame, "class": f"box {'observed' if link['evidence'] == 'observed' else 'inferred'}"})
    where = element(
        "text", {"class": "place", "x": left + 10, "y": y + 22}, f"line {link['line']}, {link['function']}"[:34]
    )
    code = element("text", {"class": "code", "x": left + 10, "y": y + 42}, shortened(link["code"].strip()))
    return element("a", {"href": target}, element("title", None, link["sentence"]), box, where, code)


def shortened(text: str, from_end: bool = False) -> str:
    """The text as one line that fits into a box, with an ellipsis where something was left out."""
    text = " ".join(plain(text).split())
    if len(text) <= _LETTERS:
        return text
    return "…" + text[-_LETTERS + 1 :] if from_end else text[: _LETTERS - 1] + "…"
