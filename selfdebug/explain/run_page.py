"""A past run as a page: its document and the steps that its trace kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selfdebug.errors import InputError
from selfdebug.reports.page import TimelineStep, page
from selfdebug.trace.ask import load
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries.base import Answer
from selfdebug.trace.records import Step, Write
from selfdebug.trace.store import Store, TraceStoreError

_PREVIEW = 400
"""Characters of a written value that the page shows."""


def run_page(state_dir: Path, owner: Owner, run_id: str | None) -> bytes:
    """The page of a completed run of the caller, by default of the one that ended last.

    Raises InputError where there is no such run or no readable document of it.
    """
    trace = load(state_dir, owner, run_id)
    if isinstance(trace, Answer):
        raise InputError(" ".join(trace.lines))
    document = _document(state_dir, trace.run.id)
    if document is None:
        raise InputError(
            f"No report of run {trace.run.id} was kept: it was killed, or its settings leave values out of the record. "
            "The trace can be asked all the same: selfdebug explain."
        )
    try:
        return page(document, [_timeline_step(step) for step in trace.steps])
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a document of another version or hand
        raise InputError(f"The report of run {trace.run.id} is not of a form known here: {error!r}.") from error


def _document(state_dir: Path, run_id: str) -> dict[str, Any] | None:
    store = Store.open(state_dir)
    if store is None:
        return None
    try:
        with store:
            return store.report(run_id)
    except TraceStoreError as error:
        raise InputError(str(error)) from error


def _timeline_step(step: Step) -> TimelineStep:
    return TimelineStep(step.id, step.stage, step.description, step.started, step.seconds or 0.0, tuple(_details(step)))


def _details(step: Step) -> Iterator[str]:
    if step.rule:
        yield f"rule: {step.rule}"
    if step.because:
        yield f"because of: {step.because}"
    for read in step.reads:
        yield f"read {read.key}" + (f" (written by {', '.join(read.writers)})" if read.writers else "")
    yield from map(_written, step.writes)
    yield from (f"error: {error}" for error in step.errors)
    yield from (f"not tracked: {source}" for source in step.untracked)
    yield from (f"pytest: {call}" for call in step.calls)


def _written(write: Write) -> str:
    text = write.value if isinstance(write.value, str) else json.dumps(write.value, ensure_ascii=False)
    marks = [
        mark for mark, holds in (("cut", len(text) > _PREVIEW or write.cut), ("redacted", write.redacted)) if holds
    ]
    marked = f" [{', '.join(marks)}]" if marks else ""
    return f"{write.verb} {write.key} = {text[:_PREVIEW]}{marked}"
