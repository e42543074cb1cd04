"""The last check of a rewritten text: it compiles, and its ast differs only in the statements that were touched.

Only the outermost statement around the edit is compiled (below its classes), not the whole file: the bytes before and
after it are the same, and complete statements parse the same whatever stands around them.
"""

from __future__ import annotations
import __future__

import ast
import warnings
from typing import TYPE_CHECKING

from codemods.selfdebug.base import RefusedError

if TYPE_CHECKING:
    from codemods.selfdebug.source import Level, Source
    from codemods.selfdebug.units import Unit


def check(source: Source, unit: Unit, new: str) -> None:
    """Raise RefusedError unless `new` in place of `unit` compiles and leaves all other statements as they were."""
    depth = _chunk_depth(unit.levels)
    start, end = _stretch(source, unit, depth)
    header = "class _:\n" if unit.levels[depth].owner is not source.tree else ""
    before = header + source.text[start:end]
    after = header + source.text[start : unit.start] + new + source.text[unit.end : end]
    try:
        old_tree, new_tree = ast.parse(before), ast.parse(after)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # the user's own code may well warn
            compile(after, "<rewritten>", "exec", flags=_future_flags(source.tree), dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"the rewritten statement would not compile: {error}") from error
    below = unit.levels[depth + 1 :]
    if below and _rest(old_tree, header, below, unit.count) != _rest(new_tree, header, below, unit.count, old_tree):
        raise RefusedError("the rewrite would change more than the statement")


def _chunk_depth(levels: tuple[Level, ...]) -> int:
    """How many leading levels are classes: the statement below them is compiled on its own."""
    for depth, level in enumerate(levels):
        if not isinstance(level.node, ast.ClassDef):
            return depth
    return len(levels) - 1


def _stretch(source: Source, unit: Unit, depth: int) -> tuple[int, int]:
    """The whole lines of the statement at `depth`, and at least those of the unit, as indexes into the text."""
    extent = source.extent(unit.levels[depth].node)
    start, end = source.starts[extent.start_line - 1], source.starts[extent.end_line]
    return min(start, unit.start), max(end, unit.end)


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def _rest(tree: ast.Module, header: str, below: tuple[Level, ...], count: int, old: ast.Module | None = None) -> str:
    """The dump of `tree` without the touched statements; `old` tells how many others there were."""
    block = _block(tree, header, below)
    first = below[-1].index
    others = len(_block(old, header, below)) if old else len(block) - count
    del block[first : first + len(block) - others]
    return ast.dump(tree)


def _block(tree: ast.Module, header: str, below: tuple[Level, ...]) -> list[ast.AST]:
    owner: ast.AST = tree.body[0]
    if header:
        owner = owner.body[0]  # type: ignore[attr-defined]  # the class of the header line
    for level in below[:-1]:
        owner = getattr(owner, level.block)[level.index]
    block: list[ast.AST] = getattr(owner, below[-1].block)
    return block
