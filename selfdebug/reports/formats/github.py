"""GitHub's workflow commands: each crash and each guard as an annotation in the pull request.

Format: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands (lines and columns from 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from selfdebug.model import Attempt, FinalStatus, Patch, Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.diffs import blocks
from selfdebug.reports.evidence import guard_sentence, kept
from selfdebug.reports.findings import Finding, findings
from selfdebug.terminal import plain

_LEVELS = {FinalStatus.PASS: "notice", FinalStatus.PARTIAL: "warning", FinalStatus.FAIL: "error"}


def render(repair: Repair, _view: View) -> bytes:
    """The run as lines that a runner turns into annotations; the last one says how the run ended."""
    lines = [
        *(_finding(finding) for finding in findings(repair)),
        *_patches(repair),
        *(_command("warning", {"title": "selfdebug"}, warning) for warning in repair.warnings),
        _command(_LEVELS[repair.final_status], {"title": "selfdebug"}, repair.sentence),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _finding(finding: Finding) -> str:
    place: dict[str, object] = {"file": finding.file, "line": finding.line}
    span = finding.span
    if span is not None:
        place |= {"line": span.start_line, "col": span.start_column + 1}
        place |= {"endLine": span.end_line, "endColumn": span.end_column + 1}
    return _command("error", {"title": f"selfdebug ({finding.rule})", **place}, finding.message)


def _patches(repair: Repair) -> Iterator[str]:
    if repair.diffs:
        for attempt, patch in kept(repair):
            yield _patch(attempt, patch)


def _patch(attempt: Attempt, patch: Patch) -> str:
    """The guard, at the lines of the file as its attempt found it."""
    (first, *_), (*_, last) = (changed := blocks(patch.before, patch.after)), changed
    end = max(first.start + 1, last.start + len(last.removed))
    place = {"file": patch.file, "line": first.start + 1, "endLine": end}
    added = b"".join(line for block in changed for line in block.added).decode("utf-8", "replace")
    loose = [pin.part for pin in attempt.pins if not pin.pinned]
    not_pinned = f"\nNot pinned by any test: {', '.join(loose)}." if loose else ""
    text = f"Plausible patch: {guard_sentence(patch)}.{not_pinned}\n{added}"
    return _command("notice", {"title": f"selfdebug ({patch.candidate.guard})", **place}, text)


def _command(name: str, properties: Mapping[str, object], message: str) -> str:
    given = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items())
    return f"::{name} {given}::{_escaped(message.strip())}"


def _escaped(text: str, also: str = "") -> str:
    """Harmless text with what ends a command or a property written as percent codes, as the runner reads them."""
    text = plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for character in also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


EXPECTED_KEPT = """\
::error title=selfdebug (none-attribute),file=shop/discount.py,line=8,col=8,endLine=8,endColumn=16::customer is None \
where its attribute orders is read. AttributeError: 'NoneType' object has no attribute 'orders'
::notice title=selfdebug (condition-prefix),file=shop/discount.py,line=8,endLine=8::Plausible patch: condition-prefix \
on customer: the condition is false for the None that was seen.%0ANot pinned by any test: the value returned to a \
guest.%0A    if customer is not None and customer.orders > 10:  # a regular
::notice title=selfdebug::The failing test passes with this plausible patch, and so do the 2 that passed before.
"""

REPORT = Report(
    name="github",
    summary="Annotations for a GitHub workflow.",
    render=render,
    examples=(
        Example("kept", EXPECTED_KEPT),
        Example("nothing_failed", "::notice title=selfdebug::All 3 tests pass; there is nothing to repair.\n"),
    ),
)
