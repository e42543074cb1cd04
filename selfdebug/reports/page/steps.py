"""What happened when: the recorded steps of a run, as bars of time and as a list that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from xml.etree.ElementTree import Element

from selfdebug.reports.page.elements import element


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One step: `started` and `seconds` count from the start of the run; `details` are lines of what it did."""

    id: str
    stage: str
    description: str
    started: float
    seconds: float
    details: tuple[str, ...] = ()


def stages_of(timings: Mapping[str, float]) -> list[TimelineStep]:
    """The stages one after the other, where only their times are known."""
    starts = accumulate(timings.values(), initial=0.0)
    return [
        TimelineStep(stage, stage, "", start, seconds)
        for (stage, seconds), start in zip(timings.items(), starts, strict=False)
    ]


def bars(steps: Sequence[TimelineStep]) -> Iterable[Element]:
    """A bar a step, from its start to its end, as shares of the whole time."""
    whole = max((step.started + step.seconds for step in steps), default=0.0) or 1.0
    for step in steps:
        left, width = 100 * step.started / whole, max(0.3, 100 * step.seconds / whole)
        bar = element("span", {"class": "bar", "style": f"margin-left:{left:.2f}%;width:{min(width, 100 - left):.2f}%"})
        yield element(
            "tr",
            None,
            element("th", {"scope": "row"}, step.id),
            element("td", {"class": "number"}, f"{step.seconds:.2f} s"),
            element("td", {"class": "track"}, bar),
        )


def trace_section(steps: Sequence[TimelineStep]) -> Element | None:
    """The recorded steps with a field that filters them; nothing where no trace was kept."""
    if not steps:
        return None
    field = element(
        "input", {"type": "search", "id": "search", "placeholder": "words in a step", "autocomplete": "off"}
    )
    return element(
        "section",
        {"id": "trace"},
        element("h2", None, "Trace"),
        element("p", {"class": "search"}, element("label", {"for": "search"}, "Find a step: "), field),
        element("p", {"id": "found", "role": "status"}),
        *map(_step, steps),
    )


def _step(step: TimelineStep) -> Element:
    title = element(
        "summary",
        None,
        element("code", None, step.id),
        f" {step.description} ",
        element("small", None, f"{step.seconds:.2f} s"),
    )
    details = "\n".join(step.details)
    return element("details", {"class": "step"}, title, element("pre", None, details) if details else None)
