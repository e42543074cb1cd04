"""GitLab's code quality report: each crash as an issue in the merge request, with the guard that answers it.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format (lines and columns from 1).
"""

from __future__ import annotations

from typing import Any

from selfdebug.model import Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.documents import dumps
from selfdebug.reports.evidence import guard_sentence
from selfdebug.reports.findings import Finding, findings
from selfdebug.terminal import one_line


def document(repair: Repair) -> list[dict[str, Any]]:
    """One issue a finding: minor where a patch answers it, else critical."""
    return [_issue(repair, finding) for finding in findings(repair)]


def _issue(repair: Repair, finding: Finding) -> dict[str, Any]:
    patch = finding.attempt.kept if finding.attempt is not None and repair.diffs else None
    answer = f" Plausible patch: {guard_sentence(patch)}." if patch is not None else ""
    return {
        "check_name": finding.rule,
        "description": one_line(finding.message) + answer,
        "severity": "critical" if patch is None else "minor",
        "fingerprint": finding.fingerprint,
        "location": {"path": finding.file, "positions": _positions(finding)},
    }


def _positions(finding: Finding) -> dict[str, dict[str, int]]:
    span = finding.span
    if span is None:
        return {"begin": {"line": finding.line}, "end": {"line": finding.line}}
    return {
        "begin": {"line": span.start_line, "column": span.start_column + 1},
        "end": {"line": span.end_line, "column": span.end_column + 1},
    }


def render(repair: Repair, _view: View) -> bytes:
    """The run as one code quality document."""
    return dumps(document(repair))


EXPECTED_KEPT = """\
[
  {
    "check_name": "none-attribute",
    "description": "customer is None where its attribute orders is read. AttributeError: 'NoneType' object has no \
attribute 'orders' Plausible patch: condition-prefix on customer: the condition is false for the None that was seen.",
    "severity": "minor",
    "fingerprint": "1810b6579d098955df008d9605f7eea9",
    "location": {
      "path": "shop/discount.py",
      "positions": {
        "begin": {
          "line": 8,
          "column": 8
        },
        "end": {
          "line": 8,
          "column": 16
        }
      }
    }
  }
]
"""

REPORT = Report(
    name="gitlab",
    summary="A code quality report for a GitLab merge request.",
    render=render,
    examples=(Example("kept", EXPECTED_KEPT), Example("nothing_failed", "[]\n")),
)
