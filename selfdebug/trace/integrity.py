"""Contradictions that a run can catch in itself: pure checks over records, each telling what it looked at.

A check that had nothing to look at says so, because "nothing found" and "nothing checked" are different answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from selfdebug.model import Caught, Failure, FaultLocation, Observation, Outcome, Pin, PytestRun, Tier, Trial, Verdict
from selfdebug.terminal import counted

GUARD_NEVER_FIRED = "guard-never-fired"
VERDICT_NOT_CONFIRMED = "verdict-not-confirmed"
PASSES_WITHOUT_PATCH = "passes-without-patch"
DEFAULT_NOT_PINNED = "default-not-pinned"
FILE_CHANGED = "file-changed-meanwhile"
PROBE_DISAGREES = "probe-disagrees"
NOT_REPRODUCED = "not-reproduced"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a check found, in one sentence, and who bears witness."""

    sentence: str
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one check: how many things it looked at, what it found, what it could not see."""

    kind: str
    looked_at: int
    found: tuple[Contradiction, ...] = ()
    unseen: str = ""


def guard_fired(fired: Mapping[str, int] | None, fixed: Sequence[str]) -> Checked:
    """Whether the guard acted in each test that the patch fixed; `fired` counts by node id (None: nobody counted)."""
    if fired is None:
        return Checked(GUARD_NEVER_FIRED, 0, unseen="how often the guard acted: it was not counted")
    idle = [node for node in fixed if not fired.get(node)]
    found = (Contradiction(f"{node} passes with the patch, but its guard never acted in it.", (node,)) for node in idle)
    return Checked(GUARD_NEVER_FIRED, len(fixed), tuple(found))


def verdict_confirmed(trial: Trial, fresh: PytestRun, targets: Iterable[str]) -> Checked:
    """Whether a plain pytest in a fresh process says the same of a plausible candidate as the trial did."""
    if trial.verdict is not Verdict.PLAUSIBLE:
        return Checked(VERDICT_NOT_CONFIRMED, 0)
    name = f"{trial.candidate.guard} ({trial.candidate.id})"
    tier = "the trial" if trial.tier is Tier.FRESH else f"the {trial.tier.value} trial"
    if not fresh.ended:
        sentence = f"{name} was plausible in {tier}, and the fresh run that should confirm it did not end."
        return Checked(VERDICT_NOT_CONFIRMED, 1, (Contradiction(sentence, (fresh.id,)),))
    outcomes = dict(fresh.outcomes)
    wanted = list(targets)
    failing = [node for node in wanted if outcomes.get(node) in (Outcome.FAILED, Outcome.ERROR)]
    missing = [node for node in wanted if node not in outcomes]
    found: tuple[Contradiction, ...] = ()
    if failing:
        sentence = f"{name} was plausible in {tier}, but in a fresh process {failing[0]} fails."
        found = (Contradiction(sentence, (fresh.id, *failing)),)
    unseen = f"{counted(len(missing), 'test')} that the fresh run did not run" if missing else ""
    return Checked(VERDICT_NOT_CONFIRMED, len(wanted) - len(missing), found, unseen)


def needs_patch(targets: Sequence[str], without: PytestRun | None) -> Checked:
    """Whether the repaired tests fail again when the patch is taken away; `without` is that run (None: not run)."""
    if without is None or not without.ended:
        why = "the tests were not run without it" if without is None else "the run without it did not end"
        return Checked(PASSES_WITHOUT_PATCH, 0, unseen=f"the tests without the patch: {why}")
    passing = [node for node in targets if node in without.passed]
    found = (
        Contradiction(
            f"{node} passes without the patch as well, so it is flaky or another change repaired it.",
            (without.id, node),
        )
        for node in passing
    )
    return Checked(PASSES_WITHOUT_PATCH, len(targets), tuple(found))


def pins(looked_at: Sequence[Pin]) -> Checked:
    """Whether the tests notice when a part of the patch changes."""
    loose = (
        Contradiction(f"No test pins {pin.part}: {pin.sentence}", (pin.part,)) for pin in looked_at if not pin.pinned
    )
    return Checked(
        DEFAULT_NOT_PINNED, len(looked_at), tuple(loose), "" if looked_at else "the patch: it was not varied"
    )


def files_unchanged(touched: Sequence[str], changed: Sequence[str]) -> Checked:
    """Whether somebody else changed a file that the run had edited."""
    found = (
        Contradiction(f"{file} was changed by someone else during the run; it was not overwritten.", (file,))
        for file in changed
    )
    unseen = "files that the run did not touch"
    return Checked(FILE_CHANGED, len(touched), tuple(found), unseen)


def probe_agrees(
    failure: Failure, location: FaultLocation, observations: Sequence[Observation], caught: Sequence[Caught] = ()
) -> Checked:
    """Whether the probed run shows what the traceback says: the same exception, and None where it is about None."""
    found: list[Contradiction] = []
    looked_at = 0
    for item in caught:
        if item.node_id == failure.node_id:
            looked_at += 1
            if item.exception.type != failure.exception.type:
                sentence = f"The traceback names {failure.exception.type}, the probe caught {item.exception.type}."
                found.append(Contradiction(sentence, (str(item.place),)))
    receivers = [receiver for receiver in location.receivers[:1] if location.kind.is_none]
    for receiver in receivers:
        seen = [one.value for one in observations if one.in_failure and one.span == receiver.receiver]
        looked_at += len(seen)
        if seen and not any(value.is_none for value in seen):
            sentence = f"The traceback says that {receiver.code} was None, the probe saw {seen[0].type}."
            found.append(Contradiction(sentence, (receiver.code, f"{location.file}:{location.line}")))
    unseen = "" if looked_at else "the failing evaluation: the probe recorded none"
    return Checked(PROBE_DISAGREES, looked_at, tuple(found), unseen)


def reproduced(named: Sequence[str], run: PytestRun | None) -> Checked:
    """Whether the tests that a log says failed fail here as well; `run` is None when nothing could be run."""
    if run is None:
        return Checked(NOT_REPRODUCED, 0, unseen="the tests of the log: they were not run")
    known = dict(run.outcomes)
    asked = [node for node in named if node in known]
    gone = [node for node in asked if known[node] not in (Outcome.FAILED, Outcome.ERROR)]
    found = (
        Contradiction(f"The log says that {node} fails; here it is {known[node].value}.", (run.id, node))
        for node in gone
    )
    missing = len(named) - len(asked)
    return Checked(
        NOT_REPRODUCED, len(asked), tuple(found), f"{counted(missing, 'test')} that did not run here" if missing else ""
    )
