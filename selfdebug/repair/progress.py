"""Whether a trial that does not make its test pass has come nearer: it moved the crash to another place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from selfdebug.model import Failure, Trial
from selfdebug.repair.grouping import Group
from selfdebug.stages.validate import is_same_crash


def progress(trials: Sequence[Trial], group: Group) -> Trial | None:
    """The likeliest trial that moved the crash elsewhere in the project, so that a second guard may finish the work.

    A crash about the class of the default itself is a consequence of the guard: where that is None a second guard may
    be what it takes, so such trials come last; any other default was a wrong guess.
    """
    moved = [trial for trial in trials if trial.next_failure is not None and _has_moved(trial.next_failure, group)]
    hopeful = [trial for trial in moved if trial.candidate.default == "None" or not _blames_default(trial)]
    return min(hopeful, key=_blames_default, default=None)


def _has_moved(new: Failure, group: Group) -> bool:
    is_crash = new.deepest is not None and new.deepest is new.deepest_source
    is_new = not any(is_same_crash(old, new) for old in group)
    return is_crash and is_new and new.exception.short_type != "AssertionError"


def _blames_default(trial: Trial) -> bool:
    default = trial.candidate.default
    if default is None or trial.next_failure is None:
        return False
    try:
        name = type(ast.literal_eval(default)).__name__
    except (ValueError, SyntaxError):
        return False
    return f"'{name}'" in trial.next_failure.exception.message or f'"{name}"' in trial.next_failure.exception.message
