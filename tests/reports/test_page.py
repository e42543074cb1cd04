"""The page of a run: what it holds, and how a real browser shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from test_formats import HOSTILE, HOSTILE_RUN

from selfdebug.model import Repair
from selfdebug.reports.page import TimelineStep, page
from selfdebug.reports.page.diff_rows import Cell, Row, rows
from selfdebug.reports.run_document import document
from selfdebug.reports.samples import COMPARED, KEPT, NOTHING_FAILED, ROLLED_BACK

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
STEPS = (
    TimelineStep("ingest#0", "ingest", "reading what fails", 0.0, 0.5, ("set failures = <b>1</b>",)),
    TimelineStep("try#1", "try", "judging condition-prefix", 0.5, 1.5, ("rule: crash statement first",)),
)

# ---------------------------------------------------------------- without a browser


def test_a_page_asks_nothing_of_the_network() -> None:
    written = page(document(KEPT), STEPS).decode()
    assert not re.search(r"(?:src|href)=\"(?!#)", written)
    assert "url(" not in written.replace('"url(#arrow)"', "")
    assert "@import" not in written


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", [Row(Cell(1, "x", True), Cell(1, "y", True))]),
        ("@@ -3,0 +4,2 @@\n+x\n+y\n", [Row(None, Cell(4, "x", True)), Row(None, Cell(5, "y", True))]),
        ("@@ -1,2 +1 @@\n a\n-b\n", [Row(Cell(1, "a", False), Cell(1, "a", False)), Row(Cell(2, "b", True), None)]),
        (
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n@@ -9 +9 @@\n-c\n+d\n",
            [Row(Cell(1, "a", True), Cell(1, "b", True)), None, Row(Cell(9, "c", True), Cell(9, "d", True))],
        ),
        ("", []),
    ],
)
def test_a_diff_becomes_rows(diff: str, expected: list[Row | None]) -> None:
    assert list(rows(diff)) == expected


def test_a_crash_without_values_origin_or_receiver_is_shown_all_the_same() -> None:
    attempt = ROLLED_BACK.attempts[0]
    location = replace(attempt.diagnosis.location, receivers=(), function=None)
    bare = replace(attempt.diagnosis, location=location, origin=(), observations=(), caught=(), sentence="")
    written = page(document(replace(ROLLED_BACK, attempts=(replace(attempt, diagnosis=bare),)))).decode()
    assert "<h2>Crash 1: shop/discount.py:8</h2>" in written
    assert "<mark" not in written
    assert "Where the value came from" not in written


def test_a_reviewer_sees_how_often_it_acted_how_to_pin_it_and_what_else_would_pass() -> None:
    found = document(COMPARED)
    (guard,) = found["patches"][0]["guards"]
    (pin,), (other,) = guard["pins"], guard["alternatives"]
    written = page(found).decode()
    for shown in (f"To pin it:<pre>{pin['suggestion']}</pre>", f"<p>{other['message']}</p>", "<p>It acted once"):
        assert shown in written
    assert "<summary>Its diff</summary>" in written
    other["same"], guard["firings"], pin["suggestion"] = True, None, None
    bare = page(found).decode()
    for absent in ("To pin it", other["message"], "It acted", "Its diff"):
        assert absent not in bare


def test_a_long_value_stands_below_its_beginning() -> None:
    found: dict[str, Any] = document(KEPT)
    found["probes"][0]["value"]["repr"] = "7" * 121
    assert f"<summary><code>{'7' * 120}…</code></summary>" in page(found).decode()


def test_a_statement_over_several_lines_is_marked_on_its_own_line() -> None:
    found: dict[str, Any] = document(KEPT)
    found["diagnoses"][0] |= {
        "statement": "total(\r\n        customer.orders,\r\n    )",
        "receiver_span": {"start_line": 9, "start_column": 8, "end_line": 9, "end_column": 16},
    }
    written = page(found).decode()
    assert '</span>        <mark title="the receiver">customer</mark>.orders,' in written
    found["diagnoses"][0]["receiver_span"] |= {"end_line": 10, "end_column": 5}
    assert '<mark title="the receiver">customer.orders,</mark>' in page(found).decode()


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium of this machine."""
    if CHROMIUM is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("these tests need Chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


def opened(browser: Browser, folder: Path, repair: Repair, **options: Any) -> Page:
    """The page of a run in the browser; anything that it says in its console fails the test."""
    file = folder / "run.html"
    file.write_bytes(page(document(repair), STEPS))
    shown = browser.new_context(**options).new_page()
    said: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda request: said.append(request.url) if request.url != file.as_uri() else None)
    shown.goto(file.as_uri())
    assert said == []
    return shown


@pytest.mark.parametrize("repair", [KEPT, ROLLED_BACK, NOTHING_FAILED], ids=lambda repair: repair.exit_reason)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_on_a_phone_in_either_scheme(
    browser: Browser, tmp_path: Path, repair: Repair, scheme: str
) -> None:
    shown = opened(browser, tmp_path, repair, color_scheme=scheme, viewport={"width": 360, "height": 740})
    assert shown.locator("h1").inner_text() == f"selfdebug: {repair.exit_reason}"
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    assert contrast(shown, "p.sentence") >= 4.5


def contrast(shown: Page, selector: str) -> float:
    """The contrast of an element's text with the page (WCAG 2.2, relative luminance)."""
    colors = shown.evaluate(
        "s => [getComputedStyle(document.querySelector(s)).color, getComputedStyle(document.body).backgroundColor]",
        selector,
    )
    lighter, darker = sorted(map(_luminance, colors), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    channels = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_each_box_of_the_picture_leads_to_its_code(browser: Browser, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, KEPT)
    boxes = shown.locator("svg.origin a")
    assert boxes.count() == len(KEPT.attempts[0].diagnosis.origin)
    for number in range(boxes.count()):
        boxes.nth(number).click()
        target = shown.locator("li:target")
        code = boxes.nth(number).locator("text.code").text_content()
        assert code
        assert code.rstrip("…") in target.inner_text()
    ids = shown.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_the_steps_can_be_searched(browser: Browser, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, KEPT)
    shown.get_by_label("Find a step:").fill("CRASH first")
    assert shown.locator("details.step:visible summary code").all_inner_texts() == ["try#1"]
    assert shown.locator("#found").inner_text() == "1 of 2 steps"
    shown.get_by_label("Find a step:").fill("")
    assert shown.locator("details.step:visible").count() == 2


def test_hostile_text_stays_text_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, HOSTILE_RUN)
    assert shown.locator("script").count() == 1
    texts = shown.evaluate("document.body.innerText")
    assert "<script>@all](x)" in texts
    assert HOSTILE not in texts
    assert shown.locator("b").count() == 0


def test_a_reader_that_hears_the_page_finds_its_way(browser: Browser, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, KEPT)
    levels = shown.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert shown.evaluate("[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th'))")
    assert shown.get_by_role("img").get_attribute("aria-label")
    assert shown.evaluate("document.documentElement.lang") == "en"


def test_paper_shows_what_a_click_would_open(browser: Browser, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, KEPT)
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.evaluate("[...document.querySelectorAll('details')].every(part => part.open)")
    assert shown.pdf().startswith(b"%PDF")


def test_the_page_is_made_of_plain_data() -> None:
    found = json.loads(json.dumps(document(KEPT)))
    assert page(found, STEPS) == page(document(KEPT), STEPS)
