"""What a proposal is made from, and what it asks of the guards."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from codemods.selfdebug.base import Guard, Test
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultLocation, Observation, Site
from selfdebug.stages.propose.defaults import Default
from selfdebug.stages.propose.expectations import Expectations
from selfdebug.stages.propose.mine import Mine


class Sign(StrEnum):
    """Why a value should not be None where it is handed on, as it is said of a candidate."""

    DECLARED = "declared without None"
    TAKEN_FOR_GRANTED = "several methods use it without asking"
    LIKE_OTHERS = "other parameters of the function get their defaults there"
    HAS_DEFAULT = "there is a default of its name"


@dataclass(frozen=True, slots=True)
class LocatedSite:
    """A place that may be guarded: how it relates to the crash, where it is, and its parsed file.

    `signs` are of a place where the bad value was handed on: what tells that a default belongs there.
    """

    site: Site
    location: FaultLocation
    source: Source
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the failure apart from its place."""

    exception: ExceptionRecord
    observations: tuple[Observation, ...]
    wanted: Expectations
    mine: Mine = field(default_factory=Mine)


@dataclass(frozen=True, slots=True)
class Order:
    """One guard with its parameters, and how late it is to be tried (see `ranking`).

    `donor` names the place of the project that does the same where such a thing is missing.
    """

    guard: Guard
    test: Test
    classes: tuple[str, ...]
    default: Default | None
    cost: int
    donor: str | None = None
