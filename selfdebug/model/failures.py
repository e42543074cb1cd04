"""What a failing test shows: its phase, its exception, its frames, the values in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from codemods.selfdebug.spans import Span


class When(StrEnum):
    """The phase of a test that failed."""

    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a project file, as reports name it."""

    file: str
    line: int
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Value:
    """What was recorded of one object: its class, a bounded and redacted repr, and whether it was None."""

    type: str
    repr: str
    is_none: bool = False
    truncated: bool = False
    redacted: bool = False
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExceptionRecord:
    """An exception as it was seen: qualified class name without `builtins.`, message, and what it says of itself.

    `name` is the attribute or variable an AttributeError or NameError names, `key` the repr of a KeyError's key;
    `is_cut` says that the message was shortened before it reached us.
    """

    type: str
    message: str
    name: str | None = None
    key: str | None = None
    is_cut: bool = False
    mro: tuple[str, ...] = ()

    @property
    def short_type(self) -> str:
        """The class name without its module."""
        return self.type.rsplit(".", 1)[-1]

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback entry. `path` is as the log or the interpreter writes it; `file` is set when it is in the project.

    `span` covers the sub-expression that was being evaluated, where the interpreter tells (Python 3.11 and newer).
    """

    path: str
    line: int | None
    function: str | None = None
    file: str | None = None
    span: Span | None = None
    code: str | None = None
    locals: tuple[tuple[str, Value], ...] = ()
    is_test: bool = False
    is_hidden: bool = False

    @property
    def place(self) -> Place | None:
        """The frame as a place in the project, or None outside it."""
        return Place(self.file, self.line, self.function) if self.file and self.line else None


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing test phase: frames outermost first, the chained causes newest first, the leaves of a group."""

    node_id: str | None
    when: When
    exception: ExceptionRecord
    frames: tuple[Frame, ...] = ()
    causes: tuple[Failure, ...] = ()
    group: tuple[Failure, ...] = ()

    @property
    def crash(self) -> Failure:
        """The failure that really crashed: for an exception group its first leaf with a project frame, else itself."""
        for leaf in self.group:
            if leaf.crash.deepest is not None:
                return leaf.crash
        return self

    @property
    def project_frames(self) -> tuple[Frame, ...]:
        """The visible frames inside the project, outermost first."""
        return tuple(frame for frame in self.frames if frame.file and frame.line and not frame.is_hidden)

    @property
    def deepest(self) -> Frame | None:
        """The last frame inside the project, its tests included."""
        return self.project_frames[-1] if self.project_frames else None

    @property
    def deepest_source(self) -> Frame | None:
        """The last frame inside the project and outside its tests."""
        return next((frame for frame in reversed(self.project_frames) if not frame.is_test), None)
