"""Reviewdog's diagnostic format (`rdjson`): each guard as a suggestion that a reviewer can accept with one click.

Format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf (lines from 1; a range
without columns covers whole lines, its end included).
"""

from __future__ import annotations

from typing import Any

from selfdebug.model import Attempt, Failure, Repair
from selfdebug.reports.base import INFORMATION_URI, Example, Report, View
from selfdebug.reports.diffs import Block, blocks, lines_of
from selfdebug.reports.documents import dumps
from selfdebug.reports.evidence import crash_frame, decoded, guard_sentence, kept


def document(repair: Repair) -> dict[str, Any]:
    """One diagnostic a changed block, and one for each failure that no patch answers."""
    patched = {attempt.diagnosis.failure.node_id for attempt, _ in kept(repair)} if repair.diffs else set()
    diagnostics = [
        _suggestion(repair, edited.file, edited.before, block)
        for edited in repair.diffs
        for block in blocks(edited.before, edited.after)
    ]
    diagnostics += [
        diagnostic
        for failure in repair.failures
        if failure.node_id not in patched and (diagnostic := _failure(failure)) is not None
    ]
    return {
        "source": {"name": "selfdebug", "url": INFORMATION_URI},
        "severity": "WARNING",
        "diagnostics": diagnostics,
    }


def _suggestion(repair: Repair, file: str, before: bytes, block: Block) -> dict[str, Any]:
    attempt = _nearest(repair, file, block)
    message, code = "A plausible patch.", "guard"
    if attempt is not None and attempt.kept is not None:
        message = f"{attempt.diagnosis.sentence} Plausible patch: {guard_sentence(attempt.kept)}."
        code = attempt.kept.candidate.guard
    block = _whole_lines(block, before)
    where = _range(block)
    return {
        "message": message.strip(),
        "location": {"path": file, "range": where},
        "severity": "WARNING",
        "code": {"value": code},
        "suggestions": [{"range": where, "text": _text(block, before)}],
    }


def _nearest(repair: Repair, file: str, block: Block) -> Attempt | None:
    """The attempt whose guard lies nearest to the block; its line counts in the file as that attempt found it."""
    here = [attempt for attempt, patch in kept(repair) if patch.file == file]
    first = block.start + 1
    return min(here, key=lambda a: abs(_line(a) - first), default=None)


def _line(attempt: Attempt) -> int:
    return attempt.kept.candidate.expression.start_line if attempt.kept else 0


def _whole_lines(block: Block, before: bytes) -> Block:
    """The block as a replacement of at least one line: an insertion takes the line after it (at the end, before) along.

    A linewise range is what every reader of the format can turn into a suggestion; it cannot be empty.
    """
    if block.removed:
        return block
    old = lines_of(before)
    if block.start < len(old):
        neighbour = old[block.start]
        return Block(block.start, (neighbour,), (*block.added, neighbour))
    neighbour = old[-1] if old else b""
    return Block(max(0, len(old) - 1), (neighbour,), (neighbour, *block.added))


def _range(block: Block) -> dict[str, Any]:
    """The replaced lines; without columns a range is linewise and includes its end."""
    return {"start": {"line": block.start + 1}, "end": {"line": block.start + len(block.removed)}}


def _text(block: Block, before: bytes) -> str:
    """The new lines without the last line end, as a linewise range has it."""
    head = b"".join(lines_of(before)[:2])
    text = decoded(head + b"".join(block.added))[len(decoded(head)) :]
    return text.removesuffix("\n").removesuffix("\r")


def _failure(failure: Failure) -> dict[str, Any] | None:
    frame = crash_frame(failure)
    if frame is None or frame.file is None or frame.line is None:
        return None
    return {
        "message": f"{failure.node_id or 'A test'} fails here: {failure.exception}",
        "location": {"path": frame.file, "range": {"start": {"line": frame.line}}},
        "severity": "ERROR",
        "code": {"value": failure.exception.short_type},
    }


EXPECTED_KEPT = """\
{
  "source": {
    "name": "selfdebug",
    "url": "https://github.com/selfdebug/selfdebug"
  },
  "severity": "WARNING",
  "diagnostics": [
    {
      "message": "customer is None where its attribute orders is read. Plausible patch: condition-prefix on customer: \
the condition is false for the None that was seen.",
      "location": {
        "path": "shop/discount.py",
        "range": {
          "start": {
            "line": 8
          },
          "end": {
            "line": 8
          }
        }
      },
      "severity": "WARNING",
      "code": {
        "value": "condition-prefix"
      },
      "suggestions": [
        {
          "range": {
            "start": {
              "line": 8
            },
            "end": {
              "line": 8
            }
          },
          "text": "    if customer is not None and customer.orders > 10:  # a regular"
        }
      ]
    }
  ]
}
"""


def render(repair: Repair, _view: View) -> bytes:
    """The run as one `DiagnosticResult` document."""
    return dumps(document(repair))


REPORT = Report(
    name="rdjson",
    summary="Suggestions for reviewdog, to be accepted in a pull request.",
    render=render,
    examples=(Example("kept", EXPECTED_KEPT),),
    suffixes=(".rdjson",),
)
