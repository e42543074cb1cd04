"""Probes for plain Python: a probed file that brings its recorders along, in one line above its first statement."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.resources import files

from codemods.selfdebug.base import Edit, RefusedError
from codemods.selfdebug.probe import probe
from codemods.selfdebug.probe_removal import CATCHER, remove
from codemods.selfdebug.source import Source, line_range
from codemods.selfdebug.spans import Span

_MARK = "  # recorders of selfdebug.Probe; selfdebug.RemoveProbes takes this line out"
_INSTALLATION = re.compile(rf"exec\([^\r\n]*\){re.escape(_MARK)}(\r\n|\n)")


def add_probe(source: bytes, at: int | Span) -> bytes:
    """The file with a probe at the 1-based line (or span) `at` that prints what it saw when the statement raises.

    Raises TargetNotFoundError and RefusedError as `probe` does, and RefusedError for a file that has a probe already.
    """
    if CATCHER.encode() in source:
        raise RefusedError("the file has a probe already; selfdebug.RemoveProbes takes it out")
    probed = probe(source, at)
    parsed = Source.parse(source)
    first = next(node for node in parsed.tree.body if not _stays_first(node))
    expressions = {expression.id: expression.code for expression in probed.expressions}
    call = f"install(sys._getframe(1).f_code.co_filename, {probed.statement.end_line}, {expressions!r})"
    program = ascii(f"{_recorders()}\n{call}\n")
    number = line_range(first)[0]
    newline = "\r\n" if parsed.lines[number - 1].endswith("\r\n") else "\n"
    text = f"exec({program}, {{'__name__': 'selfdebug_recorders'}}){_MARK}{newline}"
    return _lines_replaced(parsed, probed.source, number, 0, text)


def remove_probes(source: bytes) -> bytes:
    """The bytes from before `add_probe` or `probe`; a file without probes comes back as it is. Raises RefusedError."""
    removed = remove(source)
    if _MARK.encode() not in removed:
        return removed
    parsed = Source.parse(removed)
    number = next((number for number, line in enumerate(parsed.lines, 1) if _INSTALLATION.fullmatch(line)), None)
    return removed if number is None else _lines_replaced(parsed, removed, number, 1, "")


def _lines_replaced(parsed: Source, source: bytes, number: int, count: int, text: str) -> bytes:
    """`source`, which begins like `parsed`, with `text` for the `count` lines from the line `number` on."""
    before = "".join(parsed.lines[: number - 1]).encode(parsed.encoding)
    old = "".join(parsed.lines[number - 1 : number - 1 + count]).encode(parsed.encoding)
    start = len(parsed.bom) + len(before)
    return Edit(start, start + len(old), text.encode(parsed.encoding)).apply_to(source)


@cache
def _recorders() -> str:
    """The code of `recorders.py` without docstrings and comments."""
    tree = ast.parse(files("codemods.selfdebug").joinpath("recorders.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree)


def _stays_first(node: ast.stmt) -> bool:
    """Whether the statement is a docstring or a `from __future__` import, before which nothing may stand."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
            return True
    return False
