"""What a report says of how far tests judge a kept patch: unpinned parts, how often its guard acts, other patches."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from selfdebug.model import Alternative, Attempt, Firing, Patch, Pin, Repair
from selfdebug.reports.evidence import decoded, kept
from selfdebug.terminal import counted, one_line

MAX_ALTERNATIVES = 3
"""Other patches that are shown in full; the JSON document has all of them."""
_MAX_TESTS = 3
_MAX_LINES = 12


def loose_pins(repair: Repair) -> list[Pin]:
    """The parts of the kept patches that no test holds."""
    return [pin for attempt, _ in kept(repair) for pin in attempt.pins if not pin.pinned]


def firing_sentences(repair: Repair) -> Iterator[str]:
    """How often each guard acted, and in which tests."""
    for attempt, patch in kept(repair):
        sentence = firing_sentence(attempt.firings)
        if sentence:
            yield f"{patch.candidate.guard} on {one_line(patch.candidate.receiver_code)} {sentence}"


def firing_sentence(firings: Sequence[Firing] | None) -> str:
    """`acted 3 times in 2 of 5 tests: test_a (2), test_b (1).`; empty where it was not counted."""
    if firings is None:
        return ""
    acting = sorted((each for each in firings if each.acted), key=lambda each: -each.acted)
    if not acting:
        return f"acted in none of the {len(firings)} tests that come to it."
    more = "at least " if any(each.is_cut for each in acting) else ""
    total = sum(each.acted for each in acting)
    times = "once" if total == 1 and not more else f"{more}{total} times"
    names = [f"{one_line(each.node_id)} ({each.acted})" for each in acting[:_MAX_TESTS]]
    rest = f" and {len(acting) - _MAX_TESTS} more" if len(acting) > _MAX_TESTS else ""
    reached = "the one test that comes" if len(firings) == 1 else f"{len(firings)} tests that come"
    where = reached if len(firings) == 1 else f"{len(acting)} of the {reached}"
    return f"acted {times} in {where} to it: {', '.join(names)}{rest}."


def differing(attempt: Attempt) -> tuple[Alternative, ...]:
    """The other plausible patches that do something else in a test, or were not compared."""
    return tuple(each for each in attempt.alternatives if not each.is_same)


def alternatives_left_out(attempt: Attempt) -> str:
    """What is said of the other plausible patches that are not shown; empty where all are."""
    hidden = len(differing(attempt)) - MAX_ALTERNATIVES
    same = len(attempt.alternatives) - len(differing(attempt))
    parts = [f"{_patches(hidden)} {'differs' if hidden == 1 else 'differ'} as well"] if hidden > 0 else []
    parts += [f"{_patches(same)} did the same in every test"] if same else []
    return f"{', '.join(parts)}." if parts else ""


def _patches(count: int) -> str:
    return counted(count, "other plausible patch", "other plausible patches")


def changed_lines(patch: Patch) -> list[str]:
    """The lines that a patch takes away (`-`) and adds (`+`)."""
    before, after = (decoded(data).splitlines() for data in (patch.before, patch.after))
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    lines = [line for line in lines if not line.startswith("@@")]
    return lines if len(lines) <= _MAX_LINES else [*lines[:_MAX_LINES], f"... {len(lines) - _MAX_LINES} more lines"]
