"""One run as a page for people: self-contained HTML, made from the JSON document of the run and its recorded steps."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

from selfdebug.reports.page import sections
from selfdebug.reports.page.elements import element, raw, written
from selfdebug.reports.page.steps import TimelineStep, stages_of, trace_section

__all__ = ["TimelineStep", "page"]


def page(document: dict[str, Any], steps: Sequence[TimelineStep] = ()) -> bytes:
    """The page of a run: `document` as `run --json` writes it, `steps` as the run was recorded (none: stages only)."""
    title = f"selfdebug {document['run_id'] or 'run'}: {document['final_status']}"
    parts = [
        sections.verdict(document),
        sections.failures(document),
        *(sections.diagnosis(document, found) for found in document["diagnoses"]),
        sections.patches(document),
        sections.not_pinned(document),
        sections.candidates(document),
        sections.timeline(steps or stages_of(document["timings"])),
        trace_section(steps),
    ]
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", None, title),
        raw("style", _asset("style.css")),
    )
    main = element("main", None, *parts)
    body = element("body", None, main, raw("script", _asset("script.js")))
    return written(element("html", {"lang": "en"}, head, body))


def _asset(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8")
