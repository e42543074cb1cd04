"""The crashes of a run as findings of a static analyser: rule, place, message, and an identity that survives edits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from codemods.selfdebug.spans import Span
from selfdebug.model import Attempt, Diagnosis, Failure, Repair
from selfdebug.reports.evidence import crash_frame


@dataclass(frozen=True, slots=True)
class Finding:
    """One crash inside the project. `rule` is the fault's kind, or the exception's name where nothing was diagnosed.

    `fingerprint` stays the same when lines move: it is made of file, function, rule and code, not of the line.
    """

    failure: Failure
    attempt: Attempt | None
    rule: str
    message: str
    file: str
    line: int
    span: Span | None
    function: str | None
    fingerprint: str


def findings(repair: Repair) -> tuple[Finding, ...]:
    """One finding a diagnosis, then one for each failure inside the project that was not diagnosed."""
    told = {attempt.diagnosis.failure.node_id for attempt in repair.attempts}
    found = [_diagnosed(attempt) for attempt in repair.attempts]
    found += [_undiagnosed(failure) for failure in repair.failures if failure.node_id not in told and _is_here(failure)]
    return tuple(found)


def _is_here(failure: Failure) -> bool:
    frame = crash_frame(failure)
    return frame is not None and frame.place is not None


def _diagnosed(attempt: Attempt) -> Finding:
    diagnosis = attempt.diagnosis
    location = diagnosis.location
    return Finding(
        failure=diagnosis.failure,
        attempt=attempt,
        rule=location.kind.value,
        message=_message(diagnosis),
        file=location.file,
        line=location.line,
        span=location.receivers[0].receiver if location.receivers else None,
        function=location.function,
        fingerprint=_fingerprint(location.file, location.function, location.kind.value, location.statement_code),
    )


def _message(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.sentence} {diagnosis.failure.exception}".strip()


def _undiagnosed(failure: Failure) -> Finding:
    frame = crash_frame(failure)
    assert frame is not None and frame.place is not None
    rule = failure.exception.short_type
    return Finding(
        failure=failure,
        attempt=None,
        rule=rule,
        message=f"{failure.node_id or 'A test'}: {failure.exception}",
        file=frame.place.file,
        line=frame.place.line,
        span=frame.span,
        function=frame.function,
        fingerprint=_fingerprint(frame.place.file, frame.function, rule, frame.code or failure.exception.message),
    )


def _fingerprint(file: str, function: str | None, rule: str, code: str) -> str:
    words = (file, function or "", rule, code.strip())
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]
