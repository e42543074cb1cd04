"""A version of the file that records what its edited functions do: arguments, conditions, handlers, results, state.

Recorder calls are put around expressions and before statements, by text, so that the code keeps its meaning: each
value is evaluated as often and as early as before. What they record comes back as the hits of a pytest run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from codemods.selfdebug.probe_removal import RECORDER
from codemods.selfdebug.scopes import own_nodes
from codemods.selfdebug.source import Source, line_range
from selfdebug.stages.vary.parts import Condition, Fallback, Function, Handler, Parts, end_of, start_of

_MOST_PARAMETERS = 8


class Watched(StrEnum):
    """What a recorded number stands for."""

    ENTRY = "entry"
    ARGUMENT = "argument"
    CONDITION = "condition"
    HANDLER = "handler"
    USE = "use"
    RESULT = "result"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Watchpoint:
    """One recorder call: `function` is the dotted name of the function it stands in, `name` what it records."""

    id: int
    kind: Watched
    function: str
    name: str


@dataclass(frozen=True, slots=True)
class Watch:
    """A file with recorder calls, and what their numbers stand for."""

    data: bytes
    points: tuple[Watchpoint, ...]


def watch(source: Source, functions: Sequence[str], parts: Parts | None = None, first_id: int = 1) -> Watch | None:
    """Record in `source` what the `functions` (dotted names) do, and how the `parts` of a patch decide.

    None where the calls cannot be put in.
    """
    writer = _Writer(source, first_id)
    for name, function in named_functions(source.tree):
        if name in functions:
            writer.watch_function(name, function)
    if parts is not None:
        name = name_of(source.tree, parts.function)
        for condition in parts.conditions:
            writer.watch_condition(name, condition)
        for handler in parts.handlers:
            writer.watch_handler(name, handler)
        for fallback in parts.fallbacks:
            writer.watch_fallback(name, fallback)
    return writer.written()


def named_functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """All functions of a file with their dotted names; of those with the same name each."""
    todo: list[tuple[str, ast.AST]] = [("", tree)]
    while todo:
        prefix, owner = todo.pop()
        for child in ast.iter_child_nodes(owner):
            is_named = isinstance(child, Function | ast.ClassDef)
            inner = f"{prefix}.{child.name}".lstrip(".") if isinstance(child, Function | ast.ClassDef) else prefix
            if isinstance(child, Function):
                yield inner, child
            if is_named or isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                todo.append((inner, child))


def name_of(tree: ast.Module, function: Function | None) -> str:
    """The dotted name of one of the functions of a file; empty for the module's level."""
    return next((name for name, found in named_functions(tree) if found is function), "")


