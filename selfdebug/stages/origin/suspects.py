"""The functions whose lines the second of two passes looks at: those that can lie on the way of the bad value.

They are the functions of the traceback, the functions that one of them names, and those that store an attribute that
one of them reads, as far as the first pass saw them called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from codemods.selfdebug.source import Source
from selfdebug.model import Called, Failure, Function, Suspects
from selfdebug.stages.origin.program import own_lines

MAX_SUSPECTS = 100
MAX_TICKS = 400_000
"""Calls that are counted to tell how near the failure is: so many cost a tenth of a second."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The functions that ran, by place and by what they are called: by their own name, a constructor by its class's."""

    nodes: Mapping[Function, _Definition]
    named: Mapping[str, list[Function]]
    storing: Mapping[str, list[Function]]

    @classmethod
    def of(cls, ran: Mapping[Function, Called], files: Iterable[tuple[str, Source | str]]) -> _Definitions:
        nodes: dict[Function, _Definition] = {}
        named: dict[str, list[Function]] = {}
        storing: dict[str, list[Function]] = {}
        for file, source in files:
            for function, node, name in _definitions(file, source):
                nodes[function] = node
                if function in ran:
                    named.setdefault(name, []).append(function)
                    for attribute in _stored(node):
                        storing.setdefault(attribute, []).append(function)
        return cls(nodes, named, storing)


def suspects(failure: Failure, called: Iterable[Called], sources: Callable[[str], Source | str]) -> Suspects:
    """What the second pass has to look at: at most MAX_SUSPECTS functions, the nearest to the crash first."""
    ran = {each.function: each for each in called}
    files = {each.file for each in ran} | {frame.file for frame in failure.crash.project_frames if frame.file}
    known = _Definitions.of(ran, ((file, sources(file)) for file in sorted(files)))
    todo = [
        function
        for frame in reversed(failure.crash.project_frames)
        for function, node in known.nodes.items()
        if function.file == frame.file and node.lineno <= (frame.line or 0) <= (node.end_lineno or 0)
    ]
    found: dict[Function, None] = {}
    while todo and len(found) < MAX_SUSPECTS:
        function = todo.pop(0)
        if function not in found:
            found[function] = None
            todo += _used_by(known, known.nodes[function], ran)
    clock = _clock(ran.values())
    return Suspects(frozenset(found), frozenset(each.function for each in clock), sum(each.calls for each in clock))


def _used_by(known: _Definitions, node: _Definition, ran: Mapping[Function, Called]) -> list[Function]:
    """The functions that a function names, those that returned None first, then those that store what it reads."""
    inner = list(ast.walk(node))
    read = {each.attr for each in inner if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load)}
    names = {each.id for each in inner if isinstance(each, ast.Name)}
    parameters = {each.arg for each in inner if isinstance(each, ast.arg)}  # a fixture is asked for by their names
    used = [function for name in sorted(names | parameters | read) for function in known.named.get(name, ())]
    used.sort(key=lambda function: not ran[function].returned_none)
    return used + [function for attribute in sorted(read) for function in known.storing.get(attribute, ())]


def _clock(called: Iterable[Called]) -> list[Called]:
    """The functions whose calls tell how far a run has come: as many as can be counted cheaply."""
    chosen: list[Called] = []
    ticks = 0
    for each in sorted(called, key=lambda each: (each.calls, each.function.file, each.function.line)):
        ticks += each.calls
        if ticks <= MAX_TICKS and each.calls:
            chosen.append(each)
    return chosen


def _definitions(file: str, source: Source | str) -> Iterator[tuple[Function, _Definition, str]]:
    """The functions of a file, each with the name that it is called by."""
    for node in ast.walk(source.tree) if isinstance(source, Source) else ():
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, _Definition):
                is_constructor = isinstance(node, ast.ClassDef) and inner.name in ("__init__", "__new__")
                name = node.name if is_constructor and isinstance(node, ast.ClassDef) else inner.name
                yield Function(file, inner.name, own_lines(inner)[0]), inner, name


def _stored(node: _Definition) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr
