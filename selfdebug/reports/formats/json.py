"""One JSON document for programs; `selfdebug schema` prints the schema that it follows."""

from __future__ import annotations

from selfdebug.model import Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.documents import dumps
from selfdebug.reports.run_document import document


def render(repair: Repair, _view: View) -> bytes:
    """The run as one JSON document."""
    return dumps(document(repair))


EXPECTED_NOTHING_FAILED = """\
{
  "exit_code": 0,
  "attempts": 0,
  "files_patched": [],
  "rollback": false,
  "final_status": "pass",
  "tracebacks": [],
  "schema_version": 1,
  "exit_reason": "nothing-failed",
  "message": "All 3 tests pass; there is nothing to repair.",
  "run_id": "20260101-120200-5e6f",
  "dry_run": false,
  "failures": [],
  "pytest_exit_code": 0,
  "patches": [],
  "diff": "",
  "candidates": [],
  "probes": [],
  "origin": [],
  "diagnoses": [],
  "backup": [],
  "warnings": [],
  "timings": {}
}
"""

REPORT = Report(
    name="json",
    summary="One JSON document; its schema is what `selfdebug schema` prints.",
    render=render,
    examples=(Example("nothing_failed", EXPECTED_NOTHING_FAILED),),
    suffixes=(".json",),
)
