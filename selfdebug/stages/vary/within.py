"""A version of a file in which functions import for themselves what a patch imports at the level of the module.

The process in which parts of a patch are varied has imported the file before the patch: it can exchange the code of
functions, but not run the module again.
"""

from __future__ import annotations

import ast

from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.source import Source
from selfdebug.stages.vary.imports import functions_reading, new_imports
from selfdebug.stages.vary.insertions import Insertions
from selfdebug.stages.vary.stretches import end_of, start_of


def within_functions(before: bytes, after: bytes) -> bytes:
    """The version `after` of a file, its new imports and what else it binds their names to moved into functions.

    Without new imports, and where they cannot be moved, it is `after`.
    """
    source = Source.parse(after)
    new = new_imports(Source.parse(before).tree, source.tree)
    names = bound_by(new)
    moved = [node for node in source.tree.body if node in new or _binds(node, names)]
    if not moved:
        return after
    insertions = Insertions(Source.parse(_blanked(source, moved)))
    # Bytes, since a text that comes first in a function would pass for a docstring.
    call = f"exec({'; '.join(map(ast.unparse, moved)).encode()!r}, globals())"
    for function in functions_reading(insertions.source.tree, names):
        is_documented = ast.get_docstring(function, clean=False) is not None
        for first in function.body[is_documented:][:1]:
            insertions.before(first, call)
    return insertions.written() or after


def _binds(node: ast.stmt, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Assign) and bool(names) and bound_by(node.targets) <= names


def _blanked(source: Source, nodes: list[ast.stmt]) -> bytes:
    """The file with blanks in the place of statements, so that the rest keeps its own."""
    text = source.text
    for node in nodes:
        start, end = start_of(source, node), end_of(source, node)
        text = text[:start] + " " * (end - start) + text[end:]
    return source.bom + text.encode(source.encoding)
