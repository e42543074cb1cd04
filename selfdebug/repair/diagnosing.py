"""From the failures of a group to what went wrong: the places on the way to the crash, and what was seen there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from selfdebug.model import Diagnosis, ExceptionRecord, Failure, FaultKind, FaultLocation, Frame, Site
from selfdebug.paths import is_test_file
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import MAX_SCREENED, Group, node_ids
from selfdebug.repair.hints import raised_where
from selfdebug.repair.origins import traced_origin, traced_run
from selfdebug.stages.diagnose import diagnose
from selfdebug.stages.locate import MISTAKES, Unlocated, locate, locate_call
from selfdebug.stages.locate.turned_away import deciding_condition, turned_away
from selfdebug.stages.observe import Observed, observe, observe_elsewhere, with_observed_first
from selfdebug.stages.propose import LocatedSite
from selfdebug.trace import mapping as record

_MAX_CALLERS = 2
_MAX_CAUSES = 2
_MAX_HANDLERS = 3
_MAX_BESIDE, _MAX_SECONDS_BESIDE = 100, 3.0
"""So many passing tests, and so many seconds of them, show what the values at the crash are where it works."""
_MAX_FOLLOWED_IN_VAIN = 3
"""After so many values that a test complains of and that did not lead into the project, no more are followed: each
costs a traced run, and a suite may have hundreds of such failures with one cause."""


@dataclass(frozen=True, slots=True)
class Case:
    """Failures with one cause, what is known of it, and the places on the way to the crash (the crash first).

    There are no places where a test complains of a value: then only the way of that value leads into the project.
    """

    group: Group
    places: tuple[LocatedSite, ...]
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class NotDiagnosed:
    """The failure cannot be worked on; `sentence` says why."""

    sentence: str


def diagnosed(bench: Bench, group: Group, run_tests: bool = True) -> Case | NotDiagnosed:
    """What went wrong in the first failure of a group, with what a probed run saw (unless nothing may be run)."""
    failure = group[0]
    with bench.step("locate", f"locating {failure.crash.exception.short_type}") as step:
        places = _places(bench, failure)
        if isinstance(places, NotDiagnosed):
            step.describe(places.sentence)
            return (_of_a_test(bench, group) if run_tests and _may_follow(bench) else None) or places
        location = places[0].location
        record.selected(step, failure, _frame_of(failure, location))
        record.located(step, location)
    if not run_tests:
        return Case(group, places, diagnose(failure, location, (), (), ()))
    bench.prepare_screening(group[:MAX_SCREENED], node_ids(group))
    with bench.step("probe", f"probing {location.file}:{location.line}") as step:
        traced = traced_run(bench, failure)  # while the process starts that looks with probes
        seen = _observed(bench, group, places)
        record.observed(step, seen.observations, seen.caught, seen.refused)
    places = tuple(_as_seen(places, seen))
    bench.warnings.extend(seen.refused)
    if seen.run.ended and not seen.run.failures:
        return NotDiagnosed(
            f"{failure.node_id} failed once and passed when run again: the failure is flaky, nothing was changed."
        )
    location = with_observed_first(location, seen.observations)
    chain = traced_origin(bench, location, failure.node_id, traced)
    with bench.step("diagnose", "putting the evidence together") as step:
        diagnosis = diagnose(failure, location, seen.observations, seen.caught, chain)
        record.diagnosed(step, diagnosis)
    return Case(group, places, diagnosis)


def _may_follow(bench: Bench) -> bool:
    return bench.followed_in_vain < _MAX_FOLLOWED_IN_VAIN


def _of_a_test(bench: Bench, group: Group) -> Case | None:
    """What a test complains of, where the value that it got can be followed into the project."""
    failure = group[0]
    frame = failure.crash.deepest
    source = bench.source(frame.file) if frame is not None and frame.file is not None else ""
    if frame is None or isinstance(source, str):
        return None
    location = locate(frame, failure.crash.exception, source)
    if isinstance(location, Unlocated):
        return None
    chain = traced_origin(bench, location, failure.node_id, traced_run(bench, failure))
    if all(is_test_file(link.file) for link in chain):
        bench.followed_in_vain += 1
        return None
    with bench.step("diagnose", "putting the evidence together") as step:
        diagnosis = diagnose(failure, location, (), (), chain)
        record.diagnosed(step, diagnosis)
    return Case(group, (), diagnosis)


def _places(bench: Bench, failure: Failure) -> tuple[LocatedSite, ...] | NotDiagnosed:
    leaf = failure.crash
    frames = [frame for frame in reversed(leaf.project_frames) if bench.settings.include_tests or not frame.is_test]
    if leaf.deepest is None:
        return NotDiagnosed(f"{leaf.exception.short_type} of {failure.node_id} has no frame inside the project.")
    if not frames:
        return NotDiagnosed(
            f"{leaf.exception.short_type} is raised {raised_where(leaf)}; "
            "tests are never edited (--include-tests allows it)."
        )
    source = bench.source(frames[0].file or "")
    if isinstance(source, str):
        return NotDiagnosed(source)
    location = locate(frames[0], leaf.exception, source)
    if isinstance(location, Unlocated):
        return NotDiagnosed(location.reason)
    callers = _callers(bench, frames[1:], location)
    handlers = _handlers(bench, frames[1:], leaf.exception)
    is_deliberate = location.kind is FaultKind.DELIBERATE_RAISE
    causes = _causes(bench, leaf) if is_deliberate else ()
    condition = deciding_condition(location, source) if is_deliberate else None
    conditions = [LocatedSite(Site.CONDITION, condition, source)] if condition is not None else []
    return (LocatedSite(Site.CRASH, location, source), *causes, *callers, *handlers, *conditions)


def _as_seen(places: Sequence[LocatedSite], seen: Observed) -> Iterator[LocatedSite]:
    """The places, with what a condition turned away where one raises on purpose."""
    for place in places:
        if place.site is not Site.CONDITION:
            yield place
        elif (found := turned_away(place.location, seen.observations)) is not None:
            yield replace(place, location=found)


def _causes(bench: Bench, failure: Failure) -> Iterator[LocatedSite]:
    """Where the exceptions were raised that the last one was made of: behind a `raise` they are the real crash."""
    for cause in failure.causes[:_MAX_CAUSES]:
        frame = cause.deepest_source
        source = bench.source(frame.file or "") if frame is not None else ""
        if frame is None or isinstance(source, str):
            continue
        found = locate(frame, cause.exception, source)
        if not isinstance(found, Unlocated) and found.receivers:
            yield LocatedSite(Site.CRASH, found, source)


def _frame_of(failure: Failure, location: FaultLocation) -> Frame | None:
    frames = reversed(failure.crash.project_frames)
    return next((frame for frame in frames if (frame.file, frame.line) == (location.file, location.line)), None)


def _callers(bench: Bench, frames: Sequence[Frame], location: FaultLocation) -> Iterator[LocatedSite]:
    """The calls that led to the crash: where an argument was the bad value, or the helper raises on purpose."""
    if not (location.kind.is_none or location.kind is FaultKind.DELIBERATE_RAISE):
        return
    met = {(location.file, location.line)}
    for frame in frames:
        source = bench.source(frame.file or "")
        if isinstance(source, str) or (frame.file, frame.line) in met:
            continue
        met.add((frame.file or "", frame.line or 0))
        found = locate_call(frame, source)
        if not isinstance(found, Unlocated):
            yield LocatedSite(Site.CALLER, found, source)
        if len(met) > _MAX_CALLERS:
            return


def _handlers(bench: Bench, frames: Sequence[Frame], exception: ExceptionRecord) -> Iterator[LocatedSite]:
    """The statements that an exception passed which programs raise to be caught, so that they may catch it."""
    if exception.short_type in MISTAKES:
        return
    met: set[tuple[str | None, int | None]] = set()
    for frame in frames:
        source = bench.source(frame.file or "")
        if isinstance(source, str) or (frame.file, frame.line) in met:
            continue
        met.add((frame.file, frame.line))
        found = locate(frame, exception, source)
        if not isinstance(found, Unlocated) and found.receivers:
            yield LocatedSite(Site.CALLER, found, source)
        if len(met) >= _MAX_HANDLERS:
            return


def _observed(bench: Bench, group: Group, places: Sequence[LocatedSite]) -> Observed:
    first, beside = node_ids(group)[:1], bench.passing_beside(group)[:_MAX_BESIDE]
    files = {place.location.file: bench.read(place.location.file) for place in places}
    # The condition first: a probe of it holds the `raise` below it, too.
    locations = [place.location for place in sorted(places, key=lambda place: place.site is not Site.CONDITION)]
    seen = observe(locations, files, lambda sources: bench.look(group[:MAX_SCREENED], first, sources))
    if not beside or bench.reach.seconds_of(beside) > _MAX_SECONDS_BESIDE:
        return seen
    worked = observe_elsewhere(locations, files, lambda sources: bench.screen_some(beside, sources, probes=True))
    return replace(seen, observations=(*seen.observations, *worked))
