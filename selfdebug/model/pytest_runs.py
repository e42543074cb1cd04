"""One start of pytest and what the injected plugin saw in it: outcomes, probes, traces, calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from selfdebug.model.failures import ExceptionRecord, Failure, Value
from selfdebug.model.traces import Called, Trace


class Outcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


@dataclass(frozen=True, slots=True)
class ProbeHit:
    """One call of the recorder that a probe inserted: `id` is the number the probe gave its expression."""

    id: int
    node_id: str | None
    function: str
    value: Value
    sequence: int


@dataclass(frozen=True, slots=True)
class ProbeCatch:
    """An exception that left a probed statement (`id` is the probe's own number), with the locals of its frame."""

    id: int
    node_id: str | None
    function: str
    exception: ExceptionRecord
    locals: tuple[tuple[str, Value], ...]
    sequence: int


class Tier(StrEnum):
    """How tests were run: in which state of a process, and where the sources came from."""

    WARM = "warm"
    PRELOADED = "preloaded"
    FRESH = "fresh"
    IN_PLACE = "in-place"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Calls:
    """Which tests ran which functions of the project: node ids by file and first line (that of the first decorator).

    `gap` says why it is not known, if so.
    """

    tests: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    gap: str = ""


@dataclass(frozen=True, slots=True)
class PytestRun:
    """One start of pytest: what was asked, what really ran, and what the injected plugin saw.

    `outcomes` maps node ids to outcomes in the order of the run. `ended` is False when pytest did not reach the end of
    its session (killed, time-out, `os._exit`, `pytest.exit`): such a run proves nothing. `served` names the files whose
    source came from memory; `running` the test that had begun when the process ended early; `halted_by` the test that
    ended the session, since it passed before. `called` are the functions that were called up to the first failure,
    where that was counted. `durations` are seconds by node id, all phases together.
    """

    id: str
    proposed: tuple[str, ...]
    command: tuple[str, ...]
    exit_code: int | None
    seconds: float
    outcomes: tuple[tuple[str, Outcome], ...] = ()
    failures: tuple[Failure, ...] = ()
    hits: tuple[ProbeHit, ...] = ()
    catches: tuple[ProbeCatch, ...] = ()
    served: tuple[str, ...] = ()
    ended: bool = False
    timed_out: bool = False
    out_of_memory: bool = False
    collected: int = 0
    python: str = ""
    pytest: str = ""
    output: str = ""
    is_output_cut: bool = False
    running: str | None = None
    traces: tuple[Trace, ...] = ()
    halted_by: str | None = None
    called: tuple[Called, ...] = ()
    durations: tuple[tuple[str, float], ...] = ()
    calls: Calls | None = None
    tier: Tier = Tier.FRESH

    def trace_of(self, node_id: str | None) -> Trace | None:
        """What led to the first failing phase of a test (of a file that cannot be collected: all there is)."""
        named = (trace for trace in self.traces if trace.node_id == node_id)
        return next(named, None) or next((trace for trace in self.traces if trace.node_id is None), None)

    @property
    def passed(self) -> frozenset[str]:
        """The node ids of the tests that passed in every phase."""
        return frozenset(node for node, outcome in self.outcomes if outcome is Outcome.PASSED)

    @property
    def failed(self) -> tuple[str, ...]:
        """The node ids of the tests that failed or could not be set up, torn down or collected."""
        return tuple(node for node, outcome in self.outcomes if outcome in (Outcome.FAILED, Outcome.ERROR))
