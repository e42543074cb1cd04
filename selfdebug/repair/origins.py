"""The origin step of a diagnosis: one more run of one failing test, traced, and the chain of its bad value.

It is evidence beside the repair: whatever goes wrong here is told as a sentence and costs only the chain.
"""

from __future__ import annotations

from selfdebug.errors import SelfdebugError
from selfdebug.model import FaultLocation, Link, PytestRun
from selfdebug.repair.bench import Bench
from selfdebug.stages.origin import origin
from selfdebug.trace import mapping as record

MAX_SECONDS = 120.0
"""A test whose probed run took longer is not run once more under a trace."""


def traced_origin(bench: Bench, location: FaultLocation, node_id: str | None, probed: PytestRun) -> tuple[Link, ...]:
    """The chain of the value at fault; empty, with the reason in the trace of the run, where there is none."""
    with bench.step("origin", "following the value back") as step:
        if node_id is None or probed.seconds > MAX_SECONDS:
            reason = f"the probed run took {probed.seconds:.0f} s" if node_id else "no test can be run for it"
            step.describe(f"Where the value came from was not traced: {reason}.")
            return ()
        seen: list[PytestRun] = []

        def run() -> PytestRun:
            seen.append(bench.run((node_id,), trace=True))
            return seen[-1]

        try:
            chain = origin(location, node_id, bench.source, run)
        except SelfdebugError as error:
            step.describe(f"Where the value came from was not traced: {error}")
            return ()
        trace = seen[-1].trace_of(node_id) if seen else None
        record.origin(step, chain, (trace.gap,) if trace is not None and trace.gap else ())
    return chain
