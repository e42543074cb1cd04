"""What a guard is: its contract, its examples and refusals, and the records that go in and come out of an edit.

Importing this module loads neither libcst nor any guard, so that start-up stays quick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from codemods.selfdebug.spans import Span, split_lines

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class RefusedError(Exception):
    """The guard does not fit here; the reason is kept and shown. In doubt, a guard refuses."""


class TargetNotFoundError(Exception):
    """No statement or expression of the source lies at the span that was asked for."""


class Test(StrEnum):
    """The condition under which the guarded code runs as before."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    NOT_NONE = "not-none"
    NOT_SENTINEL = "not-sentinel"
    TRUTHY = "truthy"
    IS_INSTANCE = "isinstance"
    HAS_KEY = "has-key"
    IN_RANGE = "in-range"
    NON_ZERO = "non-zero"
    HAS_ATTRIBUTE = "has-attribute"
    CALLABLE = "callable"
    AWAITABLE = "awaitable"
    NO_EXCEPTION = "no-exception"


CONDITIONS = frozenset(set(Test) - {Test.NO_EXCEPTION})
"""The tests that can be written as an expression."""


class Family(StrEnum):
    """Guards that do the same kind of thing; the ranking and the quotas of trials go by family."""

    CONDITION_PREFIX = "condition-prefix"
    LOOKUP_DEFAULT = "lookup-default"
    EXPRESSION_DEFAULT = "expression-default"
    FILTER = "filter"
    WRAP = "wrap"
    CONTINUE = "continue"
    EARLY_RETURN = "early-return"
    SUBSTITUTION = "substitution"
    COERCION = "coercion"
    HANDLER = "handler"
    INITIALISATION = "initialisation"
    RAISE = "raise"
    NAME = "name"


class About(StrEnum):
    """What a guard takes its receiver for."""

    VALUE = "value"
    ELEMENTS = "elements"  # the container of what is bad
    EITHER = "either"
    RESULT = "result"  # what its function should give back; no bad value, so no crash asks for it


class DefaultUse(StrEnum):
    """Whether a guard puts a default value into the code."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class DefaultRole(StrEnum):
    """What a guard's default stands for, which decides where a good one is looked for."""

    RECEIVER = "receiver"  # takes the receiver's place and must support its use
    VALUE = "value"  # the value of the guarded expression, or of a name or attribute
    RESULT = "result"  # what the function gives back
    EXCEPTION = "exception"
    IMPORT = "import"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be guarded: the dereference that raised (`user.name`) and the receiver in it (`user`).

    Where no single expression dereferences (`for`, `with`, unpacking, `+=`, `del`), `expression` is the receiver's own
    span or that of the whole statement. For a missing key or index the receiver is the container; the subscript itself
    is accepted as receiver too.
    """

    expression: Span
    receiver: Span


@dataclass(frozen=True, slots=True)
class Parameters:
    """How it is to be guarded: source of the default, the condition, and the names that it needs.

    They are of classes, of exceptions, or of the object that stands for nothing in the project.
    """

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


@dataclass(frozen=True, slots=True)
class Example:
    """An edit that the guard makes. In `before` the receiver stands in «», the dereference in ‹›."""

    before: str
    after: str
    parameters: Parameters = Parameters()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place where the guard changes nothing, and words that its reason contains."""

    before: str
    reason: str
    parameters: Parameters = Parameters()


class Guard(ABC):
    """One rewriting strategy; its docstring, summary, examples and refusals are its tests and its documentation.

    A subclass lives in a module of its own under `guards/`, whose file name is its id. `moves_body` says that it needs
    the whole of a compound statement, not just its header (to put it below a condition, for instance). `lateness` puts
    a guard behind its family: the rarer of two ways, or the one that says the same in more words. `about`
    says whether the receiver is the value that is bad, or the container of such values.
    """

    family: ClassVar[Family]
    summary: ClassVar[str]
    default_use: ClassVar[DefaultUse] = DefaultUse.NONE
    default_role: ClassVar[DefaultRole] = DefaultRole.VALUE
    tests: ClassVar[frozenset[Test]] = frozenset({Test.NOT_NONE})
    lateness: ClassVar[int] = 0
    examples: ClassVar[tuple[Example, ...]] = ()
    refusals: ClassVar[tuple[Refusal, ...]] = ()
    moves_body: ClassVar[bool] = False
    about: ClassVar[About] = About.VALUE

    @property
    def id(self) -> str:
        """The file name with dashes, as users write it."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """The changed unit of `site`. Raises RefusedError where the guard does not fit."""


def apply(source: bytes, target: Target, guard: Guard, parameters: Parameters) -> Edit:
    """The edit that puts `guard` around `target` in the bytes of a file.

    Raises RefusedError (also for a file that cannot be parsed or rewritten without loss) or TargetNotFoundError, and
    nothing else, on any input. For many candidates on one file use `source.Source`, which parses once.
    """
    from codemods.selfdebug.source import Source

    return Source.parse(source).apply(target, guard, parameters)


def marked(text: str) -> tuple[bytes, Target]:
    """The source and the target of an example text: receiver in «», dereference in ‹› (absent: the receiver itself).

    Raises ValueError when the receiver is not marked.
    """
    places: dict[str, tuple[int, int]] = {}
    plain = ""
    for mark_free in _pieces(text):
        if mark_free in "«»‹›":
            lines = split_lines(plain)
            open_line = bool(lines) and lines[-1].endswith(("\n", "\r"))
            row = len(lines) + 1 if open_line else max(len(lines), 1)
            places[mark_free] = (row, 0 if open_line or not lines else len(lines[-1]))
        else:
            plain += mark_free
    if "«" not in places or "»" not in places:
        raise ValueError(f"no receiver is marked in {text!r}")
    receiver = Span(*places["«"], *places["»"])
    expression = Span(*places["‹"], *places["›"]) if "‹" in places else receiver
    return plain.encode(), Target(expression, receiver)


def _pieces(text: str) -> list[str]:
    pieces = [""]
    for character in text:
        if character in "«»‹›":
            pieces += [character, ""]
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece]
