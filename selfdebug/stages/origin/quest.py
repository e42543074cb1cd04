"""What is being looked for at one point of the way back, and how a link of the chain is written down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codemods.selfdebug.source import Clause
from codemods.selfdebug.spans import code_point_column
from selfdebug.model import Link, TracedFrame, TracedValue
from selfdebug.stages.origin.history import NONE, History, Spot, is_same
from selfdebug.stages.origin.program import Program


@dataclass(frozen=True, slots=True)
class Item:
    """The item of a container under a plain key or index."""

    key: object


@dataclass(frozen=True, slots=True)
class Element:
    """What an iterable gave: at a position that is counted from 0, or not known.

    A mapping gives its keys, and where `is_value` is said its values.
    """

    index: int | None = None
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """The attribute of an object."""

    name: str


@dataclass(frozen=True, slots=True)
class Rest:
    """What a starred target got: the elements from `start` on."""

    start: int


Path = tuple[Item | Element | Member | Rest, ...]


def joined(way: Path, path: Path) -> Path:
    """One way after the other; a part of what a starred target got is a part of the whole."""
    if not way or not isinstance(way[-1], Rest) or not path:
        return (*way, *path)
    first, start = path[0], way[-1].start
    position = first.key if isinstance(first, Item) else getattr(first, "index", None)
    is_counted = isinstance(position, int) and position >= 0
    selector = Item(position + start) if is_counted and isinstance(position, int) else Element()
    return (*way[:-1], selector, *path[1:])


@dataclass(frozen=True, slots=True)
class Quest:
    """Where does `value` come from, which `expression` (and `path` from there on) gave at `spot`?"""

    expression: ast.expr
    spot: Spot
    path: Path = ()
    value: TracedValue = NONE

    def at(self, expression: ast.expr, spot: Spot | None = None, path: Path | None = None) -> Quest:
        """The same value, looked for elsewhere."""
        return replace(
            self,
            expression=expression,
            spot=self.spot if spot is None else spot,
            path=self.path if path is None else path,
        )

    @property
    def text(self) -> str:
        """The value, as links show it."""
        return self.value.text


@dataclass(frozen=True, slots=True)
class Found:
    """One turn of the walk: its links and where to go on (None at the end of the way)."""

    links: tuple[Link, ...]
    next: Quest | None = None


# Links that say what was stored last: a trace with gaps may have missed a later store.
_STORED = frozenset({"attribute", "item", "class-attribute", "default", "closure", "put", "removed"})


class UnseenError(Exception):
    """What is asked for happened while the lines of a frame were not recorded; the message says so."""

    def __init__(self, frame: TracedFrame) -> None:
        super().__init__(f"{frame.function}() ran too often for all its lines to be recorded")


@dataclass(eq=False)
class Evidence:
    """The history with what all rules need: values and links."""

    history: History

    @property
    def outside(self) -> str:
        """Where code is that the trace does not show."""
        return "outside the project, or was not looked at" if self.history.trace.is_narrow else "outside the project"

    def program(self, spot: Spot) -> Program:
        """The program of a spot (one that was found through it)."""
        program = self.history.program(spot.frame)
        assert program is not None  # a spot with clauses has one
        return program

    def frames_called(self, name: str, spot: Spot) -> Iterator[TracedFrame]:
        """The executions of functions that a call of that name can mean at `spot`, newest first.

        They are of the same file, or of one that its file imports from.
        """
        imported = self.program(spot).imported_modules
        for frame in self.history.frames_of(name):
            stem = frame.file.rpartition("/")[2].removesuffix(".py")
            if frame.file == spot.frame.file or stem in imported or stem == "__init__":
                yield frame

    def text(self, expression: ast.expr, spot: Spot) -> str:
        """The source of an expression, shortened."""
        text = self.program(spot).text(expression)
        return text if len(text) <= 60 else text[:57] + "..."

    def subject(self, quest: Quest) -> str:
        """The followed value in words of the code: `config['db']`, `an element of rows`."""
        return self.with_path(self.text(quest.expression, quest.spot), quest.path)

    def with_path(self, text: str, path: Path) -> str:
        """The text of an expression with the way from there to the value."""
        for selector in path:
            match selector:
                case Item(key):
                    text = f"{text}[{key!r}]"
                case Member(name):
                    text = f"{text}.{name}"
                case Rest(start):
                    text = f"{text} from element {start} on"
                case Element(index, is_value):
                    what = "value" if is_value else "element"
                    text = (
                        f"{what} {index} of {text}"
                        if index is not None
                        else f"a{'n' * (not is_value)} {what} of {text}"
                    )
        return text

    def link(  # noqa: PLR0913 - the parts of a link, by name
        self,
        quest: Quest,
        kind: str,
        sentence: str,
        *,
        spot: Spot | None = None,
        node: ast.AST | None = None,
        clause: Clause | None = None,
        observed: bool = True,
    ) -> Link:
        """A link at `node` of `spot` (the quest's own by default)."""
        spot = quest.spot if spot is None else spot
        node = quest.expression if node is None else node
        program = self.program(spot)
        clause = clause or program.clause_of(node)
        line, column = _start_of(node, program) or (spot.step.line, 0)
        return Link(
            file=spot.frame.file,
            line=line,
            column=column,
            function=spot.frame.qualified,
            code=program.header(clause) if clause is not None else program.source.lines[line - 1].strip(),
            value=quest.text,
            kind=kind,
            evidence="observed" if observed and not (kind in _STORED and self.history.trace.is_cut) else "inferred",
            sentence=sentence,
        )

    def end(self, quest: Quest, kind: str, sentence: str, *, observed: bool = True) -> Found:
        """The last link of a chain, at the quest's own expression."""
        return Found((self.link(quest, kind, sentence, observed=observed),))

    def unknown(self, quest: Quest, why: str) -> Found:
        """The end of the evidence."""
        sentence = f"Where {self.subject(quest)} comes from is not known: {why}."
        return Found((self.link(quest, "unknown", sentence, observed=False),))

    def value(self, expression: ast.expr, spot: Spot) -> TracedValue | None:
        """What an expression gave: recorded, or returned by the one function of the project that it called."""
        match expression:
            case ast.Constant(value=None):
                return NONE
            case ast.Constant(value=value):
                return TracedValue(-1, type(value).__name__, repr(value))
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.value(inner, spot)
            case ast.Call():
                from selfdebug.stages.origin.calls import returned_by

                made = returned_by(self, expression, spot)
                return made[-1][1].value if made else None
        return self.history.value(expression, spot)

    def may_be(self, quest: Quest, constant: ast.Constant) -> bool:
        """Whether the followed value can be one that is written as a constant."""
        if quest.path:
            return isinstance(constant.value, str | bytes)
        kind = type(constant.value).__name__
        # The recorded text of a text may be shortened or hidden.
        return kind == quest.value.type and (kind in ("str", "bytes") or repr(constant.value) == quest.value.text)

    def not_written(self, quest: Quest, constant: ast.expr, spot: Spot) -> Found:
        """The end of the evidence at a constant that is not the followed value."""
        return self.unknown(quest, f"it was {quest.text}, and {self.text(constant, spot)} is written here")

    def agrees(self, quest: Quest, seen: TracedValue | None) -> bool | None:
        """Whether a recorded value is the followed one (with a path: any is); None where none was recorded."""
        if seen is None:
            return None
        return bool(quest.path) or is_same(seen, quest.value)


def _start_of(node: ast.AST, program: Program) -> tuple[int, int] | None:
    """The line and the column at which a node starts; None for one that has no place of its own."""
    if isinstance(node, ast.expr):
        span = program.source.span(node)
        return span.start_line, span.start_column
    if isinstance(node, ast.stmt | ast.ExceptHandler):
        span = program.source.extent(node)
        return node.lineno, span.start_column if span.start_line == node.lineno else 0
    if isinstance(node, ast.pattern | ast.arg | ast.alias):
        return node.lineno, code_point_column(program.source.lines[node.lineno - 1], node.col_offset)
    return None
