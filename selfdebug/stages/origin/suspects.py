"""The functions whose lines the second of two passes looks at: those that can lie on the way of the bad value.

They are the functions of the traceback, those that returned None under a name that one of them calls, and those that
store an attribute that one of them reads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from codemods.selfdebug.source import Source
from selfdebug.model import Failure, Function
from selfdebug.stages.origin.program import called_name, own_lines

MAX_SUSPECTS = 60
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def suspects(
    failure: Failure, returned_none: Iterable[Function], sources: Callable[[str], Source | str]
) -> frozenset[Function]:
    """The functions that the second pass has to look at, at most MAX_SUSPECTS, the nearest to the crash first."""
    returned = list(returned_none)
    files = {each.file for each in returned} | {frame.file for frame in failure.crash.project_frames if frame.file}
    definitions = {function: node for file in sorted(files) for function, node in _definitions(file, sources(file))}
    todo = [
        function
        for frame in reversed(failure.crash.project_frames)
        for function, node in definitions.items()
        if function.file == frame.file and node.lineno <= (frame.line or 0) <= (node.end_lineno or 0)
    ]
    found: dict[Function, None] = {}
    while todo and len(found) < MAX_SUSPECTS:
        function = todo.pop(0)
        if function in found or function not in definitions:
            continue
        found[function] = None
        called, read = _used(definitions[function])
        todo += [each for each in returned if each.name in called]
        todo += [each for each, node in definitions.items() if read & set(_stored(node))]
    return frozenset(found)


def _definitions(file: str, source: Source | str) -> Iterator[tuple[Function, _Definition]]:
    for node in ast.walk(source.tree) if isinstance(source, Source) else ():
        if isinstance(node, _Definition):
            yield Function(file, node.name, own_lines(node)[0]), node


def _used(node: _Definition) -> tuple[set[str], set[str]]:
    """The names that a function calls, and the attributes that it reads without calling them."""
    inner = list(ast.walk(node))
    called = {called_name(each.func) for each in inner if isinstance(each, ast.Call)}
    # A property is called where its attribute is read.
    read = {each.attr for each in inner if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load)}
    return called | read, read - called


def _stored(node: _Definition) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr
