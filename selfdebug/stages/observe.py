"""Look at the running program: probes go in, the tests run again from memory, and what was seen is put in order.

No file is touched: the probed sources are served to the tests' interpreter, so removing a probe is forgetting it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe import Probed, probe
from selfdebug.model import Caught, FaultLocation, Observation, Place, ProbeCatch, ProbeHit, PytestRun

_Probes = list[tuple[FaultLocation, Probed]]

Runner = Callable[[Mapping[str, bytes]], PytestRun]
"""Runs the failing tests with these sources in place of the files of those names, recording probes."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one probed run showed. `refused` names the locations that could not be probed, each with its reason."""

    run: PytestRun
    observations: tuple[Observation, ...]
    caught: tuple[Caught, ...]
    refused: tuple[str, ...] = ()


def observe(locations: Sequence[FaultLocation], sources: Mapping[str, bytes], run: Runner) -> Observed:
    """Probe the statements of `locations` in `sources` (bytes by file) and run the tests once."""
    probes, served, refused = _probes(locations, sources)
    seen = run(served)
    return Observed(seen, _observations(probes, seen), _caught(probes, seen), refused)


def observe_elsewhere(
    locations: Sequence[FaultLocation],
    sources: Mapping[str, bytes],
    run: Callable[[Mapping[str, bytes]], PytestRun | None],
) -> tuple[Observation, ...]:
    """What the expressions of `locations` were where nothing failed: of each one value of every class.

    `run` runs other tests, which pass; nothing is known where it gives None.
    """
    probes, served, _ = _probes(locations, sources)
    seen = run(served) if probes else None
    if seen is None:
        return ()
    worked = (each for each in _observations(probes, seen) if not each.in_failure and each.node_id in seen.passed)
    return tuple({(each.file, each.span, each.value.type): each for each in worked}.values())


def _probes(
    locations: Sequence[FaultLocation], sources: Mapping[str, bytes]
) -> tuple[_Probes, dict[str, bytes], tuple[str, ...]]:
    """The probes, the files that they are in, and why some are not there."""
    probed, refused = dict(sources), []
    probes: _Probes = []
    # Bottom-up, so that the lines a probe adds do not move the statements that are still to be probed.
    for location in sorted(_apart(locations), key=lambda found: (found.file, -found.statement.start_line)):
        first_id = 1 + sum(1 + len(done.expressions) for _, done in probes)
        try:
            done = probe(probed[location.file], location.statement, first_id)
        except (RefusedError, TargetNotFoundError) as error:
            refused.append(f"{location.file}:{location.line} is not probed: {error}")
            continue
        probes.append((location, done))
        probed[location.file] = done.source
    touched = {location.file for location, _ in probes}
    return probes, {file: data for file, data in probed.items() if file in touched}, tuple(refused)


def _apart(locations: Sequence[FaultLocation]) -> list[FaultLocation]:
    """The locations without those whose statement overlaps one that is probed already (a recursive call, say)."""
    apart: list[FaultLocation] = []
    for location in locations:
        if not any(other.file == location.file and _overlap(other, location) for other in apart):
            apart.append(location)
    return apart


def _overlap(one: FaultLocation, other: FaultLocation) -> bool:
    return one.statement.start_line <= other.statement.end_line and other.statement.start_line <= one.statement.end_line


def with_observed_first(location: FaultLocation, observations: Sequence[Observation]) -> FaultLocation:
    """The location with its receivers ordered by what they held when the statement raised.

    A receiver that is known to have held something else than None is dropped for a fault about None, unless that would
    leave none at all.
    """
    if not location.kind.is_none:
        return location
    bad, unknown = [], []
    for receiver in location.receivers:
        values = [seen.value for seen in observations if seen.in_failure and seen.is_of(location, receiver)]
        if any(value.is_none for value in values):
            bad.append(replace(receiver, evidence="value"))
        elif not values:
            unknown.append(receiver)
    return replace(location, receivers=tuple(bad + unknown) or location.receivers)


def _observations(probes: list[tuple[FaultLocation, Probed]], run: PytestRun) -> tuple[Observation, ...]:
    found: list[Observation] = []
    for location, done in probes:
        expressions = {expression.id: expression for expression in done.expressions}
        hits = [hit for hit in run.hits if hit.id in expressions]
        failing = _in_failure(hits, _catches(location, done, probes, run))
        found.extend(
            Observation(
                hit.node_id,
                location.file,
                expressions[hit.id].code,
                expressions[hit.id].span,
                hit.value,
                hit.sequence,
                hit.sequence in failing,
            )
            for hit in hits
        )
    return tuple(sorted(found, key=lambda observation: observation.sequence))


def _catches(
    location: FaultLocation, done: Probed, probes: Sequence[tuple[FaultLocation, Probed]], run: PytestRun
) -> list[ProbeCatch]:
    """What a statement raised; where it never did, what those of its function raised to which it led."""
    own = [catch for catch in run.catches if catch.id == done.id]
    led_to = {
        other.id
        for at, other in probes
        if (at.file, at.function) == (location.file, location.function) and other != done
    }
    return own or [catch for catch in run.catches if catch.id in led_to]


def _in_failure(hits: Sequence[ProbeHit], catches: Sequence[ProbeCatch]) -> frozenset[int]:
    """The sequence numbers of the hits that belong to an evaluation that raised.

    One evaluation of a statement meets each expression once, so going back from the exception the evaluation ends
    where an expression comes up a second time (in a comprehension: at the element that raised).
    """
    failing: set[int] = set()
    for catch in catches:
        met: set[int] = set()
        for hit in reversed([hit for hit in hits if hit.sequence < catch.sequence and hit.node_id == catch.node_id]):
            if hit.id in met:
                break
            met.add(hit.id)
            failing.add(hit.sequence)
    return frozenset(failing)


def _caught(probes: list[tuple[FaultLocation, Probed]], run: PytestRun) -> tuple[Caught, ...]:
    places = {done.id: Place(location.file, location.line, location.function) for location, done in probes}
    return tuple(
        Caught(catch.node_id, places[catch.id], catch.exception, catch.locals)
        for catch in run.catches
        if catch.id in places
    )
