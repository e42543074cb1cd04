"""How answers are worded: values on one line, trials counted, doubts said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from selfdebug.explain.facts import Facts, TrialFact
from selfdebug.trace.queries.base import cut, shown
from selfdebug.trace.records import RunStatus

MAX_LISTED = 8
"""Members of a list that an answer tells before it says how many more there are."""


def inline(value: Any) -> str:
    """A recorded value on one line, bounded, without its last full stop."""
    return cut(shown(value).replace("\n", " ").rstrip(". "), 300)


def how_it_ended(facts: Facts) -> str:
    """What follows "the run" in a sentence."""
    status = str(facts.trace.run.status)
    return f"was {status}" if status == RunStatus.INTERRUPTED else status


def exception_text(value: Any) -> str:
    """A recorded exception as Python prints it."""
    if not isinstance(value, dict):
        return str(value)
    return f"{value.get('type')}: {cut(str(value.get('message')), 200)}"


def verdicts(trials: list[TrialFact]) -> str:
    """How many trials ended with each verdict."""
    counts: dict[str, int] = {}
    for trial in trials:
        counts[trial.verdict] = counts.get(trial.verdict, 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def span(trials: list[TrialFact]) -> str:
    """The steps of the trials, the first and the last."""
    return trials[0].step if len(trials) == 1 else f"{trials[0].step}..{trials[-1].step}"


def doubts(facts: Facts, said: list[str]) -> Iterator[str]:
    """The findings of the run, and the gaps of its record, that touch what was said."""
    for finding in facts.findings()[:5]:
        yield f"Doubt ({finding.kind}): {inline(finding.sentence)} [{finding.step}]."
    if facts.trace.run.dropped:
        yield f"Doubt: the oldest {facts.trace.run.dropped} events of this run were dropped."
    for name in facts.trace.run.left_out:
        yield f"Doubt: {name} is false, so a part was not recorded."
    if any("[redacted]" in line for line in said):
        yield "Doubt: a value above was redacted before it was recorded."
    yield from (f"Doubt: {note}" for note in facts.trace.notes)
