"""A finished run as plain data: what the JSON report writes, and what the page of a run is made from."""

from __future__ import annotations

from typing import Any

from codemods.selfdebug.spans import Span
from selfdebug.model import (
    Alternative,
    Attempt,
    Candidate,
    Caught,
    Diagnosis,
    EditedFile,
    Failure,
    Firing,
    Observation,
    Pin,
    ProbeReport,
    Repair,
    Trial,
    Value,
)
from selfdebug.reports.chains import link_data
from selfdebug.reports.evidence import crash_frame, first_receiver, readable_diff, readable_patch

SCHEMA_VERSION = 1


def document(repair: Repair) -> dict[str, Any]:
    """The run as plain data: the six fields of the original contract first, then the rest."""
    return {
        "exit_code": repair.exit_code,
        "attempts": len(repair.attempts),
        "files_patched": list(repair.files_patched),
        "rollback": repair.rollback,
        "final_status": repair.final_status.value,
        "tracebacks": [_traceback(failure) for failure in repair.failures],
        "schema_version": SCHEMA_VERSION,
        "exit_reason": repair.exit_reason,
        "message": repair.sentence,
        "run_id": repair.run_id or None,
        "dry_run": repair.dry_run,
        "failures": [_failure(failure) for failure in repair.failures],
        "pytest_exit_code": repair.pytest_exit_code,
        "patches": [_patch(repair, each) for each in repair.diffs],
        "diff": readable_diff(repair.diffs),
        "candidates": [_trial(attempt, trial) for attempt in repair.attempts for trial in attempt.trials],
        "probes": [probe for attempt in repair.attempts for probe in _probes(attempt.number, attempt.diagnosis)],
        "origin": [link_data(link) for link in repair.attempts[0].diagnosis.origin] if repair.attempts else [],
        "diagnoses": [_diagnosis(attempt.number, attempt.diagnosis) for attempt in repair.attempts],
        "backup": list(repair.backup),
        "warnings": list(repair.warnings),
        "timings": {name: round(seconds, 4) for name, seconds in repair.timings},
    }


def probe_document(report: ProbeReport) -> dict[str, Any]:
    """What `selfdebug probe` saw, in the words of the report of a run."""
    numbered = list(enumerate(report.diagnoses, 1))
    return {
        "exit_code": report.exit_code,
        "tracebacks": [_traceback(failure) for failure in report.failures],
        "schema_version": SCHEMA_VERSION,
        "exit_reason": report.exit_reason,
        "message": report.sentence,
        "run_id": report.run_id or None,
        "failures": [_failure(failure) for failure in report.failures],
        "probes": [probe for number, diagnosis in numbered for probe in _probes(number, diagnosis)],
        "diagnoses": [_diagnosis(number, diagnosis) for number, diagnosis in numbered],
        "warnings": list(report.warnings),
    }


