"""What the store keeps: bounded numbers of sessions, of runs in each and of one-shots, bounded age and size.

What was used least recently goes first, and reading counts as use. A run that still goes on is never taken away.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

from selfdebug.trace.records import Run
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import Store

DAY = 24 * 3600.0
MEGABYTE = 1_000_000


def make_room(store: Store, coming: Run, settings: TraceSettings) -> None:
    """Close abandoned runs and evict what the bounds no longer allow once `coming` is filed. Raises TraceStoreError."""
    store.close_abandoned()
    doomed = evicted(store.runs(), settings, time.time(), coming)
    _delete(store, doomed)
    _shrink(store, settings)


def prune(store: Store, settings: TraceSettings, days: int | None = None) -> int:
    """Evict what the bounds do not allow, and all that is older than `days`; returns how many runs went."""
    store.close_abandoned()
    if days is not None:
        settings = replace(settings, max_age=min(days, settings.max_age))
    doomed = evicted(store.runs(), settings, time.time())
    _delete(store, doomed)
    count = len(doomed) + _shrink(store, settings)
    store.compact()
    return count


def evicted(runs: list[Run], settings: TraceSettings, now: float, coming: Run | None = None) -> list[Run]:
    """The runs that have to go; `runs` is ordered from the least to the most recently used."""
    doomed = [run for run in runs if run.ended is not None and now - run.ended > settings.max_age * DAY]
    left = [run for run in runs if run not in doomed]
    shelf = [run for run in left if run.shelf == "one-shot"]
    doomed += _surplus(shelf, settings.one_shots - (coming is not None and coming.shelf == "one-shot"))

    sessions: dict[str | None, list[Run]] = defaultdict(list)
    for run in left:
        if run.shelf == "session":
            sessions[run.session] = [*sessions.pop(run.session, []), run]  # the last to be used ends up last
    own = coming.session if coming is not None and coming.shelf == "session" else None
    is_new = coming is not None and coming.shelf == "session" and own not in sessions
    surplus = len(sessions) + is_new - settings.sessions
    for session, owned in sessions.items():
        running = any(run.status is None for run in owned)
        coming_here = coming is not None and coming.shelf == "session" and session == own
        if surplus > 0 and not running and not coming_here:
            surplus -= 1
            doomed += owned
        else:
            doomed += _surplus(owned, settings.runs - coming_here)
    return doomed


def _surplus(runs: list[Run], bound: int) -> list[Run]:
    finished = [run for run in runs if run.status is not None]
    return finished[: max(0, len(runs) - bound)]


def _shrink(store: Store, settings: TraceSettings) -> int:
    """Delete the least recently used finished runs until the store is small enough; returns how many went."""
    count = 0
    limit = settings.max_size * MEGABYTE
    if store.size() <= limit:
        return 0
    for run in store.runs():
        if run.status is None:
            continue
        store.delete(run.id)
        count += 1
        if store.size() <= limit:
            break
    return count


def _delete(store: Store, runs: list[Run]) -> None:
    for run in runs:
        store.delete(run.id)
