"""The story of a run for a person: what failed, where the value came from, what was tried, what is left."""

from __future__ import annotations

from collections.abc import Iterator

from selfdebug.explain import answers
from selfdebug.explain.facts import Facts
from selfdebug.explain.wording import doubts, how_it_ended
from selfdebug.trace.queries.base import Answer
from selfdebug.trace.records import Trace


def story(trace: Trace) -> Answer:
    """The whole run in paragraphs, each claim with its step."""
    facts = Facts(trace)
    lines = list(_parts(facts))
    lines.extend(doubts(facts, lines))
    return Answer(tuple(lines), {"sentences": lines}, run=trace.run)


def _parts(facts: Facts) -> Iterator[str]:
    yield f"Run {facts.trace.run.id} {how_it_ended(facts)}."
    yield "What failed"
    yield from _indented(answers.what_happened(facts, ""))
    if facts.get("location.file"):
        yield "Where"
        yield from _indented(answers.why_file(facts, ""))
    if facts.get("origin.chain"):
        yield "Where the value came from"
        yield from _indented(answers.where_from(facts, ""))
    if facts.trials or facts.get("refusals"):
        yield "What I tried"
        yield from _indented(answers.what_tried(facts, ""))
    if facts.get("rollback.reason") or facts.trace.run.status in ("crashed", "interrupted"):
        yield "Why nothing was kept"
        yield from _indented(answers.why_rolled_back(facts, ""))
    elif facts.kept:
        yield "What I kept"
        yield from _indented(answers.what_changed(facts, ""))
        yield "What the tests hold of it"
        yield from _indented(answers.is_it_safe(facts, ""))
    yield "What it took"
    yield from _indented(answers.how_long(facts, ""))


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
