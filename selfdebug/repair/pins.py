"""What the tests really hold of a kept patch: each part of it is changed, and the tests that come to it run again.

A part whose change no test notices is reported as not pinned, with an assertion that would pin it: the patch passes,
and so would another. The tests run in forks of the process that has judged the candidates, never in one of their own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from codemods.selfdebug.source import Source
from selfdebug.model import Firing, Patch, Pin
from selfdebug.repair.behaviour import MOST_RECORDED, Behaviour, Decision, Stage
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import node_ids
from selfdebug.repair.suggestions import suggestion
from selfdebug.stages.propose import apply_candidate
from selfdebug.stages.vary import Variant, Watched, condition_part, variants, within_functions

_SECONDS = 6.0
"""The varying of one patch ends after so many."""


def pinned(bench: Bench, stage: Stage, behaviour: Behaviour) -> tuple[Pin, ...]:
    """Whether the tests notice when a part of a patch changes, the parts that none of them holds first.

    Nothing is said of what the guard would be without its condition, since the failing test fails then by its nature,
    nor of parts for which the time did not suffice.
    """
    if not behaviour.reached:
        return ()
    judged = _Judged(bench, stage, behaviour)
    found = variants(behaviour.patch, behaviour.parts, _with_default)
    pins = [pin for _, group in groupby(found, key=lambda variant: variant.part) if (pin := judged.pin(list(group)))]
    return tuple(sorted(pins, key=lambda pin: pin.pinned))


def firings(bench: Bench, stage: Stage, behaviour: Behaviour) -> tuple[Firing, ...] | None:
    """How often the guard acted in each test that comes to it; None for a patch without a branch that could be counted.

    A condition acts with the value that it had in the failing tests, which would have crashed with the other one; where
    it had both there, with the one without which they crash as before.
    """
    targets = node_ids(stage.group)
    decisions = _deciding(behaviour)
    if decisions is None:
        return None
    acts = _acting_value(decisions, targets)
    if acts is None and behaviour.parts.conditions:
        acts = _value_against_crash(bench, stage, behaviour)
    if acts is None and any(each.kind is Watched.CONDITION for each in decisions):
        return None
    counted = [_firing(behaviour, decisions, node, acts) for node in behaviour.reached]
    return tuple(each for each in counted if each.reached or each.node_id in targets)


def has_unread_default(bench: Bench, stage: Stage, behaviour: Behaviour) -> bool:
    """Whether the tests still pass when the default of a patch is something with which nothing can be done."""
    found = variants(behaviour.patch, behaviour.parts, _with_default)
    unread = next((variant for variant in found if variant.is_unread), None)
    return unread is not None and _Judged(bench, stage, behaviour).notices(unread) == ""


def _with_default(patch: Patch, default: str) -> bytes:
    return apply_candidate(replace(patch.candidate, default=default), Source.parse(patch.before)).after


@dataclass(slots=True)
class _Judged:
    """Runs the variants of one patch until the time is over."""

    bench: Bench
    stage: Stage
    behaviour: Behaviour
    until: float = 0.0

    def __post_init__(self) -> None:
        self.until = time.monotonic() + _SECONDS

    def pin(self, variants_of_part: Sequence[Variant]) -> Pin | None:
        """What the tests say of the variants of one part; None when they say nothing of it."""
        noticed: tuple[Variant, str] | None = None
        for variant in variants_of_part:
            failing = self.notices(variant)
            if failing is None:
                continue
            if not failing:
                where = ", ".join(dict.fromkeys(node.partition("::")[0] for node in self.behaviour.reached))
                sentence = f"No test of {where} notices when the {variant.part} {variant.change}."
                if variant.is_unread:
                    sentence = f"No test of {where} reads the {variant.part}."
                return Pin(variant.part, False, sentence, suggestion(self.behaviour, node_ids(self.stage.group)))
            noticed = noticed or (variant, failing)
        if noticed is None:
            return None
        variant, failing = noticed
        return Pin(variant.part, True, f"{failing} fails when the {variant.part} {variant.change}.")

    def notices(self, variant: Variant) -> str | None:
        """A test that notices the change, empty where none does, None where this is not known."""
        if time.monotonic() > self.until:
            return None
        tests, patch = self.behaviour.reached, self.behaviour.patch
        run = self.bench.screen_some(tests, {patch.file: within_functions(patch.before, variant.after)})
        if run is None:
            return None
        return next((node for node in tests if node not in run.passed), "")


# ---------------------------------------------------------------- how often the guard acted


def _deciding(behaviour: Behaviour) -> list[Decision] | None:
    """The decisions of the part that decides whether the guard acts; None where the patch has none."""
    parts = behaviour.parts
    if parts.conditions:
        name = parts.conditions[-1].code  # the last of several that are joined by `and` is asked when the others hold
        return [each for each in behaviour.decisions if each.kind is Watched.CONDITION and each.name == name]
    if parts.handlers:
        caught = behaviour.patch.candidate.classes
        entered = [each for each in behaviour.decisions if each.kind is Watched.HANDLER]
        return [each for each in entered if _is_one_of(each, caught)]
    if parts.fallbacks or parts.is_import:
        return [each for each in behaviour.decisions if each.kind is Watched.USE]
    return None


def _is_one_of(decision: Decision, classes: Sequence[str]) -> bool:
    names = {name.rpartition(".")[2] for name in (decision.value.type, *decision.value.bases)}
    return not classes or any(each.rpartition(".")[2] in names for each in classes)


def _acting_value(decisions: Sequence[Decision], targets: Sequence[str]) -> bool | None:
    values = {_truth(each) for each in decisions if each.node_id in targets}
    return values.pop() if len(values) == 1 else None


def _value_against_crash(bench: Bench, stage: Stage, behaviour: Behaviour) -> bool | None:
    """The value of the deciding condition without which a failing test crashes with the exception that it had."""
    crashes = {(failure.exception.type, failure.exception.message) for failure in stage.group}
    part = condition_part(behaviour.parts.conditions[-1].code)
    for variant in variants(behaviour.patch, behaviour.parts, _with_default):
        if variant.part == part and variant.value is not None:
            after = within_functions(behaviour.patch.before, variant.after)
            run = bench.screen_some(node_ids(stage.group), {behaviour.patch.file: after})
            if run and any((new.exception.type, new.exception.message) in crashes for new in run.failures):
                return not variant.value
    return None


def _truth(decision: Decision) -> bool | None:
    return {"True": True, "False": False, "None": False}.get(decision.value.repr)


def _firing(behaviour: Behaviour, decisions: Sequence[Decision], node: str, acts: bool | None) -> Firing:
    own = [each for each in decisions if each.node_id == node]
    if any(each.kind is Watched.CONDITION for each in own):
        acted = sum(_truth(each) is acts for each in own)
        return Firing(node, acted, len(own), len(own) >= MOST_RECORDED)
    calls = sum(call.node_id == node for call in behaviour.calls)
    return Firing(node, len(own), max(calls, len(own)), len(own) >= MOST_RECORDED)
