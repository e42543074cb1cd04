"""The log for a person: what failed and where, where the value came from, the diff, the verdict, how to undo it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selfdebug.model import Attempt, Diagnosis, Failure, FinalStatus, Link, Patch, Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.evidence import (
    crash_frame,
    guard_sentence,
    kept,
    probe_lines,
    readable_diff,
    reason_of,
    trial_counts,
)
from selfdebug.reports.excerpts import excerpt_of_fault, excerpt_of_frame
from selfdebug.reports.judging import (
    MAX_ALTERNATIVES,
    alternatives_left_out,
    changed_lines,
    differing,
    firing_sentences,
    loose_pins,
)
from selfdebug.terminal import Paint, Tone, clipped, counted, one_line, plain

MAX_FAILURES = 10
"""Failures told one by one; the others are counted."""
MAX_MESSAGE_LINES = 8
"""Lines of an exception's message; the others are counted."""
MAX_MESSAGE_COLUMNS = 500
"""Columns of one line of an exception's message."""


def render(repair: Repair, view: View) -> bytes:
    """The whole log in UTF-8; paragraphs that have nothing to say are left out."""
    paint = Paint(view.color, view.columns)
    paragraphs = [
        _folded((paint(line, Tone.FAINT) for line in probe_lines(repair)), paint),
        *(_attempt(attempt, paint) for attempt in repair.attempts),
        *_undiagnosed(repair, paint),
        _diff(repair, paint),
        _folded(_verdict(repair, paint), paint),
        _folded(_not_pinned(repair, paint), paint),
        *(list(_alternatives(attempt, patch, paint)) for attempt, patch in kept(repair)),
        _folded(_way_back(repair, view), paint),
        _folded((paint(f"Warning: {warning}", Tone.WARNING) for warning in repair.warnings), paint),
    ]
    text = "\n\n".join("\n".join(lines) for lines in paragraphs if lines) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _folded(lines: Iterable[str], paint: Paint) -> list[str]:
    return [row for line in lines for row in paint.folded(line)]


# ---------------------------------------------------------------- what failed, and why


def _attempt(attempt: Attempt, paint: Paint) -> list[str]:
    lines = diagnosis_lines(attempt.diagnosis, paint)
    if attempt.kept is not None:
        lines += ["", *paint.folded(f"Guard: {paint(guard_sentence(attempt.kept))}.")]
    return lines


def diagnosis_lines(diagnosis: Diagnosis, paint: Paint) -> list[str]:
    """The failure, the statement with its receiver underlined, the sentence, the chain of the value."""
    location, failure = diagnosis.location, diagnosis.failure
    lines = [_headline(failure, paint), *_place(f"{location.file}:{location.line}", location.function, paint)]
    lines += [f"    {line}" for line in excerpt_of_fault(location, paint.inset(4))]
    lines += _exception(failure, paint)
    if diagnosis.sentence:
        lines += paint.folded(f"  {reason_of(diagnosis)}")
    if diagnosis.origin:
        lines += ["", "Where the value came from, from the crash back:"]
        lines += [text for link in diagnosis.origin for text in _link(link, paint)]
    return lines


def _headline(failure: Failure, paint: Paint) -> str:
    phase = "" if failure.when.value == "call" else f" ({failure.when.value})"
    return f"{paint('FAILED', Tone.BAD, Tone.STRONG)} {one_line(failure.node_id or 'a captured failure')}{phase}"


def _place(place: str, function: str | None, paint: Paint) -> list[str]:
    inside = f" in {one_line(function)}" if function else ""
    return paint.folded(f"  {paint(one_line(place), Tone.PLACE)}{inside}")


def _exception(failure: Failure, paint: Paint) -> Iterator[str]:
    """The exception with the first lines of its message, each on a line of its own."""
    exception = failure.exception
    first, *others = plain(exception.message).split("\n")
    head = f"  {one_line(exception.type)}" + (f": {first}" if exception.message else "")
    shown = [head, *(f"    {line}" for line in others[: MAX_MESSAGE_LINES - 1])]
    for line in shown:
        yield from paint.folded(clipped(line, MAX_MESSAGE_COLUMNS))
    if len(others) >= MAX_MESSAGE_LINES:
        yield f"    ... and {counted(len(others) - MAX_MESSAGE_LINES + 1, 'more line')}"


