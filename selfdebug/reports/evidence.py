"""What several formats tell in the same words: the probe lines, the places, the counts, the guards that were kept."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence

from selfdebug.model import (
    Attempt,
    Caught,
    Diagnosis,
    EditedFile,
    Failure,
    FaultLocation,
    Frame,
    Patch,
    Receiver,
    Repair,
    Value,
    Verdict,
)
from selfdebug.reports.diffs import unified
from selfdebug.terminal import clipped, counted, one_line

MAX_PROBED = 120
"""Columns of one value in a probe line; the JSON document has the whole of what was recorded."""


def decoded(data: bytes, source: bytes | None = None) -> str:
    """Text in the encoding that a Python file declares (PEP 263), UTF-8 where that cannot be read.

    The file is `source`, the text itself without one.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data if source is None else source).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return data.decode("utf-8", "replace")


def whole_diff(files: Sequence[EditedFile]) -> bytes:
    """The diff of all files, in their order."""
    return b"".join(unified(each.file, each.before, each.after) for each in files)


def readable_diff(files: Sequence[EditedFile]) -> str:
    """The diff as text: each file in its own encoding, so that what a person reads is what the editor shows."""
    return "".join(decoded(unified(each.file, each.before, each.after), each.before) for each in files)


def readable_patch(patch: Patch) -> str:
    """The diff of one patch as text."""
    return readable_diff([EditedFile(patch.file, patch.before, patch.after)])


def shown_value(value: Value) -> str:
    """The repr on one line, marked where the recorder cut or hid it."""
    return one_line(value.repr) + (" [cut]" if value.truncated else "") + (" [redacted]" if value.redacted else "")


def probe_lines(repair: Repair) -> Iterator[str]:
    """What the probes caught, as `DBG-PROBE` and `DBG-CAUGHT` lines, each caught exception once."""
    seen = set()
    for attempt in repair.attempts:
        for caught in attempt.diagnosis.caught:
            lines = tuple(lines_of(caught))
            if lines not in seen:
                seen.add(lines)
                yield from lines


def lines_of(caught: Caught) -> Iterator[str]:
    """The two log lines of one exception that left a probed statement."""
    names = ", ".join(f"{name!r}: {clipped(one_line(value.repr), MAX_PROBED)}" for name, value in caught.locals)
    line = caught.place.line
    yield f"DBG-PROBE frame={one_line(caught.place.function or '<module>')} line={line} locals={{{names}}}"
    yield f"DBG-CAUGHT {one_line(caught.exception.short_type)} line={line} error={one_line(caught.exception.message)}"


def kept(repair: Repair) -> Iterator[tuple[Attempt, Patch]]:
    """The attempts whose patch was kept for the next turn, with that patch."""
    for attempt in repair.attempts:
        if attempt.kept is not None:
            yield attempt, attempt.kept


def crash_frame(failure: Failure) -> Frame | None:
    """The frame that a report names for a failure: the deepest outside the tests, else the deepest in the project."""
    return failure.deepest_source or failure.deepest


def reason_of(diagnosis: Diagnosis) -> str:
    """The sentence of a diagnosis without the exception and the place, for where these stand beside it."""
    raised = f"{diagnosis.failure.crash.exception.short_type} at {diagnosis.location.where}: "
    return one_line(diagnosis.sentence.removeprefix(raised))


def first_receiver(location: FaultLocation) -> Receiver | None:
    """The most likely receiver of a fault location."""
    return location.receivers[0] if location.receivers else None


def trial_counts(repair: Repair) -> str:
    """How the candidates were judged: `2 candidates judged: 1 ineffective, 1 plausible.`"""
    verdicts = Counter(trial.verdict for attempt in repair.attempts for trial in attempt.trials)
    refused = verdicts.pop(Verdict.REFUSED, 0)
    total = sum(verdicts.values())
    each = ", ".join(f"{count} {verdict.value}" for verdict, count in verdicts.most_common())
    judged = f"{counted(total, 'candidate')} judged: {each}." if total else "No candidate was judged."
    return f"{judged} {refused} more did not fit the code." if refused else judged


def guard_sentence(patch: Patch) -> str:
    """What a patch does, in one sentence: guard, receiver, default and why it was chosen."""
    candidate = patch.candidate
    default = f", default {one_line(candidate.default)}" if candidate.default is not None else ""
    source = f" ({one_line(candidate.default_source)})" if default and candidate.default_source else ""
    reason = f": {one_line(candidate.reason)}" if candidate.reason else ""
    donor = f", {one_line(candidate.donor)}" if candidate.donor and candidate.donor not in source else ""
    lines = sorted({str(spot.expression.start_line) for spot in candidate.also}, key=int)
    also = f"; also in line {', '.join(lines)}" if lines else ""
    return f"{candidate.guard} on {one_line(candidate.receiver_code)}{default}{source}{reason}{donor}{also}"
