"""`selfdebug why`: where a value of a failing test came from, without repairing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codemods.selfdebug.source import Source
from selfdebug.config import Settings
from selfdebug.model import Failure, OriginChain, Pass, PytestRun, Trace
from selfdebug.repair import open_bench
from selfdebug.repair.bench import Bench, Events
from selfdebug.repair.ingest import Ended, ingest
from selfdebug.repair.origins import in_two_passes
from selfdebug.stages.locate import Unlocated, locate
from selfdebug.stages.origin import chain_at, chain_of_fault

MAX_TRACED = 20
"""Failing tests that are traced, in one run."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a place (`file` relative to the root) and an expression there; without them, the faulty value."""

    file: str | None = None
    line: int | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The chains, and one sentence where there is none at all."""

    chains: tuple[OriginChain, ...]
    sentence: str
    warnings: tuple[str, ...] = ()


def why(settings: Settings, log: bytes | None, question: Question, events: Events) -> Answer:
    """Follow a value of each failing test back, or the asked one in the first failing test that came by its place.

    Nothing is written into the project. Raises PytestRunError when pytest gives no usable answer.
    """
    with open_bench(settings, events) as bench:
        found = ingest(bench, log)
        if isinstance(found, Ended) and not found.failures:
            return Answer((), found.sentence, tuple(bench.warnings))
        failures = {failure.node_id: failure for failure in reversed(found.failures) if failure.node_id is not None}
        asked = list(reversed(failures.values()))
        with bench.step("origin", "tracing the failing tests"):
            run = bench.run(tuple(failure.node_id or "" for failure in asked[:MAX_TRACED]), trace=Pass.EVERYTHING)
        chains = tuple(_chains(bench, asked[:MAX_TRACED], run, question))
        if len(asked) > MAX_TRACED and question.file is None:
            bench.warnings.append(f"Only the first {MAX_TRACED} of {len(asked)} failing tests were traced.")
        sentence = "" if any(chain.links for chain in chains) else "No value could be followed."
        return Answer(chains, sentence, tuple(bench.warnings))


def _trace(bench: Bench, failure: Failure, run: PytestRun) -> Trace | None:
    """The trace of a test; taken once more, in two passes, where not all that ran often was recorded."""
    trace = run.trace_of(failure.node_id)
    if trace is None or not trace.is_cut or trace.gap or failure.node_id is None:
        return trace
    return in_two_passes(bench, failure, failure.node_id).trace_of(failure.node_id) or trace


def _chains(bench: Bench, failures: list[Failure], run: PytestRun, question: Question) -> Iterator[OriginChain]:
    missed: OriginChain | None = None
    for failure in failures:
        chain = _answered(bench, failure, _trace(bench, failure, run), question)
        if question.file is None or chain.links:
            yield chain
        if question.file is None:
            continue
        if chain.links:
            return
        missed = missed or chain
    if missed is not None:
        yield missed


def _answered(bench: Bench, failure: Failure, trace: Trace | None, question: Question) -> OriginChain:
    if trace is None or trace.gap:
        reason = trace.gap if trace is not None else "the test did not get that far"
        return OriginChain(failure.node_id, question.expression or "", (), f"The run was not traced: {reason}.")
    if question.file is not None and question.line is not None:
        place = (question.file, question.line)
    else:
        frame = failure.crash.deepest
        if frame is None or frame.file is None or frame.line is None:
            return OriginChain(failure.node_id, "", (), "No frame of the failure lies inside the project.")
        place = (frame.file, frame.line)
        if question.expression is None:
            return _of_fault(bench, failure, trace)
    told = chain_at(*place, question.expression, trace, bench.source)
    if isinstance(told, str):
        return OriginChain(failure.node_id, question.expression or "", (), told)
    return OriginChain(failure.node_id, *told)


def _of_fault(bench: Bench, failure: Failure, trace: Trace) -> OriginChain:
    """The chain of the receiver: of the deepest frame of the project, tests included."""
    frame = failure.crash.deepest
    assert frame is not None and frame.file is not None  # its caller has looked
    source = bench.source(frame.file)
    if not isinstance(source, Source):
        return OriginChain(failure.node_id, "", (), source)
    location = locate(frame, failure.crash.exception, source)
    if isinstance(location, Unlocated):
        return OriginChain(failure.node_id, "", (), location.reason)
    links = chain_of_fault(location, trace, bench.source)
    expression = location.receivers[0].code if location.receivers else location.statement_code.split("\n")[0]
    return OriginChain(failure.node_id, expression, links, "" if links else "No value is at fault here.")