def _link(link: Link, paint: Paint) -> Iterator[str]:
    place = paint(f"{one_line(link.file)}:{link.line}", Tone.PLACE)
    yield from paint.folded(f"  {place}  {one_line(link.code.strip())}", hanging=4)
    yield from paint.folded(
        f"    {one_line(link.sentence)} {paint(f'[{one_line(link.value)}, {link.evidence}]', Tone.FAINT)}"
    )


def _undiagnosed(repair: Repair, paint: Paint) -> Iterator[list[str]]:
    """The failures that no attempt looked at, shortly."""
    told = {attempt.diagnosis.failure.node_id for attempt in repair.attempts}
    others = [failure for failure in repair.failures if failure.node_id not in told]
    for failure in others[:MAX_FAILURES]:
        yield list(_short(failure, paint))
    if len(others) > MAX_FAILURES:
        yield [f"... and {len(others) - MAX_FAILURES} more failures."]


def _short(failure: Failure, paint: Paint) -> Iterator[str]:
    yield _headline(failure, paint)
    frame = crash_frame(failure)
    if frame is not None and frame.place is not None:
        yield from _place(str(frame.place), frame.function, paint)
        yield from (f"    {line}" for line in excerpt_of_frame(frame, paint.inset(4)))
    yield from _exception(failure, paint)


# ---------------------------------------------------------------- the patch, the verdict, the way back


def diff_lines(diff: str, paint: Paint) -> list[str]:
    """The lines of a unified diff, coloured as git colours them."""
    return [paint(line, *_tones(line)) for line in diff.replace("\r\n", "\n").removesuffix("\n").split("\n")]


def _tones(line: str) -> tuple[Tone, ...]:
    if line.startswith(("diff ", "--- ", "+++ ")):
        return (Tone.STRONG,)
    return {"+": (Tone.GOOD,), "-": (Tone.BAD,), "@": (Tone.PLACE,)}.get(line[:1], ())


def _diff(repair: Repair, paint: Paint) -> list[str]:
    diff = readable_diff(repair.diffs)
    return diff_lines(diff, paint) if diff else []


def _verdict(repair: Repair, paint: Paint) -> Iterator[str]:
    tone = {FinalStatus.PASS: Tone.GOOD, FinalStatus.PARTIAL: Tone.WARNING, FinalStatus.FAIL: Tone.BAD}
    yield paint(one_line(_sentence(repair)), tone[repair.final_status], Tone.STRONG)
    if repair.attempts:
        yield paint(trial_counts(repair), Tone.FAINT)
    yield from firing_sentences(repair)


def _sentence(repair: Repair) -> str:
    """The sentence of the run; a patch that passes is called plausible, never correct."""
    is_patch = repair.final_status is not FinalStatus.FAIL and bool(repair.diffs)
    if is_patch and "plausible" not in repair.sentence.lower():
        return f"Plausible: {repair.sentence}"
    return repair.sentence


def _not_pinned(repair: Repair, paint: Paint) -> Iterator[str]:
    loose = loose_pins(repair)
    if loose:
        yield paint("Not pinned by any test:", Tone.WARNING)
    for pin in loose:
        yield f"  {one_line(pin.sentence)}"
        if pin.suggestion:
            yield f"    To pin it: {one_line(pin.suggestion)}"


def _alternatives(attempt: Attempt, patch: Patch, paint: Paint) -> Iterator[str]:
    """The other patches that the tests accept and that do something else, each with the difference."""
    others = differing(attempt)
    if others:
        yield paint(f"Also plausible, other than {patch.candidate.guard}:", Tone.WARNING)
    for other in others[:MAX_ALTERNATIVES]:
        yield from paint.folded(f"  {guard_sentence(other.patch)}.")
        yield from paint.folded(f"    {one_line(other.sentence)}")
        yield from (f"    {paint(line, *_tones(line))}" for line in changed_lines(other.patch))
    if left_out := alternatives_left_out(attempt):
        yield f"  {left_out}" if others else left_out


