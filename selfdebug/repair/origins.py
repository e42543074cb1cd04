"""The origin step of a diagnosis: one more run of one failing test, traced, and the chain of its bad value.

It is evidence beside the repair: whatever goes wrong here is told as a sentence and costs only the chain.
"""

from __future__ import annotations

from selfdebug.errors import SelfdebugError
from selfdebug.model import Failure, FaultLocation, Link, Pass, PytestRun
from selfdebug.repair.bench import Bench
from selfdebug.stages.origin import origin, suspects
from selfdebug.trace import mapping as record

MAX_SECONDS = 120.0
"""A test that took longer is not run once more under a trace."""

SLOW = 2.0
"""A test that took longer is traced in two passes at once: what is called, then the lines of suspects."""


def traced_run(bench: Bench, failure: Failure) -> PytestRun | str:
    """The failing test once more, traced; or why there is no such run."""
    node_id = failure.node_id
    if node_id is None:
        return "no test can be run for it"
    seconds = bench.reach.durations.get(node_id, 0.0)
    if seconds > MAX_SECONDS:
        return f"the test took {seconds:.0f} s"
    try:
        if seconds > SLOW:
            return in_two_passes(bench, failure, node_id)
        run = bench.run((node_id,), trace=Pass.EVERYTHING)
        trace = run.trace_of(node_id)
        return in_two_passes(bench, failure, node_id) if trace is not None and trace.is_cut else run
    except SelfdebugError as error:
        return str(error).rstrip(".")


def in_two_passes(bench: Bench, failure: Failure, node_id: str) -> PytestRun:
    """See what is called how often, then look at the lines of what can matter, in the beginning and near the end.

    Raises PytestRunError when pytest gives no usable answer.
    """
    first = bench.run((node_id,), trace=Pass.CALLS)
    return bench.run((node_id,), trace=suspects(failure, first.called, bench.source))


def traced_origin(
    bench: Bench, location: FaultLocation, node_id: str | None, traced: PytestRun | str
) -> tuple[Link, ...]:
    """The chain of the value at fault; empty, with the reason in the trace of the run, where there is none."""
    with bench.step("origin", "following the value back") as step:
        if isinstance(traced, str) or node_id is None:
            step.describe(f"Where the value came from was not traced: {traced}.")
            return ()
        chain = origin(location, node_id, bench.source, lambda: traced)
        trace = traced.trace_of(node_id)
        record.origin(step, chain, (trace.gap,) if trace is not None and trace.gap else ())
    return chain
