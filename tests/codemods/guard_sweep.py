"""Guards put at every plausible place of real files, and what must be true of each edit whatever the file."""

from __future__ import annotations

import ast
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst
from statement_pieces import what_is_wrong_with_trees

from codemods.selfdebug.base import DefaultUse, Edit, Guard, Parameters, RefusedError, Target, TargetNotFoundError, Test
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source, line_range
from codemods.selfdebug.spans import Span, text_at

DEFAULTS = ("None", "0", "''", "()", "{}", "float('inf')", "a if b else c", "lambda: 1")
AROUND_RECEIVER = "( \t\r\n)"
CLASSES = {Test.IS_INSTANCE: ("str", "os.PathLike"), Test.NO_EXCEPTION: ("KeyError",)}


@dataclass(frozen=True)
class Place:
    """A target, with what it looks like when its receiver is left out: so it is known again when that has changed."""

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


def places(source: Source, lines: range) -> Iterator[Place]:
    """Everything that can fail for one of its parts, in the statements that have one of the `lines`."""
    for node in _nodes_in(source.tree, lines):
        for outer, inner in _pairs(node):
            if (place := _place(source, node, outer, inner)) is not None:
                yield place


def _nodes_in(tree: ast.Module, lines: range) -> Iterator[ast.AST]:
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.stmt):
            first, last = line_range(node)
            if last < lines.start or lines.stop <= first:
                continue
        yield node
        todo.extend(ast.iter_child_nodes(node))


def _place(source: Source, node: ast.AST, outer: ast.AST, inner: ast.expr) -> Place | None:
    """The place; None where its lines are not those of the file (inside f-strings before Python 3.12)."""
    try:
        expression, receiver = source.span(outer), source.span(inner)  # type: ignore[arg-type]  # has a place like one
        return Place(Target(expression, receiver), _look(source, node, expression, receiver))
    except IndexError:
        return None


def some_places(source: Source, choice: random.Random, count: int) -> list[Place]:
    """At most `count` random places of the whole file."""
    pairs = [(node, *pair) for node in ast.walk(source.tree) for pair in _pairs(node)]
    chosen = choice.sample(pairs, min(count, len(pairs)))
    return [place for pair in chosen if (place := _place(source, *pair)) is not None]


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
    span = Span(expression.start_line, expression.start_column, receiver.start_line, receiver.start_column)
    before = text_at(source.lines, span).rstrip(AROUND_RECEIVER)
    span = Span(receiver.end_line, receiver.end_column, expression.end_line, expression.end_column)
    return f"{kind} {before}…{text_at(source.lines, span).lstrip(AROUND_RECEIVER)}"


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


def sweep(data: bytes, choice: random.Random, count: int, report: Report, tries: int | None = None) -> None:
    """Put guards, all or `tries` random ones, at `count` random places of a file; record what is wrong with that."""
    try:
        source = Source.parse(data)
    except RefusedError:
        return
    for place in some_places(source, choice, count):
        every = list(guards().values())
        for guard in every if tries is None else choice.sample(every, min(tries, len(every))):
            if place.look.startswith("Call ") and guard.id == "coercion":
                continue  # it may add the very same call, `.decode()`, with the receiver in it
            _try(source, Attempt(place, guard, parameters_for(guard, choice)), report)


def applied(source: Source, attempt: Attempt) -> Edit | None:
    """The edit, or None where the guard refuses. Any other exception passes through."""
    try:
        return source.apply(attempt.place.target, attempt.guard, attempt.parameters)
    except (RefusedError, TargetNotFoundError):
        return None


def _try(source: Source, attempt: Attempt, report: Report) -> None:
    report.tried += 1
    try:
        edit = applied(source, attempt)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the sweep looks for
        report.wrong.append(f"{attempt}: {type(error).__name__}: {error}")
        return
    if edit is None:
        return
    report.made[attempt.guard.id] += 1
    problem = what_is_wrong(source, edit) or _second(source, attempt, Source.parse(edit.apply_to(source.data)))
    if problem:
        report.wrong.append(f"{attempt}: {problem}")


def what_is_wrong(source: Source, edit: Edit) -> str | None:
    """Why the edited file is not what every edited file must be."""
    after = edit.apply_to(source.data)
    if (problem := why_it_does_not_compile(after)) and not why_it_does_not_compile(source.data):
        return problem
    if b"\r\n" in source.data and b"\n" in edit.replacement.replace(b"\r\n", b""):
        return "a line feed alone in a file with carriage returns"
    if source.data[edit.start : edit.end].count(b"#") > edit.replacement.count(b"#"):
        return "a comment is lost"
    return what_is_wrong_with_trees(source, edit, Source.parse(after))


def why_it_does_not_compile(data: bytes) -> str | None:
    """The message of the compiler; None for a file that compiles."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "swept", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"does not compile: {error}"
    return None


class _Tag(str):
    """The text of a leaf of a tree, known among equal texts by its identity: what changes a tree hands it on."""

    __slots__ = ()


def _followed(source: Source, attempt: Attempt) -> list[Span]:
    """Where a leaf of the receiver stands in the edited file, copies of it included; nowhere where it was replaced."""
    site = source.site(attempt.place.target, whole=attempt.guard.moves_body)
    tag = _tagged(site.receiver)
    rewrite = attempt.guard.rewrite(site, attempt.parameters)
    spans = rewrite.unit.excerpt.places(rewrite.module).items()
    return [span for node, span in spans if tag and getattr(node, "value", None) is tag]


def _tagged(receiver: cst.CSTNode) -> _Tag | None:
    """Tag a leaf of the receiver, in place; there is none in an empty display."""
    todo = [receiver]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Name | cst.Integer | cst.SimpleString):
            tag = _Tag(node.value)
            object.__setattr__(node, "value", tag)  # equal to what it was, so that the tree is as well
            return tag
        todo.extend(node.children)
    return None


def _second(source: Source, attempt: Attempt, changed: Source) -> str | None:
    """Whether the guard can be put once more at the place that it was put at."""
    for leaf in _followed(source, attempt):
        alike = [
            place
            for place in places(changed, range(leaf.start_line, leaf.end_line + 1))
            if place.look == attempt.place.look and place.target.receiver.contains(leaf)
        ]
        if alike:
            place = min(alike, key=lambda place: len(text_at(changed.lines, place.target.expression)))
            if applied(changed, Attempt(place, attempt.guard, attempt.parameters)) is not None:
                return f"can be applied again at {place}"
    return None
