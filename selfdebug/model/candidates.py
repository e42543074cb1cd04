"""What may mend it: candidates, their patches, and what the tests said of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from codemods.selfdebug.spans import Span
from selfdebug.model.failures import Failure
from selfdebug.model.pytest_runs import Tier


class Site(StrEnum):
    """Where a candidate edits, seen from the crash."""

    CRASH = "crash-statement"
    CONDITION = "condition-of-raise"
    FUNCTION = "same-function"
    CALLER = "caller"
    ORIGIN = "origin"


@dataclass(frozen=True, slots=True)
class Spot:
    """A further place that a candidate changes in the same way: the dereference and the receiver in it."""

    expression: Span
    receiver: Span


@dataclass(frozen=True, slots=True)
class Candidate:
    """One guard with its parameters at one span: `default` and `test` are as the guard takes them.

    `is_hard_coded` says that the default is the very answer that the failing test expects; `donor` names a place of the
    project that does the same where such a thing is missing (`as in app/users.py:120`). The places `also` of the same
    file are changed with it, and the `imports` are added where the file does not have them.
    """

    id: str
    guard: str
    family: str
    file: str
    site: Site
    expression: Span
    receiver: Span
    receiver_code: str
    default: str | None
    default_source: str | None
    test: str
    reason: str
    classes: tuple[str, ...] = ()
    is_hard_coded: bool = False
    donor: str | None = None
    also: tuple[Spot, ...] = ()
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """The byte edit of a candidate: `before` and `after` are the whole file's bytes."""

    candidate: Candidate
    file: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    lines_touched: int = 0


class Verdict(StrEnum):
    """What the tests said of a candidate."""

    PLAUSIBLE = "plausible"
    INEFFECTIVE = "ineffective"
    REGRESSED = "regressed"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate judged by running tests; `detail` says in one sentence why the verdict is what it is."""

    candidate: Candidate
    verdict: Verdict
    tier: Tier
    seconds: float
    detail: str
    patch: Patch | None = None
    run_id: str | None = None
    next_failure: Failure | None = None
