"""What a traced run saw of the project's functions: their frames, step by step, with the values in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class TracedValue:
    """What a trace keeps of one object: its identity while it lived (0 for None), its class and a short text.

    `size` is the length of a text or of a built-in container.
    """

    identity: int
    type: str
    text: str
    size: int | None = None

    @property
    def is_none(self) -> bool:
        """Whether the value was None."""
        return self.type == "NoneType"

    @property
    def is_missing(self) -> bool:
        """Whether there was no such name, attribute or item."""
        return self.type == ""


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One event of a frame. `kind` is `line`, `return`, `yield`, `raise`, `unwind`, or `gap`: its next lines were not
    recorded.

    `reads` are the names, attributes and items that a line was about to use, `stores` those after it was executed,
    both by their source text; `consumer` is the number of the frame that a generator yielded to.
    """

    sequence: int
    kind: str
    line: int
    value: TracedValue | None = None
    reads: tuple[tuple[str, TracedValue], ...] = ()
    stores: tuple[tuple[str, TracedValue], ...] = ()
    exception: str = ""
    consumer: int | None = None


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """One execution of a function, module or class body of the project, with the frame of the project that called it.

    `way` counts the frames outside the project between the two. A partial frame ran too often for its last lines to be
    recorded; of an old one only the last execution of each line is there, if anything.
    """

    number: int
    file: str
    function: str
    qualified: str
    first_line: int
    started: int
    caller: int | None
    caller_line: int | None
    way: int
    arguments: tuple[tuple[str, TracedValue], ...]
    thread: int
    steps: tuple[TracedStep, ...]
    is_partial: bool = False
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project by its file, its name, and the first line of its code, decorators included."""

    file: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Called:
    """A function that was called `calls` times up to a failure; `returned_none` where it was seen to return None."""

    function: Function
    calls: int
    returned_none: bool = False


class Pass(StrEnum):
    """What a traced run looks at: everything, or in the first of two passes only what is called and returns None."""

    EVERYTHING = "everything"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Suspects:
    """What the second of two passes looks at: the lines of these functions.

    Code that runs often is looked at in the beginning and near the end only. How near it is, the functions of the
    `clock` tell: the failure comes after `ticks` calls of them.
    """

    functions: frozenset[Function]
    clock: frozenset[Function] = frozenset()
    ticks: int = 0


Tracing = Pass | Suspects
"""What a traced run looks at: all of a pass, or (in the second of two) what the first has made suspicious."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What the project's code did up to a failure of `node_id`. `gap` says why it could not be traced, if so.

    Of a narrow trace, only the functions of the second pass are there.
    """

    node_id: str | None
    frames: tuple[TracedFrame, ...]
    gap: str = ""
    is_cut: bool = False
    is_narrow: bool = False
