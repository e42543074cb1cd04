"""What a guard is: its contract, its examples and refusals, and the records that go in and come out of an edit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from codemods.selfdebug.spans import Span


class RefusedError(Exception):
    """The guard does not fit here; the reason is kept and shown. In doubt, a guard refuses."""


class TargetNotFoundError(Exception):
    """No statement or expression of the source lies at the span that was asked for."""


class Test(StrEnum):
    """The condition under which the guarded code runs as before."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    NOT_NONE = "not-none"
    TRUTHY = "truthy"
    IS_INSTANCE = "isinstance"
    HAS_KEY = "has-key"
    IN_RANGE = "in-range"
    NON_ZERO = "non-zero"
    NO_EXCEPTION = "no-exception"


class DefaultUse(StrEnum):
    """Whether a guard puts a default value into the code."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be guarded: the dereference that raised (`user.name`) and the receiver in it (`user`)."""

    expression: Span
    receiver: Span


@dataclass(frozen=True, slots=True)
class Parameters:
    """How it is to be guarded: source of the default, the condition, and class or exception names it needs."""

    default: str | None = None
    test: Test = Test.NOT_NONE
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the bytes `start` (included) to `end` (excluded); all other bytes stay as they are."""

    start: int
    end: int
    replacement: bytes

    def apply_to(self, source: bytes) -> bytes:
        """The whole file after the edit."""
        return source[: self.start] + self.replacement + source[self.end :]
