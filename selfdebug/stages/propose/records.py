"""What a proposal is made from, and what it asks of the guards."""

from __future__ import annotations

from dataclasses import dataclass, field

from codemods.selfdebug.base import Guard, Test
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultLocation, Observation, Site
from selfdebug.stages.propose.defaults import Default
from selfdebug.stages.propose.expectations import Expectations
from selfdebug.stages.propose.mine import Mine


@dataclass(frozen=True, slots=True)
class LocatedSite:
    """A place that may be guarded: how it relates to the crash, where it is, and its parsed file."""

    site: Site
    location: FaultLocation
    source: Source


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
