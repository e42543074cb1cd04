"""Where a node lies in the text of its file, as indices."""

from __future__ import annotations

import ast

from codemods.selfdebug.source import Source


def start_of(source: Source, node: ast.stmt | ast.expr) -> int:
    """The index into the text at which a node begins (a decorated function at its first decorator's line)."""
    span = source.extent(node) if isinstance(node, ast.stmt) else source.span(node)
    return source.offset(span.start_line, span.start_column)


def end_of(source: Source, node: ast.stmt | ast.expr) -> int:
    """The index into the text behind a node."""
    span = source.extent(node) if isinstance(node, ast.stmt) else source.span(node)
    return source.offset(span.end_line, span.end_column)
