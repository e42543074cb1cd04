"""What failed, where, and where its value came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selfdebug.explain.facts import Fact, Facts
from selfdebug.explain.subject import asked_name
from selfdebug.explain.wording import MAX_LISTED, exception_text, how_it_ended, inline
from selfdebug.terminal import counted
from selfdebug.trace.queries.base import cut, shown

NOT_IN_TRACE = "That is not in the trace"


def what_happened(facts: Facts, _question: str) -> Iterator[str]:
    """What failed and how it ended."""
    failures, exception = facts.get("failures.count"), facts.get("failure.exception")
    node = facts.get("failure.node_id")
    if exception:
        which = f"{node.value} " if node else ""
        count = f"; {failures.value} failures in all" if failures and failures.value != 1 else ""
        yield f"{which}failed with {exception_text(exception.value)} [{exception.step}]{count}."
    elif failures:
        yield f"The failures that were read: {failures.value} [{failures.step}]."
    diagnosis = facts.get("diagnosis.sentence")
    if diagnosis:
        yield f"{inline(diagnosis.value)} [{diagnosis.step}]."
    result = facts.get("result.sentence")
    if result:
        yield f"{inline(result.value)} [{result.step}]."
    else:
        yield f"The run {how_it_ended(facts)}."


def why_file(facts: Facts, question: str) -> Iterator[str]:
    """Why this file: the frame that was chosen and the expression that can have raised."""
    file, line = facts.get("location.file"), facts.get("location.line")
    if file is None:
        frame = facts.get("failure.frames")
        known = f"; the frames of the failure are in {frame.step}" if frame else ""
        yield f"I located no file in this run{known}."
        yield from what_happened(facts, question)
        return
    function = facts.get("location.function")
    where = f"{file.value}:{line.value if line else '?'}" + (f" in {function.value}" if function else "")
    receiver, evidence = facts.get("location.receiver"), facts.get("location.evidence")
    yield f"I worked on {where}, because the deepest frame of the traceback inside the project is there [{file.step}]."
    if receiver:
        by = evidence.value if evidence else "the message"
        yield f"The expression that raised is {receiver.value}, told by {by} [{receiver.step}]."
    exception = facts.get("failure.exception")
    if exception:
        yield f"The exception was {exception_text(exception.value)} [{exception.step}]."
    patched, candidate = facts.get("patch.file"), facts.get("patch.candidate")
    if patched and candidate:
        site = candidate.value.get("site") if isinstance(candidate.value, dict) else None
        if patched.value == file.value:
            yield f"The patch is in the same file, at the {site} [{patched.step}]."
        else:
            why = inline(candidate.value.get("reason"))
            yield f"The patch went to {patched.value}, at the {site}: {why} [{patched.step}]."


def where_from(facts: Facts, question: str) -> Iterator[str]:
    """Where a value came from: the observed chain, from the receiver to its birth."""
    asked = asked_name(facts, question)
    receivers = list(dict.fromkeys(str(value) for value in facts.values("location.receiver")))
    if asked is None and not receivers:
        yield f"{NOT_IN_TRACE}: I located no value in this run."
    for name in [asked] if asked else receivers[:3]:
        yield from _way_of(facts, name)


def _way_of(facts: Facts, asked: str) -> Iterator[str]:
    seen = facts.get(f"observation.{asked}")
    if seen:
        yield f"I saw {asked} as {cut(shown(_failing(seen)), 200)} [{seen.step}]."
    links, step = _links(facts, asked)
    if step is None:
        chain = facts.get("origin.chain")
        if chain and not chain.value:
            yield f"I could not follow where {asked} came from [{chain.step}]."
        else:
            yield f"{NOT_IN_TRACE}: no origin of {asked!r} was recorded."
            yield "What is set outside the traced run cannot be known from it."
        return
    yield f"Backwards from the crash, {asked} came this way [{step}]:"
    for number, link in enumerate(links[:MAX_LISTED], 1):
        value = f" = {inline(link['value'])}" if link.get("value") else ""
        yield (
            f"{number}. {link.get('place')} in {link.get('function')}: {inline(link.get('code'))}{value}: "
            f"{inline(link.get('sentence'))} ({link.get('evidence')})"
        )
    if len(links) > MAX_LISTED:
        yield f"{counted(len(links) - MAX_LISTED, 'more link')}: get_value(step={step}, key=origin.chain)."
    if links:
        birth = links[-1]
        yield f"It was born at {birth.get('place')} in {birth.get('function')} [{step}]; before that the trace ends."
        if any(link.get("evidence") != "observed" for link in links):
            yield "Links marked otherwise than observed were read from the code, not seen."


def _failing(fact: Fact) -> Any:
    values = fact.value if isinstance(fact.value, list) else [fact.value]
    bad = [item["value"] for item in values if isinstance(item, dict) and item.get("raised") and "value" in item]
    return bad[0] if bad else values[:3]


def _links(facts: Facts, asked: str) -> tuple[list[dict[str, Any]], str | None]:
    """The chain that tells of the name: from the first link that mentions it; the whole one for the receiver itself."""
    word = re.compile(rf"(?<![\w.]){re.escape(asked)}(?!\w)")
    for step in reversed(facts.trace.steps):
        for write in step.writes:
            if write.key != "origin.chain" or not isinstance(write.value, list):
                continue
            links = [link for link in write.value if isinstance(link, dict)]
            if links and facts.as_of("location.receiver", step) == asked:
                return links, step.id
            for index, link in enumerate(links):
                if word.search(f"{link.get('code')} {link.get('sentence')}"):
                    return links[index:], step.id
    return [], None
