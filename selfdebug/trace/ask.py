"""Asking a store: which run is meant, whether the caller may see it, and the answer. Nothing is ever run or changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import QUERIES, Answer
from selfdebug.trace.queries.base import RUN_ID, Arguments, nearest
from selfdebug.trace.records import Check, Finding, Run, Step, ToolCall, Trace
from selfdebug.trace.store import Store, TraceStoreError

NOTHING_YET = (
    "No completed run is recorded here yet, so there is nothing to ask about; a run becomes evidence when it ends."
)


def ask(folder: Path, name: str, arguments: Arguments, owner: Owner) -> Answer:
    """Answer one query from the store in the state folder `folder`, for a caller.

    `arguments` may hold `run_id`. Every outcome is an answer: an unknown query, argument, run or step, a store that
    cannot be read, no run yet.
    """
    query = QUERIES.get(name)
    if query is None:
        near = nearest(name, QUERIES)
        return Answer((f"There is no query {name!r}; known are {', '.join(QUERIES)}.",), {"nearest": near}, found=False)
    given = dict(arguments)
    run_id = given.pop(RUN_ID, None)
    checked = query.checked(given)
    if isinstance(checked, str):
        return Answer((checked,), found=False)
    trace = load(folder, owner, run_id)
    if isinstance(trace, Answer):
        return trace
    values, notes = checked
    answer = query.answer(trace, values)
    return replace(answer, run=trace.run, notes=(*answer.notes, *notes))


def load(folder: Path, owner: Owner, run_id: Any = None) -> Trace | Answer:
    """The trace of the run that the caller means, or the sentence why there is none."""
    try:
        store = Store.open(folder)
        if store is None:
            return Answer((NOTHING_YET,), found=False)
        with store:
            store.close_abandoned()
            run = _chosen(store, owner, run_id)
            if isinstance(run, Answer):
                return run
            store.touch(run.id)
            return _trace(store, run)
    except TraceStoreError as error:
        return Answer((str(error),), found=False)


def visible(store: Store, owner: Owner, limit: int = 1) -> list[Run]:
    """The completed runs of a caller, the one that ended last first, behind them those that only looked."""
    return store.completed(owner.session, limit=limit)


def _chosen(store: Store, owner: Owner, run_id: Any) -> Run | Answer:
    if not run_id:
        newest = visible(store, owner)
        return newest[0] if newest else Answer((NOTHING_YET,), found=False)
    run = store.find(str(run_id))
    if run is None or not owner.sees(run):
        near = nearest(str(run_id), [own.id for own in visible(store, owner, limit=100)])
        hint = f" Yours are {', '.join(near)}." if near else ""
        return Answer((f"There is no run {run_id!r} of yours.{hint}",), {"nearest": near}, found=False)
    if run.status is None:
        return Answer((f"The run {run.id} still goes on; it becomes evidence when it ends.",), found=False)
    return run


def _trace(store: Store, run: Run) -> Trace:
    rows, notes = store.events(run.id)
    inner, more = store.inner(run.id)
    events = [event for _, event in rows]
    return Trace(
        run,
        tuple(sorted((event for event in events if isinstance(event, Step)), key=lambda step: step.number)),
        tuple(event for event in events if isinstance(event, ToolCall)),
        tuple(event for event in events if isinstance(event, Finding)),
        tuple(event for event in events if isinstance(event, Check)),
        inner,
        (*notes, *more),
    )
