"""SARIF 2.1.0 for code scanning: each crash with the way of its value as a code flow, and its patch as a fix.

Format: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Columns are code points from 1.
"""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

from codemods.selfdebug.spans import Span
from selfdebug.model import Attempt, Diagnosis, Failure, Link, Repair
from selfdebug.reports.base import INFORMATION_URI, Example, Report, View
from selfdebug.reports.diffs import blocks
from selfdebug.reports.documents import dumps
from selfdebug.reports.evidence import crash_frame, decoded, guard_sentence
from selfdebug.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def document(repair: Repair) -> dict[str, Any]:
    """One run with one result a diagnosis, and one for each failure inside the project that was not diagnosed."""
    told = {attempt.diagnosis.failure.node_id for attempt in repair.attempts}
    results = [_diagnosed(repair, attempt) for attempt in repair.attempts]
    results += [
        _undiagnosed(failure) for failure in repair.failures if failure.node_id not in told and crash_frame(failure)
    ]
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    run = {
        "tool": {
            "driver": {
                "name": "selfdebug",
                "version": __version__,
                "informationUri": INFORMATION_URI,
                "rules": [{"id": rule, "shortDescription": {"text": _rule_text(rule)}} for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the project."}}},
        "invocations": [_invocation(repair)],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_text(rule: str) -> str:
    return f"A test fails: {rule.replace('-', ' ')}."


def _invocation(repair: Repair) -> dict[str, Any]:
    return {
        "executionSuccessful": repair.exit_code in (0, 1, 2, 128),
        "exitCode": repair.exit_code,
        "exitCodeDescription": repair.exit_reason,
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": repair.sentence}},
            *({"level": "warning", "message": {"text": warning}} for warning in repair.warnings),
        ],
    }


def _diagnosed(repair: Repair, attempt: Attempt) -> dict[str, Any]:
    diagnosis = attempt.diagnosis
    location = diagnosis.location
    span = location.receivers[0].receiver if location.receivers else None
    result: dict[str, Any] = {
        "ruleId": location.kind.value,
        "level": "error",
        "message": {"text": _message(diagnosis)},
        "locations": [_location(location.file, location.line, span, location.function)],
        "partialFingerprints": {"crash/v1": _fingerprint(diagnosis)},
    }
    if diagnosis.origin:
        result["codeFlows"] = [_code_flow(diagnosis)]
    fix = _fix(repair, attempt)
    if fix is not None:
        result["fixes"] = [fix]
    return result


def _message(diagnosis: Diagnosis) -> str:
    exception = diagnosis.failure.exception
    return f"{diagnosis.sentence} {exception.type}: {exception.message}".strip()


def _fingerprint(diagnosis: Diagnosis) -> str:
    """The same crash keeps its identity when lines move: file, function, kind and statement, without the line."""
    location = diagnosis.location
    words = (location.file, location.function or "", location.kind.value, location.statement_code.strip())
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _undiagnosed(failure: Failure) -> dict[str, Any]:
    frame = crash_frame(failure)
    assert frame is not None and frame.file is not None
    text = f"{failure.node_id or 'A test'}: {failure.exception.type}: {failure.exception.message}"
    return {
        "ruleId": failure.exception.short_type,
        "level": "error",
        "message": {"text": text},
        "locations": [_location(frame.file, frame.line or 1, frame.span, frame.function)],
    }


def _artifact(file: str) -> dict[str, Any]:
    return {"uri": quote(file.encode("utf-8", "surrogateescape"), safe="/"), "uriBaseId": "%SRCROOT%"}


def _region(line: int, span: Span | None) -> dict[str, int]:
    if span is None:
        return {"startLine": line}
    return {
        "startLine": span.start_line,
        "startColumn": span.start_column + 1,
        "endLine": span.end_line,
        "endColumn": span.end_column + 1,
    }


def _location(file: str, line: int, span: Span | None, function: str | None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(file), "region": _region(line, span)}
    }
    if function:
        location["logicalLocations"] = [{"name": function, "kind": "function"}]
    return location


def _code_flow(diagnosis: Diagnosis) -> dict[str, Any]:
    """The way of the value in the order in which it went: from its birth to the crash."""
    crash = diagnosis.location
    steps = [_step(link) for link in reversed(diagnosis.origin)]
    last = _location(crash.file, crash.line, None, crash.function)
    last["message"] = {"text": diagnosis.sentence or "The test fails here."}
    return {"threadFlows": [{"locations": [*steps, {"location": last}]}]}


def _step(link: Link) -> dict[str, Any]:
    location = _location(link.file, link.line, None, link.function)
    location["message"] = {"text": f"{link.sentence} ({link.evidence})"}
    return {"location": location}


def _fix(repair: Repair, attempt: Attempt) -> dict[str, Any] | None:
    """The kept patch as whole replaced lines, against the file as this attempt found it."""
    patch = attempt.kept
    if patch is None or not repair.diffs:
        return None
    return {
        "description": {"text": f"Plausible patch: {guard_sentence(patch)}."},
        "artifactChanges": [
            {"artifactLocation": _artifact(patch.file), "replacements": _replacements(patch.before, patch.after)}
        ],
    }


def _replacements(before: bytes, after: bytes) -> list[dict[str, Any]]:
    replacements = []
    for block in blocks(before, after):
        first, count = block.start + 1, len(block.removed)
        deleted = {"startLine": first, "startColumn": 1, "endLine": first + count, "endColumn": 1}
        if block.removed and not block.removed[-1].endswith(b"\n"):
            # the file ends without a line end: there is no next line whose start could end the region
            last = decoded(before).rsplit("\n", 1)[-1]
            deleted |= {"endLine": first + count - 1, "endColumn": len(last) + 1}
        text = _text(before, block.added)
        replacements.append({"deletedRegion": deleted, "insertedContent": {"text": text}})
    return replacements


def _text(before: bytes, added: tuple[bytes, ...]) -> str:
    head = b"".join(line + b"\n" for line in before.split(b"\n")[:2])
    return decoded(head + b"".join(added))[len(decoded(head)) :]


def render(repair: Repair, _view: View) -> bytes:
    """The run as one SARIF log."""
    return dumps(document(repair))


EXPECTED_NOTHING_FAILED = f"""\
{{
  "$schema": "{SCHEMA}",
  "version": "2.1.0",
  "runs": [
    {{
      "tool": {{
        "driver": {{
          "name": "selfdebug",
          "version": "{__version__}",
          "informationUri": "{INFORMATION_URI}",
          "rules": []
        }}
      }},
      "columnKind": "unicodeCodePoints",
      "originalUriBaseIds": {{
        "%SRCROOT%": {{
          "description": {{
            "text": "The root of the project."
          }}
        }}
      }},
      "invocations": [
        {{
          "executionSuccessful": true,
          "exitCode": 0,
          "exitCodeDescription": "nothing-failed",
          "toolExecutionNotifications": [
            {{
              "level": "note",
              "message": {{
                "text": "All 3 tests pass; there is nothing to repair."
              }}
            }}
          ]
        }}
      ],
      "results": []
    }}
  ]
}}
"""

REPORT = Report(
    name="sarif",
    summary="SARIF 2.1.0 for code scanning.",
    media_type="application/sarif+json",
    render=render,
    examples=(Example("nothing_failed", EXPECTED_NOTHING_FAILED),),
)
