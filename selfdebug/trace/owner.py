"""Whose run it is: the session a caller names, or none, or a caller that can never come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from selfdebug.errors import UsageError
from selfdebug.trace.records import Run

SESSION_VARIABLE = "SELFDEBUG_SESSION"
ONE_SHOT_VARIABLE = "SELFDEBUG_ONE_SHOT"
MAX_SESSION = 200


@dataclass(frozen=True, slots=True)
class Owner:
    """Who files runs and asks about them. `one_shot`: nobody can ask later but by the id of the run."""

    session: str | None = None
    one_shot: bool = False

    @property
    def shelf(self) -> str:
        """Where the runs are kept: those of a caller that can never come back stand apart."""
        return "one-shot" if self.one_shot else "session"

    def sees(self, run: Run) -> bool:
        """Whether the run may be answered about: a session's own, or, without a session, what belongs to none."""
        return run.session == self.session and (run.shelf == "session" or self.session is None)


def owner_of(session: str | None, environ: Mapping[str, str]) -> Owner:
    """The owner that an option names, else the environment (SELFDEBUG_SESSION, SELFDEBUG_ONE_SHOT).

    Raises UsageError for an id of a session that is too long or not printable.
    """
    chosen = session or environ.get(SESSION_VARIABLE) or None
    if chosen is not None and (len(chosen) > MAX_SESSION or not chosen.isprintable() or not chosen.strip()):
        raise UsageError(f"A session is named by up to {MAX_SESSION} printable characters.")
    one_shot = chosen is None and environ.get(ONE_SHOT_VARIABLE, "") not in ("", "0")
    return Owner(chosen, one_shot)
