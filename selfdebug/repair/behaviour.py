"""What a patch makes the edited functions do in the tests: their calls with results, and how its guard decides.

Measured by recorder calls in a version of the patched file that a fork of the screening server runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import Patch, ProbeHit, PytestRun, Value
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import Group
from selfdebug.stages.vary import Parts, Watch, Watched, Watchpoint, name_of, parts_of, watch, within_functions

MOST_RECORDED = 60
"""So many evaluations of one expression are recorded in a test, the first and the last of them."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an edited function in a test.

    `results` is what it returned or yielded (nothing: it raised), `state` what its arguments were then, of `self` the
    attributes.
    """

    node_id: str
    function: str
    arguments: tuple[tuple[str, Value], ...]
    results: tuple[Value, ...]
    state: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """One evaluation of a condition, one exception in a handler, or one use of a default of the patch."""

    node_id: str
    kind: Watched
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What was recorded of one patch."""

    patch: Patch
    parts: Parts
    calls: tuple[Call, ...]
    decisions: tuple[Decision, ...]
    run: PytestRun

    @property
    def reached(self) -> tuple[str, ...]:
        """The tests that pass and in which an edited function ran: no others can notice a change of the patch."""
        ran = {call.node_id for call in self.calls} | {decision.node_id for decision in self.decisions}
        return tuple(node for node, _ in self.run.outcomes if node in ran and node in self.run.passed)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where behaviours are compared: the failures, the tests to run, the functions that any of the patches edits."""

    group: Group
    tests: tuple[str, ...]
    functions: Mapping[str, tuple[str, ...]]


def edited_functions(patches: Sequence[Patch]) -> dict[str, tuple[str, ...]]:
    """The dotted names of the functions that the patches edit, by file."""
    found: dict[str, dict[str, None]] = {}
    for patch in patches:
        parts = _parts(patch)
        name = "" if parts is None else name_of(parts.source.tree, parts.function)
        if name:
            found.setdefault(patch.file, {})[name] = None
    return {file: tuple(names) for file, names in found.items()}


def observed_behaviour(bench: Bench, stage: Stage, patch: Patch) -> Behaviour | None:
    """Run the tests of a stage with the patch and recorders; None where this cannot be told in a fork."""
    parts = _parts(patch)
    if parts is None:
        return None
    sources: dict[str, bytes] = {}
    points: dict[int, Watchpoint] = {}
    for file, watched in _watches(bench, stage, patch, parts):
        sources[file] = watched.data
        points |= {point.id: point for point in watched.points}
    if patch.file not in sources:
        return None
    run = bench.screen_some(stage.tests, sources, probes=True)
    if run is None:
        return None
    return Behaviour(patch, parts, tuple(_calls(run.hits, points)), tuple(_decisions(run.hits, points)), run)


def _parts(patch: Patch) -> Parts | None:
    try:
        return parts_of(patch)
    except RefusedError:
        return None


def _watches(bench: Bench, stage: Stage, patch: Patch, parts: Parts) -> Iterator[tuple[str, Watch]]:
    next_id = 1
    for file in dict.fromkeys((patch.file, *stage.functions)):
        source = parts.source if file == patch.file else bench.source(file)
        if not isinstance(source, Source):
            continue
        own = parts if file == patch.file else None
        watched = watch(source, stage.functions.get(file, ()), own, next_id)
        if watched is not None and watched.points:
            next_id = watched.points[-1].id + 1
            yield file, replace(watched, data=within_functions(patch.before, watched.data)) if own else watched


def _decisions(hits: Sequence[ProbeHit], points: Mapping[int, Watchpoint]) -> Iterator[Decision]:
    for hit in hits:
        point = points.get(hit.id)
        if point is not None and point.kind in (Watched.CONDITION, Watched.HANDLER, Watched.USE) and hit.node_id:
            yield Decision(hit.node_id, point.kind, point.name, hit.value)


@dataclass(slots=True)
class _OpenCall:
    node_id: str
    function: str
    arguments: list[tuple[str, Value]] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    state: dict[str, Value] = field(default_factory=dict)

    def closed(self) -> Call:
        return Call(self.node_id, self.function, tuple(self.arguments), tuple(self.results), tuple(self.state.items()))


def _calls(hits: Sequence[ProbeHit], points: Mapping[int, Watchpoint]) -> Iterator[Call]:
    """The calls in the order in which they began.

    A result belongs to the call of its function that began last and has none yet, and if all have, to the last one,
    which is a generator.
    """
    calls: list[_OpenCall] = []
    ended: dict[str, _OpenCall] = {}
    for hit in sorted(hits, key=lambda hit: (hit.node_id or "", hit.sequence)):
        point = points.get(hit.id)
        if point is None or hit.node_id is None:
            continue
        if point.kind is Watched.ENTRY:
            calls.append(_OpenCall(hit.node_id, point.function))
            continue
        own = [call for call in calls if (call.function, call.node_id) == (point.function, hit.node_id)]
        if not own:
            continue
        if point.kind is Watched.ARGUMENT:
            own[-1].arguments.append((point.name, hit.value))
        elif point.kind is Watched.RESULT:
            ended[point.function] = call = next((each for each in reversed(own) if not each.results), own[-1])
            call.results.append(hit.value)
        elif point.kind is Watched.STATE and point.function in ended:
            ended[point.function].state[point.name] = hit.value
    return (call.closed() for call in calls)
