"""What a person is asked who chooses among plausible patches (`--ask`), and what can be answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from selfdebug.model import Diagnosis, Firing, Pin, Trial


@dataclass(frozen=True, slots=True)
class Option:
    """One plausible patch with its evidence; `sentence` says in what it differs from the first option."""

    trial: Trial
    pins: tuple[Pin, ...]
    firings: tuple[Firing, ...] | None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """The patches that make the failing tests of one diagnosis pass, the recommended one first.

    `note` says what came of an answer that was given before, such as a patch that breaks another test.
    """

    diagnosis: Diagnosis
    options: tuple[Option, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Take:
    """Keep the option of this index; with `for_all`, take the recommended one from now on without asking."""

    index: int
    for_all: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave this failure as it is and go on with the next."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run; what was taken before is kept."""


Answer = Take | Skip | Stop
Chooser = Callable[[Question], Answer]