@dataclass(slots=True)
class _Writer:
    """Collects insertions (index, their order at one index, text) and writes them all at once."""

    source: Source
    next_id: int
    points: list[Watchpoint] = field(default_factory=list)
    insertions: list[tuple[int, int, int, str]] = field(default_factory=list)

    def _point(self, kind: Watched, function: str, name: str) -> int:
        number, self.next_id = self.next_id, self.next_id + 1
        self.points.append(Watchpoint(number, kind, function, name))
        return number

    def _around(self, start: int, end: int, before: str, after: str) -> None:
        """Enclose a stretch; of those that begin or end at one index the larger is outside, of equal ones the first."""
        number = len(self.insertions)
        last = self.source.text[max(start - 1, 0) : start]
        before = f" {before}" if last == "_" or last.isalnum() else before  # as in `return[x]`
        self.insertions.append((start, start - end, number, before))
        self.insertions.append((end, -start, -number, after))

    # ------------------------------------------------------------ functions

    def watch_function(self, name: str, function: Function) -> None:
        calls = [f"{RECORDER}({self._point(Watched.ENTRY, name, name)}, None)"]
        parameters = _parameters(function)
        calls += [f"{RECORDER}({self._point(Watched.ARGUMENT, name, each)}, {each})" for each in parameters]
        body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
        if not body:
            return
        self._before(body[0], "; ".join(calls))
        result = self._point(Watched.RESULT, name, name)
        state = self._state(name, function, parameters)
        nothing = f"({RECORDER}({result}, None){state or ','})"
        for node in [each for each in own_nodes(function) if isinstance(each, ast.Return | ast.Yield)]:
            if node.value is not None:
                start, end = start_of(self.source, node.value), end_of(self.source, node.value)
                self._around(start, end, f"({RECORDER}({result}, (", f")){state or ','})[0]")
            elif isinstance(node, ast.Return):
                self._before(node, nothing)
        if not isinstance(body[-1], ast.Return | ast.Raise):
            self._behind(body[-1], nothing)

    def _state(self, name: str, function: Function, parameters: Sequence[str]) -> str:
        """More elements for a tuple, which record the objects that came in: of `self` its attributes."""
        stored = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
        }
        calls = ""
        for place, each in enumerate(parameters):
            if each not in stored:
                number = self._point(Watched.STATE, name, each)
                code = f"getattr({each}, '__dict__', {each})" if place == 0 and each in ("self", "cls") else each
                calls += f", {RECORDER}({number}, {code})"
        return calls

    # ------------------------------------------------------------ parts of a patch

    def watch_condition(self, function: str, condition: Condition) -> None:
        number = self._point(Watched.CONDITION, function, condition.code)
        self._around(condition.start, condition.end, f"{RECORDER}({number}, (", "))")

    def watch_handler(self, function: str, handler: Handler) -> None:
        number = self._point(Watched.HANDLER, function, handler.code)
        self._before(handler.node.body[0], f"{RECORDER}({number}, __import__('sys').exc_info()[1])")

    def watch_fallback(self, function: str, fallback: Fallback) -> None:
        number = self._point(Watched.USE, function, self.source.text[fallback.default_start : fallback.default_end])
        start, end = fallback.default_start, fallback.default_end
        if fallback.is_alternative:
            self._around(start, end, f"{RECORDER}({number}, (", "))")
            return
        # The look-up gets an object of its own as default, and gives the default where that comes back.
        missing, found = "_selfdebug_missing", "_selfdebug_found"
        given = f"{RECORDER}({number}, ({self.source.text[start:end]})) if {found} is {missing} else {found}"
        self._around(fallback.start, fallback.end, f"(lambda {missing}: (lambda {found}: {given})(", "))(object())")
        self._around(start, end, f"{missing} or (", ")")

    # ------------------------------------------------------------ text

    def _before(self, statement: ast.stmt, code: str) -> None:
        """A statement of ours before one of the program, on the same line where that is a small one."""
        if not hasattr(statement, "body"):
            self.insertions.append((start_of(self.source, statement), -len(self.source.text), 0, f"{code}; "))
            return
        line = line_range(statement)[0]
        indentation = self.source.indentation_of(line)
        start = self.source.offset(line, len(indentation))
        self.insertions.append((start, 1, 0, f"{code}{self.source.newline(line)}{indentation}"))

    def _behind(self, statement: ast.stmt, code: str) -> None:
        """A statement of ours behind the last one of a block."""
        if not hasattr(statement, "body"):
            self.insertions.append((end_of(self.source, statement), len(self.source.text), 0, f"; {code}"))
            return
        first, last = line_range(statement)
        newline = self.source.newline(first)
        opening = "" if self.source.lines[last - 1].endswith("\n") else newline
        line = f"{opening}{self.source.indentation_of(first)}{code}{newline}"
        self.insertions.append((self.source.starts[last], len(self.source.text), 0, line))

    def written(self) -> Watch | None:
        text, parts, last = self.source.text, [], 0
        for index, _, _, code in sorted(self.insertions):
            parts += [text[last:index], code]
            last = index
        written = "".join([*parts, text[last:]])
        try:
            ast.parse(written)
            data = self.source.bom + written.encode(self.source.encoding)
        except (SyntaxError, ValueError, RecursionError):
            return None
        return Watch(data, tuple(self.points))


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in named][:_MOST_PARAMETERS]
