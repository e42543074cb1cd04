"""What a survey of files gives, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """A use of a value that may be None: where, of what, why, and which guard answers it (or why none does).

    Lines count from 1, columns are code points from 0; `end_line` and `end_column` end the receiver.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    reason: str
    guard: str | None
    refusal: str


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One file: its spots, and its bytes before and after all guards that fit (the same where none does).

    `unplaced` complaints of a checker name no use that is left unguarded.
    """

    file: str
    spots: tuple[Spot, ...]
    before: bytes
    after: bytes
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that could not be looked at, with the reason."""

    file: str
    reason: str
