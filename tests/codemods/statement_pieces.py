"""Two syntax trees of a file, from before and after an edit, compared with the touched statements cut out.

A tree is taken apart into its statements and clauses, of a compound one the header alone. What the edit reaches on
either side is left out: statements that a guard put before or around others lie wholly in the replaced text. All other
pieces must be the same, in the same order and blocks, at the places that the bytes before and after the edit give them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from codemods.selfdebug.base import Edit
from codemods.selfdebug.source import BLOCKS, Clause, Source


@dataclass(frozen=True, slots=True)
class Piece:
    """A simple statement or the header of a compound one: its UTF-8 offsets, its block and the depth of that."""

    node: Clause
    block: str
    depth: int
    start: int
    end: int


def what_is_wrong_with_trees(before: Source, edit: Edit, after: Source) -> str | None:
    """What differs beside the touched statements, or that nothing differs at all; None where all is as it must be."""
    start, end = _lines_of(before, edit)
    grown = len(after.text.encode()) - len(before.text.encode())
    old, touched = _cut(before, start, end)
    new, made = _cut(after, start, end + grown)
    for one, other in zip_longest(old, new):
        if one is None or other is None:
            return f"{len(old)} statements were not touched, of which {len(new)} are left"
        place = one.start + grown if one.start > end else one.start
        if (one.block, one.depth, place) != (other.block, other.depth, other.start):
            return f"what stood at byte {one.start} stands at {other.start} in {other.block} {other.depth} deep"
        if not _is_same_header(one.node, other.node):
            return f"the statement at byte {one.start}, which was not touched, has changed"
    return _what_is_wrong_with_touched(touched, made)


def _what_is_wrong_with_touched(touched: list[Piece], made: list[Piece]) -> str | None:
    """Of the statements on the edited lines one is another than before, or some are new; the rest may have moved."""
    left = list(made)
    gone = 0
    for piece in touched:
        same = next((at for at, each in enumerate(left) if _is_same_header(piece.node, each.node)), None)
        if same is None:
            gone += 1
        else:
            del left[: same + 1]
    if gone > 1:
        return f"{gone} statements have changed"
    depths = [[piece.depth for piece in pieces] for pieces in (touched, made)]
    return "the program is the same" if not gone and depths[0] == depths[1] else None


def _lines_of(source: Source, edit: Edit) -> tuple[int, int]:
    """The edited lines, whole, as offsets into the text in UTF-8: parts of an edit may be indentation that stayed."""
    start, end = (len(source.data[len(source.bom) : place].decode(source.encoding)) for place in (edit.start, edit.end))
    start = source.text.rfind("\n", 0, start) + 1
    end = source.text.find("\n", end) if "\n" in source.text[end:] else len(source.text)
    return len(source.text[:start].encode()), len(source.text[:end].encode())


def _cut(source: Source, start: int, end: int) -> tuple[list[Piece], list[Piece]]:
    """The pieces that the stretch neither overlaps nor touches, and those that it does, in the order of the file."""
    apart: list[Piece] = []
    reached: list[Piece] = []
    for piece in _pieces(source):
        (apart if piece.end < start or end < piece.start else reached).append(piece)
    return apart, reached


@lru_cache(maxsize=2)
def _pieces(source: Source) -> list[Piece]:
    """All statements and clauses of a file in its order."""
    starts = [0]
    for line in source.lines:
        starts.append(starts[-1] + len(line.encode()))
    found: list[Piece] = []
    todo: list[tuple[ast.AST, int]] = [(source.tree, 0)]
    while todo:
        owner, depth = todo.pop()
        for block in BLOCKS:
            for node in getattr(owner, block, ()):
                found.append(Piece(node, block, depth, _start(node, starts), _header_end(node, starts)))
                todo.append((node, depth + 1))
    return sorted(found, key=lambda piece: piece.start)


def _start(node: Clause, starts: list[int]) -> int:
    first = [node.pattern if isinstance(node, ast.match_case) else node, *getattr(node, "decorator_list", ())]
    return min(_offset(starts, each.lineno, each.col_offset) for each in first)


def _header_end(node: Clause, starts: list[int]) -> int:
    for block in ("cases", "body"):
        if inner := getattr(node, block, None):
            return _start(inner[0], starts) - 1
    return _offset(starts, getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))


def _offset(starts: list[int], line: int, column: int) -> int:
    return starts[line - 1] + column


def _is_same_header(one: Clause, other: Clause) -> bool:
    """Whether two statements are the same without regard to places and to the statements in their blocks."""
    todo: list[tuple[object, object]] = [(one, other)]
    while todo:
        left, right = todo.pop()
        if left is right:  # most leaves: None, contexts, interned names
            continue
        if type(left) is not type(right):
            return False
        if isinstance(left, ast.AST):
            names = left._fields if left is not one else [name for name in left._fields if name not in BLOCKS]
            todo.extend([(getattr(left, name, None), getattr(right, name, None)) for name in names])
        elif isinstance(left, list):
            assert isinstance(right, list)
            if len(left) != len(right):
                return False
            todo.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True
