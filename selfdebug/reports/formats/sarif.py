"""SARIF 2.1.0 for code scanning: each crash with the way of its value as a code flow, and its patch as a fix.

Format: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Columns are code points from 1.
"""

from __future__ import annotations

import inspect
from typing import Any
from urllib.parse import quote

from codemods.selfdebug.registry import guards
from codemods.selfdebug.spans import Span
from selfdebug.model import Diagnosis, Link, Patch, Pin, Repair
from selfdebug.reports.base import INFORMATION_URI, Example, Report, View
from selfdebug.reports.diffs import blocks
from selfdebug.reports.documents import dumps
from selfdebug.reports.evidence import decoded, guard_sentence
from selfdebug.reports.findings import Finding, findings
from selfdebug.reports.judging import loose_pins
from selfdebug.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def document(repair: Repair) -> dict[str, Any]:
    """One run with one result a finding; a result that a guard answers has that guard as its rule."""
    results = [_result(repair, finding) for finding in findings(repair)]
    rules = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    run = {
        "tool": {
            "driver": {
                "name": "selfdebug",
                "version": __version__,
                "informationUri": INFORMATION_URI,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the project."}}},
        "invocations": [_invocation(repair)],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str) -> dict[str, Any]:
    """What a guard says of itself; of a fault that no guard answers, its name."""
    guard = guards().get(rule)
    if guard is None:
        return {"id": rule, "shortDescription": {"text": f"A test fails: {rule.replace('-', ' ')}."}}
    return {
        "id": rule,
        "shortDescription": {"text": guard.summary},
        "fullDescription": {"text": inspect.cleandoc(guard.__doc__ or guard.summary)},
    }


def _invocation(repair: Repair) -> dict[str, Any]:
    return {
        "executionSuccessful": repair.exit_code in (0, 1, 2, 128),
        "exitCode": repair.exit_code,
        "exitCodeDescription": repair.exit_reason,
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": repair.sentence}},
            *({"level": "warning", "message": {"text": warning}} for warning in repair.warnings),
            *({"level": "note", "message": {"text": _not_pinned(pin)}} for pin in loose_pins(repair)),
        ],
    }


def _not_pinned(pin: Pin) -> str:
    return f"{pin.sentence} To pin it: {pin.suggestion}" if pin.suggestion else pin.sentence


def _result(repair: Repair, finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": "error",
        "message": {"text": finding.message},
        "locations": [_location(finding.file, finding.line, finding.span, finding.function)],
        "partialFingerprints": {"crash/v1": finding.fingerprint},
        "properties": {"fault": finding.rule},
    }
    if finding.attempt is None:
        return result
    if finding.attempt.diagnosis.origin:
        result["codeFlows"] = [_code_flow(finding.attempt.diagnosis)]
    patch = finding.attempt.kept
    if patch is not None and repair.diffs:
        result["ruleId"] = patch.candidate.guard
        result["fixes"] = [_fix(patch)]
    return result


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


def _fix(patch: Patch) -> dict[str, Any]:
    """The kept patch as whole replaced lines, against the file as its attempt found it."""
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
    render=render,
    examples=(Example("nothing_failed", EXPECTED_NOTHING_FAILED),),
    suffixes=(".sarif",),
)
