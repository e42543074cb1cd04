"""The facts of a run that answers are made of, each with the step that recorded it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from selfdebug.trace.queries.base import value_at
from selfdebug.trace.queries.overview import latest
from selfdebug.trace.records import Finding, Step, Trace

_TRIAL_KEY = re.compile(r"trial\.(\d+)\.(\w+)\Z")


@dataclass(frozen=True, slots=True)
class Fact:
    """A recorded value and the step that gave it."""

    value: Any
    step: str

    def __str__(self) -> str:
        return f"{self.value} [{self.step}]"


@dataclass(frozen=True, slots=True)
class TrialFact:
    """One candidate as it was judged."""

    step: str
    candidate: dict[str, Any]
    verdict: str
    detail: str
    seconds: float

    @property
    def name(self) -> str:
        """The guard on its receiver, with its default."""
        return named(self.candidate)


def named(candidate: dict[str, Any]) -> str:
    """A candidate in words: `or-default on user with default []`."""
    default = f" with default {candidate['default']}" if candidate.get("default") is not None else ""
    return f"{candidate.get('guard')} on {candidate.get('receiver')}{default}"


class Facts:
    """What a trace holds, by the names that answers need."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def get(self, key: str) -> Fact | None:
        """The last value of a key, or None when the run never wrote it."""
        found = latest(self.trace, key)
        return None if found is None or found[0] is None else Fact(*found)

    def values(self, key: str) -> list[Any]:
        """Every value that was ever set under a key, in order: those of all attempts."""
        return [write.value for step in self.trace.steps for write in step.writes if write.key == key]

    def as_of(self, key: str, step: Step) -> Any:
        """The value of a key after a step, None where it had none."""
        found = value_at(self.trace, key, step.number)
        return None if found is None else found[0].value

    def items(self, key: str) -> list[dict[str, Any]]:
        """The last value of a key that holds records, empty where there is none."""
        fact = self.get(key)
        return [item for item in fact.value if isinstance(item, dict)] if fact and isinstance(fact.value, list) else []

    def members(self, key: str) -> Iterator[tuple[dict[str, Any], str]]:
        """Every record that was ever set or appended under a key, with its step: all attempts, not the last only."""
        for step in self.trace.steps:
            for write in step.writes:
                if write.key == key:
                    values = write.value if isinstance(write.value, list) else [write.value]
                    yield from ((item, step.id) for item in values if isinstance(item, dict))

    @cached_property
    def trials(self) -> list[TrialFact]:
        """All judged candidates, in order."""
        fields: dict[str, dict[str, Any]] = defaultdict(dict)
        for step in self.trace.steps:
            for write in step.writes:
                match = _TRIAL_KEY.match(write.key)
                if match:
                    fields[step.id][match[2]] = write.value
        return [
            TrialFact(
                step,
                found["candidate"],
                str(found["verdict"]),
                str(found.get("detail", "")),
                _number(found.get("seconds")),
            )
            for step, found in fields.items()
            if isinstance(found.get("candidate"), dict) and "verdict" in found
        ]

    @cached_property
    def kept(self) -> list[Step]:
        """The steps that kept a patch."""
        return [step for step in self.trace.steps if any(write.key == "patch.diff" for write in step.writes)]

    def findings(self, *kinds: str) -> list[Finding]:
        """The integrity findings of these kinds, all without any."""
        return [finding for finding in self.trace.findings if not kinds or finding.kind in kinds]

    def seconds(self) -> dict[str, float]:
        """The time of each stage, the longest first."""
        total: dict[str, float] = defaultdict(float)
        for step in self.trace.steps:
            total[step.stage] += step.seconds or 0.0
        return dict(sorted(total.items(), key=lambda item: -item[1]))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
