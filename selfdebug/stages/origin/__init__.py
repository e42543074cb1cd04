"""Where the bad value came from: the failing test runs once more, traced, and its value is followed back to its birth.

The kinds of links. On the way: assignment, walrus, unpacking, augmented, for-target, comprehension, with, except,
pattern, definition, import, deletion, parameter, default, closure, return, yield, send, task, property, attribute,
class-attribute, item, branch, fixture, parametrisation, through-library. Where a value is born: explicit-none,
fell-off-end, missing-key, missing-attribute, environment, no-match, nothing-found, exhausted, in-place, mock, literal,
constructed, computed, slice, outside. Why it stayed: branch-not-taken, loop-not-entered, swallowed-exception. Why
something is not there, with what its container went through: missing-index, put, removed, deletion, assigned-later,
not-called, near-miss. Why a `raise` was reached: branch-taken, answered-exception. And `unknown`, where the evidence
ends.
"""

from __future__ import annotations

from collections.abc import Callable

from codemods.selfdebug.source import Source
from selfdebug.model import FaultLocation, Link, PytestRun
from selfdebug.stages.origin.start import chain_at, chain_of_fault
from selfdebug.stages.origin.suspects import suspects

__all__ = ["Runner", "Sources", "chain_at", "chain_of_fault", "origin", "suspects"]

Runner = Callable[[], PytestRun]
"""Runs the failing test with tracing."""

Sources = Callable[[str], Source | str]
"""The parsed file of that name as the run sees it, or one sentence that says why there is none."""


def origin(location: FaultLocation, node_id: str, sources: Sources, run: Runner) -> tuple[Link, ...]:
    """The chain of the faulty value of `location` in the test `node_id`, from its receiver back to its birth.

    Empty when the failure is not about a value, or when the traced run did not fail at this place; whatever `run`
    raises is raised.
    """
    trace = run().trace_of(node_id)
    return () if trace is None or trace.gap else chain_of_fault(location, trace, sources)