def _way_back(repair: Repair, view: View) -> Iterator[str]:
    if repair.dry_run and repair.diffs:
        yield "Dry run: nothing was written. The patch for git apply: the same command with --format diff."
    elif repair.files_patched and view.can_undo:
        yield f"To undo: selfdebug rollback {repair.run_id}"
    if repair.rollback:
        yield from (f"The best attempt is kept in {one_line(place)}." for place in repair.backup)
    elif repair.files_patched:
        yield from (f"The state before is kept in {one_line(place)}." for place in repair.backup)


EXPECTED_KEPT = """\
DBG-PROBE frame=discount line=8 locals={'customers': {}, 'email': 'ada@example.org', 'customer': None}
DBG-CAUGHT AttributeError line=8 error='NoneType' object has no attribute 'orders'

FAILED tests/test_discount.py::test_a_guest_gets_no_discount
  shop/discount.py:8 in discount
    if customer.orders > 10:  # a regular
       ^^^^^^^^
        return 15
  AttributeError: 'NoneType' object has no attribute 'orders'
  customer is None where its attribute orders is read.

Where the value came from, from the crash back:
  shop/discount.py:7  customer = find(customers, email)
    customer is what find() returned [None, observed]
  shop/discount.py:2  return customers.get(email)
    dict.get() found no 'ada@example.org' and returned its default [None, observed]

Guard: condition-prefix on customer: the condition is false for the None that was seen.

diff --git a/shop/discount.py b/shop/discount.py
--- a/shop/discount.py
+++ b/shop/discount.py
@@ -5,6 +5,6 @@
 # What a customer saves, in percent
 def discount(customers, email):
     customer = find(customers, email)
-    if customer.orders > 10:  # a regular
+    if customer is not None and customer.orders > 10:  # a regular
         return 15
     return 0

The failing test passes with this plausible patch, and so do the 2 that passed before.
2 candidates judged: 1 ineffective, 1 plausible.

Not pinned by any test:
  no test notices 0 becoming 1

To undo: selfdebug rollback 20260101-120000-1a2b
"""

EXPECTED_COMPARED = """\
3 candidates judged: 2 plausible, 1 ineffective.
condition-prefix on customer acted once in 1 of the 3 tests that come to it: \
tests/test_discount.py::test_a_guest_gets_no_discount (1).

Not pinned by any test:
  No test of tests/test_discount.py notices when the condition customer is not None is always false.
    To pin it: assert discount({'ada@example.org': 3}, 'ada@example.org') == 0

Also plausible, other than condition-prefix:
  early-return on customer, default False (a neutral value): return before the statement.
    discount(customers={}, email='ada@example.org') gives 0 with the kept patch and False with this one.
    +    if customer is None:
    +        return False
"""

EXPECTED_ROLLED_BACK = """\
DBG-PROBE frame=discount line=8 locals={'customers': {}, 'email': 'ada@example.org', 'customer': None}
DBG-CAUGHT AttributeError line=8 error='NoneType' object has no attribute 'orders'

FAILED tests/test_discount.py::test_a_guest_gets_no_discount
  shop/discount.py:8 in discount
    if customer.orders > 10:  # a regular
       ^^^^^^^^
        return 15
  AttributeError: 'NoneType' object has no attribute 'orders'
  customer is None where its attribute orders is read.

Where the value came from, from the crash back:
  shop/discount.py:7  customer = find(customers, email)
    customer is what find() returned [None, observed]
  shop/discount.py:2  return customers.get(email)
    dict.get() found no 'ada@example.org' and returned its default [None, observed]

No candidate makes the failing test pass; everything is as it was before.
1 candidate judged: 1 ineffective.

The best attempt is kept in stash@{0}.
"""

REPORT = Report(
    name="text",
    summary="A log for a person at a terminal.",
    render=render,
    examples=(
        Example("kept", EXPECTED_KEPT),
        Example("compared", EXPECTED_COMPARED, is_part=True),
        Example("rolled_back", EXPECTED_ROLLED_BACK),
        Example("nothing_failed", "All 3 tests pass; there is nothing to repair.\n"),
    ),
    suffixes=(".txt", ".log"),
)
