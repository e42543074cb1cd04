"""The edits that are proposed for a diagnosed failure, some at a time, most likely first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.source import Source
from selfdebug.model import Candidate, Patch, Trial
from selfdebug.repair.bench import Bench
from selfdebug.repair.diagnosing import Case
from selfdebug.stages.propose import (
    Evidence,
    apply_candidate,
    birth_sites,
    propose,
    read_expectations,
    test_frame,
)
from selfdebug.stages.validate import refused
from selfdebug.trace import mapping as record

_ROUND = 24


def rounds(bench: Bench, case: Case, trials: list[Trial]) -> Iterator[list[Patch]]:
    """The edits of the candidates that fit, some at a time, most likely first; equal edits come once.

    The refusals of each round are added to `trials`.
    """
    seen: set[tuple[str, bytes]] = set()
    for candidates in batched(_candidates(bench, case), _ROUND):
        with bench.step("propose", "collecting candidates") as step:
            edits = [_patched(bench, candidate) for candidate in candidates]
            refusals = [edit for edit in edits if isinstance(edit, Trial)]
            patches = {(edit.file, edit.after): edit for edit in reversed(edits) if isinstance(edit, Patch)}
            fresh = [patch for key, patch in reversed(patches.items()) if key not in seen]
            seen.update(patches)
            trials.extend(refusals)
            record.proposed(
                step,
                [patch.candidate for patch in fresh],
                [(trial.candidate.guard, trial.detail) for trial in refusals],
            )
        yield fresh


def batched(candidates: Iterator[Candidate], size: int) -> Iterator[list[Candidate]]:
    """The candidates in lists of at most `size` (itertools.batched is not there before Python 3.12)."""
    while batch := list(itertools.islice(candidates, size)):
        yield batch


def untested(bench: Bench, case: Case) -> Patch | None:
    """The first candidate that fits, without running anything: what a dry run over a captured log can say."""
    edits = (_patched(bench, candidate) for candidate in _candidates(bench, case))
    return next((edit for edit in edits if isinstance(edit, Patch)), None)


def _candidates(bench: Bench, case: Case) -> Iterator[Candidate]:
    diagnosis, failure = case.diagnosis, case.group[0]
    first = replace(case.places[0], location=diagnosis.location)
    frame = test_frame(failure)
    text, line = (_text(bench, frame.file), frame.line or 0) if frame and frame.file else ("", 0)
    wanted = read_expectations(text, line)
    evidence = Evidence(failure.crash.exception, diagnosis.observations, wanted, bench.mine)
    births = birth_sites(diagnosis.origin, diagnosis.location, bench.source)
    return propose((first, *case.places[1:], *births), evidence)


def _text(bench: Bench, file: str) -> str:
    source = bench.source(file)
    return source.text if isinstance(source, Source) else ""


def _patched(bench: Bench, candidate: Candidate) -> Patch | Trial:
    source = bench.source(candidate.file)
    if isinstance(source, str):
        return refused(candidate, source)
    try:
        return apply_candidate(candidate, source)
    except (RefusedError, TargetNotFoundError) as error:
        return refused(candidate, str(error))
