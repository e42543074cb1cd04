"""Guards put at every plausible place of real files, and what must be true of each edit whatever the file."""

from __future__ import annotations

import ast
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.selfdebug.base import DefaultUse, Edit, Guard, Parameters, RefusedError, Target, TargetNotFoundError, Test
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, text_at

DEFAULTS = ("None", "0", "''", "()", "{}", "float('inf')", "a if b else c", "lambda: 1")
NAME_GUARDS = ("initialise-name", "missing-import", "replace-name")
CLASSES = {Test.IS_INSTANCE: ("str", "os.PathLike"), Test.NO_EXCEPTION: ("KeyError",)}


@dataclass(frozen=True)
class Place:
    """A target, with what it looks like when its receiver is left out: the places that look alike are twins."""

    target: Target
    look: str


@dataclass(frozen=True)
class Attempt:
    """One guard with its parameters at one place."""

    place: Place
    guard: Guard
    parameters: Parameters

    def __str__(self) -> str:
        return f"{self.guard.id} {self.parameters} at {self.place}"


@dataclass
class Report:
    """How many applications were tried, made and refused, and everything that was not as it must be."""

    tried: int = 0
    made: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def places(source: Source) -> list[Place]:
    """Everything in the file that can fail for one of its parts."""
    found = []
    for node in ast.walk(source.tree):
        for outer, inner in _pairs(node):
            try:
                expression, receiver = source.span(outer), source.span(inner)  # type: ignore[arg-type]
            except IndexError:
                continue
            found.append(Place(Target(expression, receiver), _look(source, node, expression, receiver)))
    return found


def _pairs(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.Attribute() | ast.Subscript():
            yield node, node.value
        case ast.Call():
            yield node, node.func
        case ast.BinOp():
            yield node, node.left
            yield node, node.right
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() | ast.Eq()]):
            yield node, node.left
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield node.iter, node.iter
        case ast.AugAssign():
            yield node, node.value
        case ast.Starred():
            yield node.value, node.value
        case ast.withitem():
            yield node.context_expr, node.context_expr
        case ast.Name(ctx=ast.Load()):
            yield node, node


def _look(source: Source, node: ast.AST, expression: Span, receiver: Span) -> str:
    kind = type(node).__name__
    if expression == receiver:
        return f"{kind} {node.id}" if isinstance(node, ast.Name) else kind
    before = Span(expression.start_line, expression.start_column, receiver.start_line, receiver.start_column)
    after = Span(receiver.end_line, receiver.end_column, expression.end_line, expression.end_column)
    return f"{kind} {text_at(source.lines, before)}…{text_at(source.lines, after)}"


def parameters_for(guard: Guard, choice: random.Random) -> Parameters:
    """Parameters that the guard can take."""
    test = choice.choice(sorted(guard.tests))
    has_default = guard.default_use is DefaultUse.REQUIRED or (
        guard.default_use is DefaultUse.OPTIONAL and choice.random() < 0.7
    )
    default = choice.choice(DEFAULTS) if has_default else None
    special = {"missing-import": "import new", "replace-name": "other", "raise-error": "ValueError('no')"}
    classes = ("bytes", "str") if guard.id == "coercion" else CLASSES.get(test, ())
    return Parameters(special.get(guard.id, default), test, classes)


def sweep(data: bytes, choice: random.Random, count: int, report: Report) -> None:
    """Put guards at `count` random places of a file and record what is wrong with the outcome."""
    try:
        source = Source.parse(data)
    except RefusedError:
        return
    everywhere = places(source)
    for place in choice.sample(everywhere, min(count, len(everywhere))):
        for guard in guards().values():
            if place.look.startswith("Name ") and guard.id not in NAME_GUARDS:
                continue  # the guard's own condition names the receiver: there is no telling it from a twin
            if place.look.startswith("Call ") and guard.id == "coercion":
                continue  # it may add the very same call, `.decode()`, in a branch of its own
            _try(source, Attempt(place, guard, parameters_for(guard, choice)), everywhere, report)


def applied(source: Source, attempt: Attempt) -> Edit | None:
    """The edit, or None where the guard refuses. Any other exception passes through."""
    try:
        return source.apply(attempt.place.target, attempt.guard, attempt.parameters)
    except (RefusedError, TargetNotFoundError):
        return None


def _try(source: Source, attempt: Attempt, everywhere: list[Place], report: Report) -> None:
    report.tried += 1
    try:
        edit = applied(source, attempt)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the sweep looks for
        report.wrong.append(f"{attempt}: {type(error).__name__}: {error}")
        return
    if edit is None:
        return
    report.made[attempt.guard.id] += 1
    after = edit.apply_to(source.data)
    problem = what_is_wrong(source, edit, after) or _second(source, attempt, everywhere, after)
    if problem:
        report.wrong.append(f"{attempt}: {problem}")


def what_is_wrong(source: Source, edit: Edit, after: bytes) -> str | None:
    """Why the edited file is not what every edited file must be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(after, "edited", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"does not compile: {error}"
    old_text = source.data[edit.start : edit.end]
    if b"\r\n" in source.data and b"\n" in edit.replacement.replace(b"\r\n", b""):
        return "a line feed alone in a file with carriage returns"
    if old_text.count(b"#") > edit.replacement.count(b"#"):
        return "a comment is lost"
    return None if ast.dump(ast.parse(after)) != ast.dump(source.tree) else "the program is the same"


def _second(source: Source, attempt: Attempt, everywhere: list[Place], after: bytes) -> str | None:
    """Whether the guard can be put at as many places that look like this one as before.

    What the guard itself wrote may look like the place as well: the receiver's own receiver is not counted, and where
    the receiver still stands there as it was, nothing but the places with this receiver.
    """
    lines = source.extent(source.statement_at(attempt.place.target.receiver).levels[-1].node)
    changed = Source.parse(after)
    grown = len(changed.lines) - len(source.lines)
    receiver = text_at(source.lines, attempt.place.target.receiver)
    look = attempt.place.look
    old = _alike(source, everywhere, look, receiver, range(lines.start_line, lines.end_line + 1))
    new = _alike(changed, places(changed), look, receiver, range(lines.start_line, lines.end_line + grown + 1))
    if any(text == receiver for text, _ in new):
        old, new = ([(text, other) for text, other in found if text == receiver] for found in (old, new))
    before, left = _applicable(source, attempt, old), _applicable(changed, attempt, new)
    return f"can be applied again ({left} places after, {before} before)" if left >= before else None


def _alike(source: Source, everywhere: list[Place], look: str, receiver: str, lines: range) -> list[tuple[str, Place]]:
    """The places in the lines that look like this one, each with its receiver as text; no part of the receiver."""
    found = [
        (text_at(source.lines, other.target.receiver), other)
        for other in everywhere
        if other.look == look and other.target.receiver.start_line in lines
    ]
    return [(text, other) for text, other in found if text == receiver or text not in receiver]


def _applicable(source: Source, attempt: Attempt, found: list[tuple[str, Place]]) -> int:
    return sum(applied(source, Attempt(other, attempt.guard, attempt.parameters)) is not None for _, other in found)