def _traceback(failure: Failure) -> dict[str, Any]:
    """The four fields of the original contract, of the deepest frame inside the project, else of the deepest at all."""
    frame = failure.deepest or (failure.frames[-1] if failure.frames else None)
    return {
        "file": (frame.file or frame.path) if frame else None,
        "line": frame.line if frame else None,
        "exc_type": failure.exception.type,
        "msg": failure.exception.message,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    frame = crash_frame(failure)
    return {
        "node_id": failure.node_id,
        "when": failure.when.value,
        "exc_type": failure.exception.type,
        "msg": failure.exception.message,
        "file": frame.file if frame else None,
        "line": frame.line if frame else None,
        "function": frame.function if frame else None,
    }


def _patch(repair: Repair, edited: EditedFile) -> dict[str, Any]:
    return {
        "file": edited.file,
        "kept": edited.file in repair.files_patched,
        "diff": readable_diff([edited]),
        "guards": [_guard(attempt) for attempt in repair.attempts if attempt.kept and attempt.kept.file == edited.file],
    }


def _guard(attempt: Attempt) -> dict[str, Any]:
    assert attempt.kept is not None
    candidate = attempt.kept.candidate
    return {
        "attempt": attempt.number,
        "candidate": candidate.id,
        **_parameters(candidate),
        **_reasons(candidate),
        "default_source": candidate.default_source,
        "lines_touched": attempt.kept.lines_touched,
        "pins": [_pin(pin) for pin in attempt.pins],
        "firings": None if attempt.firings is None else [_firing(firing) for firing in attempt.firings],
        "alternatives": [_alternative(other) for other in attempt.alternatives],
    }


def _parameters(candidate: Candidate) -> dict[str, Any]:
    """What a candidate does, and where."""
    return {
        "guard": candidate.guard,
        "site": candidate.site.value,
        "line": candidate.expression.start_line,
        "receiver": candidate.receiver_code,
        "default": candidate.default,
        "test": candidate.test,
    }


def _reasons(candidate: Candidate) -> dict[str, Any]:
    """What kind of guard a candidate is, why it was proposed, and which further lines it changes."""
    return {
        "family": candidate.family,
        "also": sorted({spot.expression.start_line for spot in candidate.also}),
        "donor": candidate.donor,
        "reason": candidate.reason,
    }


def _pin(pin: Pin) -> dict[str, Any]:
    return {
        "part": pin.part,
        "pinned": pin.pinned,
        "message": pin.sentence,
        "suggestion": pin.suggestion or None,
    }


def _firing(firing: Firing) -> dict[str, Any]:
    return {"node_id": firing.node_id, "acted": firing.acted, "reached": firing.reached, "cut": firing.is_cut}


def _alternative(other: Alternative) -> dict[str, Any]:
    candidate = other.patch.candidate
    return {
        "candidate": candidate.id,
        "file": candidate.file,
        **_parameters(candidate),
        "same": other.is_same,
        "message": other.sentence,
        "diff": readable_patch(other.patch),
    }


def _trial(attempt: Attempt, trial: Trial) -> dict[str, Any]:
    candidate = trial.candidate
    return {
        "id": candidate.id,
        "attempt": attempt.number,
        "file": candidate.file,
        **_parameters(candidate),
        **_reasons(candidate),
        "verdict": trial.verdict.value,
        "tier": trial.tier.value,
        "seconds": round(trial.seconds, 4),
        "detail": trial.detail,
        "pytest_run": trial.run_id,
    }


def _probes(attempt: int, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    values = [_observation(attempt, seen) for seen in diagnosis.observations]
    return values + [_caught(attempt, caught) for caught in diagnosis.caught]


def _observation(attempt: int, seen: Observation) -> dict[str, Any]:
    return {
        "kind": "value",
        "attempt": attempt,
        "node_id": seen.node_id,
        "file": seen.file,
        "line": seen.span.start_line,
        "expression": seen.expression,
        "span": _span(seen.span),
        "value": _value(seen.value),
        "in_failure": seen.in_failure,
    }


def _caught(attempt: int, caught: Caught) -> dict[str, Any]:
    return {
        "kind": "caught",
        "attempt": attempt,
        "node_id": caught.node_id,
        "file": caught.place.file,
        "line": caught.place.line,
        "function": caught.place.function,
        "exc_type": caught.exception.type,
        "msg": caught.exception.message,
        "locals": {name: _value(value) for name, value in caught.locals},
    }


def _diagnosis(attempt: int, diagnosis: Diagnosis) -> dict[str, Any]:
    location = diagnosis.location
    receiver = first_receiver(location)
    return {
        "attempt": attempt,
        "node_id": diagnosis.failure.node_id,
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "kind": location.kind.value,
        "statement": location.statement_code,
        "statement_span": _span(location.statement),
        "receiver": receiver.code if receiver else None,
        "receiver_span": _span(receiver.receiver) if receiver else None,
        "message": diagnosis.sentence,
        "origin": [link_data(link) for link in diagnosis.origin],
    }


def _value(value: Value) -> dict[str, Any]:
    return {
        "type": value.type,
        "repr": value.repr,
        "is_none": value.is_none,
        "truncated": value.truncated,
        "redacted": value.redacted,
    }


def _span(span: Span) -> dict[str, int]:
    return {
        "start_line": span.start_line,
        "start_column": span.start_column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
