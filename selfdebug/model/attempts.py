"""One turn of the loop, and what is known of the patch that it kept: pins, firings, alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from selfdebug.model.candidates import Patch, Trial
from selfdebug.model.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class Pin:
    """A part of a kept patch and whether any test notices when it changes.

    `suggestion` is an assertion that would hold the part, or what is to be asserted where no call of it is known.
    """

    part: str
    pinned: bool
    sentence: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """How often the guard of a kept patch was come to in one test, and how often it acted there.

    `is_cut` says that it was more often, and that only the first and the last times were looked at. The attempt has
    None in place of these where nobody counted.
    """

    node_id: str
    acted: int
    reached: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another patch that the same tests accept; `sentence` says in what it differs from the kept one.

    `is_same` says that no test showed a difference in what the edited functions do.
    """

    patch: Patch
    sentence: str
    is_same: bool


class Declined(StrEnum):
    """What a person said who was shown plausible patches and took none."""

    SKIPPED = "skipped"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One turn of the loop: a diagnosis, its trials, and the patch that was kept for the next turn, if any.

    `is_complete` says that there is no further candidate, `leads_on` that the guard of the turn before has only moved
    the crash on to a further place.
    """

    number: int
    diagnosis: Diagnosis
    trials: tuple[Trial, ...]
    kept: Patch | None
    pins: tuple[Pin, ...] = ()
    firings: tuple[Firing, ...] | None = None
    alternatives: tuple[Alternative, ...] = ()
    declined: Declined | None = None
    is_complete: bool = False
    leads_on: bool = False
