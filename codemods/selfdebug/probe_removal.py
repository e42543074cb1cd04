"""RemoveProbes: take every probe out of a file again, and give back the bytes from before it was put in."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeGuard

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.logical_lines import logical_lines, split_end
from codemods.selfdebug.probe_unit import ProbeUnit
from codemods.selfdebug.source import BLOCKS, Clause, Source, line_range

RECORDER = "__selfdebug_probe__"
CATCHER = "__selfdebug_caught__"
"""The functions that probes call."""

_TRY = re.compile(r"([ \t]*)try:( |\r?\n)")
_EXCEPT = re.compile(r"[ \t]*except BaseException:\r?\n?")
_CAUGHT = re.compile(rf"([ \t]*){CATCHER}\([0-9]+\)\r?\n?")
_RAISE = re.compile(r"[ \t]*raise(\r?\n?)")
_CALL_START = re.compile(rf"{RECORDER}\([0-9]+, ")


def remove(source: bytes) -> bytes:
    """Take out every probe, and give back the bytes from before it was put in.

    A file without probes comes back as it is. Raises RefusedError when the file does not parse or the lines that the
    probe inserted were edited since.
    """
    while CATCHER.encode() in source:
        parsed = Source.parse(source)
        found = next(_probes(parsed), None)
        if found is None:
            break
        source = _without(parsed, *found)
    return source


def is_probe(node: ast.AST) -> TypeGuard[ast.Try]:
    """Whether the statement is a `try` that only re-raises, after a call of our catcher."""
    match node:
        case ast.Try(
            handlers=[ast.ExceptHandler(body=[ast.Expr(value=ast.Call(func=ast.Name(id=name))), ast.Raise(exc=None)])],
            orelse=[],
            finalbody=[],
        ):
            return name == CATCHER
    return False


def _probes(source: Source) -> Iterator[tuple[ast.stmt, ast.Try]]:
    """The statements that a probe went into, each with the probe's `try`, outer ones first."""
    named = [number for number, line in enumerate(source.lines, 1) if CATCHER in line]
    todo: deque[ast.AST] = deque([source.tree])
    while todo:
        for node in _clauses_of(todo.popleft()):
            first, last = line_range(node)
            if not any(first <= number <= last for number in named):
                continue
            todo.append(node)
            if is_probe(node):
                yield node, node
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = node.body[0]
                if is_probe(inner) and inner.body[0].lineno == inner.lineno:
                    yield node, inner


def _clauses_of(owner: ast.AST) -> Iterator[Clause]:
    for block in BLOCKS:
        yield from getattr(owner, block, ())


def _without(source: Source, statement: ast.stmt, node: ast.Try) -> bytes:
    unit = ProbeUnit(source, (statement,))
    row = node.lineno - unit.first_line
    *body, handler, call, last = unit.lines
    head, caught, end = _TRY.match(body[row]), _CAUGHT.fullmatch(call), _RAISE.fullmatch(last)
    if not (head and _EXCEPT.fullmatch(handler) and caught and end) or (head[2] == " ") is (statement is node):
        raise RefusedError(f"the probe at line {node.lineno} was edited since it was put in")
    deletions = [(row, 0, head[0])]
    if statement is node:
        units = [ProbeUnit(source, tuple(node.body))]
        step = caught[1].removeprefix(head[1])
        deletions += [(line.first + 1, line.column - len(step), step) for line in logical_lines(body[1:])]
    else:  # the body of a function, which stood behind its colon
        units = [unit, ProbeUnit(source, (node,))]
        before, newline = split_end(body[row - 1])
        deletions.append((row - 1, len(before), newline))
    for part in units:
        deletions += _recorder_calls_in(part, body, unit.first_line)
    text = "".join(_deleted(body, deletions, node.lineno))
    return unit.replaced_by(split_end(text)[0] + end[1]).apply_to(source.data)


def _recorder_calls_in(unit: ProbeUnit, body: list[str], first_line: int) -> Iterator[tuple[int, int, str]]:
    for call, place in unit.positions.items():
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == RECORDER:
            span = place.shifted(-first_line)
            start = _CALL_START.match(body[span.start_line], span.start_column)
            yield span.start_line, span.start_column, start[0] if start else RECORDER + "(0, "
            yield span.end_line, span.end_column - 1, ")"


def _deleted(lines: list[str], deletions: Iterable[tuple[int, int, str]], number: int) -> list[str]:
    new = list(lines)
    for index, column, text in sorted(deletions, reverse=True):
        line = new[index]
        if column < 0 or not line.startswith(text, column):
            raise RefusedError(f"the probe at line {number} was edited since it was put in")
        new[index] = line[:column] + line[column + len(text) :]
    return new
