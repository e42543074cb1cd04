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
from codemods.selfdebug.source import Source
from selfdebug.stages.vary.imports import Imported
from selfdebug.stages.vary.insertions import Insertions
from selfdebug.stages.vary.parts import Condition, Fallback, Function, Handler, Parts
from selfdebug.stages.vary.stretches import end_of, start_of

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
    writer = _Writer(source, first_id, Insertions(source))
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
        for each in parts.imported if parts.is_import else ():
            writer.watch_import(name, each)
    data = writer.insertions.written()
    return None if data is None else Watch(data, tuple(writer.points))


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
    """Puts recorder calls in, each with a number of its own."""

    source: Source
    next_id: int
    insertions: Insertions
    points: list[Watchpoint] = field(default_factory=list)

    def _point(self, kind: Watched, function: str, name: str) -> int:
        number, self.next_id = self.next_id, self.next_id + 1
        self.points.append(Watchpoint(number, kind, function, name))
        return number

    # ------------------------------------------------------------ functions

    def watch_function(self, name: str, function: Function) -> None:
        calls = [f"{RECORDER}({self._point(Watched.ENTRY, name, name)}, None)"]
        parameters = _parameters(function)
        calls += [f"{RECORDER}({self._point(Watched.ARGUMENT, name, each)}, {each})" for each in parameters]
        body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
        if not body:
            return
        self.insertions.before(body[0], "; ".join(calls))
        result = self._point(Watched.RESULT, name, name)
        state = self._state(name, function, parameters)
        nothing = f"({RECORDER}({result}, None){state or ','})"
        for node in [each for each in own_nodes(function) if isinstance(each, ast.Return | ast.Yield)]:
            if node.value is not None:
                start, end = start_of(self.source, node.value), end_of(self.source, node.value)
                self.insertions.around(start, end, f"({RECORDER}({result}, (", f")){state or ','})[0]")
            elif isinstance(node, ast.Return):
                self.insertions.before(node, nothing)
        if not isinstance(body[-1], ast.Return | ast.Raise):
            self.insertions.behind(body[-1], nothing)

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
        self.insertions.around(condition.start, condition.end, f"{RECORDER}({number}, (", "))")

    def watch_handler(self, function: str, handler: Handler) -> None:
        number = self._point(Watched.HANDLER, function, handler.code)
        self.insertions.before(handler.node.body[0], f"{RECORDER}({number}, __import__('sys').exc_info()[1])")

    def watch_fallback(self, function: str, fallback: Fallback) -> None:
        number = self._point(Watched.USE, function, self.source.text[fallback.default_start : fallback.default_end])
        start, end = fallback.default_start, fallback.default_end
        if fallback.is_alternative:
            self.insertions.around(start, end, f"{RECORDER}({number}, (", "))")
            return
        # The look-up gets an object of its own as default, and gives the default where that comes back.
        missing, found = "_selfdebug_missing", "_selfdebug_found"
        given = f"{RECORDER}({number}, ({self.source.text[start:end]})) if {found} is {missing} else {found}"
        self.insertions.around(
            fallback.start, fallback.end, f"(lambda {missing}: (lambda {found}: {given})(", "))(object())"
        )
        self.insertions.around(start, end, f"{missing} or (", ")")

    def watch_import(self, function: str, imported: Imported) -> None:
        for start, end in imported.uses:
            number = self._point(Watched.USE, function, imported.code)
            self.insertions.around(start, end, f"{RECORDER}({number}, (", "))")


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in named][:_MOST_PARAMETERS]
