"""Runs that are over: what they did, finishing an interrupted one, undoing a kept one, forgetting old ones."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from selfdebug.errors import InputError, UsageError
from selfdebug.workspace.closed import add_closed, closed_runs, replace_closed
from selfdebug.workspace.errors import ChangedMeanwhileError, GitRefusedError, ReferenceLockedError, shown
from selfdebug.workspace.folder import Folder
from selfdebug.workspace.journal import RunState, Undoing
from selfdebug.workspace.open_run import end_restored
from selfdebug.workspace.project import Project
from selfdebug.workspace.records import Conflict, JournalRun, Recovery, RollBack, RunStatus, Undo
from selfdebug.workspace.run_folder import RUNS_NAME, RunFolder, digest, opened_run, run_ids

_REMEMBERED = 50  # how many ended runs can still be undone


def states(state: Folder) -> dict[str, RunState]:
    """What each journal says, oldest run first; folders without a readable journal are left out."""
    return _read(state, run_ids(state))


def _read(state: Folder, wanted: Iterable[str]) -> dict[str, RunState]:
    found: dict[str, RunState] = {}
    for run_id in wanted:
        with contextlib.suppress(OSError), opened_run(state, run_id) as run:
            if run.state.run_id:
                found[run_id] = run.state
    return dict(sorted(found.items(), key=lambda item: item[1].started))


def unfinished(state: Folder) -> list[str]:
    """The ids of runs whose files may not be as they should, newest first."""
    return _unfinished(_read(state, run_ids(state) - closed_runs(state).keys()))


def _unfinished(known: dict[str, RunState]) -> list[str]:
    return [run_id for run_id, run in reversed(known.items()) if run.status.is_unfinished]


def history(state: Folder) -> tuple[JournalRun, ...]:
    """Every remembered run, oldest first."""
    runs = f"{state.place}/{RUNS_NAME}"
    return tuple(run.summary(run_id, f"{runs}/{run_id}") for run_id, run in states(state).items())


def finish(project: Project, state: Folder, run_id: str) -> Recovery:
    """Put the files of an interrupted run back. Raises OSError where the journal cannot be read or written."""
    with opened_run(state, run_id) as run:
        status = RunStatus.UNDONE if run.state.status is RunStatus.UNDOING else RunStatus.ROLLED_BACK
        result = end_restored(project, run, status, by_recovery=True)
    conflicts = (*result.conflicts, *result.pending)
    return Recovery(run_id, result.restored, conflicts, _recovery_sentence(run_id, result))


def undo(project: Project, state: Folder, run_id: str | None) -> Undo:
    """Put the files of a kept run back to what they were before it, unless anybody has changed one since.

    Raises UsageError where there is no such run, ChangedMeanwhileError that names the saved copies, OSError.
    """
    chosen = _kept_run(states(state), run_id)
    with opened_run(state, chosen) as run:
        changed = [conflict for file in run.state.final if (conflict := _changed_since(project, run, file))]
        if changed:
            raise ChangedMeanwhileError(
                f"Run {chosen} is not undone, because files have been changed since: {_listed(changed)}.",
                [conflict.copy for conflict in changed],
            )
        replace_closed(state, {name: began for name, began in closed_runs(state).items() if name != chosen})
        run.note(Undoing(time.time()))
        result = end_restored(project, run, RunStatus.UNDONE, by_recovery=False)
    conflicts = (*result.conflicts, *result.pending)
    return Undo(chosen, result.restored, conflicts, _undo_sentence(chosen, result))


def tidy(project: Project, state: Folder, current: str) -> list[str]:
    """Forget the oldest ended runs beyond the remembered ones, and folders in which no run ever began.

    Returns the unfinished runs, newest first; where there are some, nothing is forgotten.
    """
    closed, there = closed_runs(state), run_ids(state)
    others = _read(state, there - closed.keys())
    left = _unfinished(others)
    if left:
        return left
    ended = {run_id: run.started for run_id, run in others.items()}
    add_closed(state, ended)
    began = {run_id: at for run_id, at in {**closed, **ended}.items() if run_id in there}
    oldest = sorted(began, key=began.__getitem__)[: max(0, len(began) - _REMEMBERED)]
    for run_id in {*oldest, *(there - began.keys())} - {current}:
        if _is_forgotten(project, state, run_id):
            began.pop(run_id, None)
    if len(closed) > 2 * _REMEMBERED:
        replace_closed(state, began)
    return []


def _is_forgotten(project: Project, state: Folder, run_id: str) -> bool:
    """Forget a run; one whose reference is locked or whose folder cannot be removed is left to the next time."""
    try:
        with opened_run(state, run_id) as run:
            if not run.state.run_id or run.state.reference is not None:
                _release(project, run_id)
            run.clear()
        with state.enter(RUNS_NAME) as runs:
            runs.remove_folder(run_id)
    except (OSError, ReferenceLockedError):
        return False
    return True


def _release(project: Project, run_id: str) -> None:
    try:
        project.git().release(run_id)
    except ReferenceLockedError:
        raise
    except GitRefusedError:
        return  # there is no repository any more


def _kept_run(known: dict[str, RunState], run_id: str | None) -> str:
    if run_id is None:
        kept = [name for name, run in known.items() if run.status is RunStatus.KEPT and run.final]
        if not kept:
            raise UsageError("There is no kept run to undo in this project.")
        return kept[-1]
    run = known.get(run_id)
    if run is None:
        raise UsageError(f"There is no run {run_id!r} in this project.")
    if run.status is not RunStatus.KEPT:
        raise UsageError(f"Run {run_id} kept nothing that could be undone: it is {run.status.value}.")
    return run_id


def _changed_since(project: Project, run: RunFolder, file: str) -> Conflict | None:
    saved = run.state.saved.get(file)
    if saved is None:
        return None
    try:
        place, content = project.read(file)
        now = digest(content.data) if place.file == file else None
    except InputError:
        now = None
    if now in (run.state.final[file], saved.sha):
        return None
    return Conflict(file, run.state.place_of(saved, run.path), "changed since")


def _listed(conflicts: list[Conflict] | tuple[Conflict, ...]) -> str:
    return "; ".join(f"{shown(item.file)} (its bytes from before the run are in {item.copy})" for item in conflicts)


def _recovery_sentence(run_id: str, result: RollBack) -> str:
    done = ", ".join(map(shown, result.restored)) or "nothing had to be"
    verb = "put back" if result.restored else "put back, every file is as before"
    return f"Run {run_id} had been interrupted: {done} {verb}.{_rest(result)}"


def _undo_sentence(run_id: str, result: RollBack) -> str:
    done = ", ".join(map(shown, result.restored)) or "no file"
    return f"Run {run_id} is undone: {done} put back.{_rest(result)}"


def _rest(result: RollBack) -> str:
    left = "".join(
        f" {shown(item.file)} was left as it is: {item.reason}; its former bytes are in {item.copy}."
        for item in result.conflicts
    )
    return left + "".join(
        f" {shown(item.file)} could not be put back yet: {item.reason}; its former bytes are in {item.copy}."
        for item in result.pending
    )
