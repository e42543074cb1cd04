"""Carries a candidate out: the guard at its place, and at the further places that crash in the same way.

An edit moves what stands after it, and one that encloses a later place (`f(u.a, u.b) if u is not None else 0`) moves
what stands inside it; so each place is found again in the new text before it is guarded.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codemods.selfdebug.base import Edit, Parameters, RefusedError, Target, TargetNotFoundError, Test
from codemods.selfdebug.registry import guards
from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, text_at
from selfdebug.model import Candidate, Patch, Spot


def apply_candidate(candidate: Candidate, source: Source) -> Patch:
    """Carry a candidate out on its file. Raises RefusedError or TargetNotFoundError.

    Further places at which the guard does not fit, for they are guarded already (it may be by this very guard), stay
    as they are.
    """
    guard = guards()[candidate.guard]
    parameters = Parameters(candidate.default, Test(candidate.test), candidate.classes)
    at, after, lines = source, source.data, 0
    spots: list[Spot | Candidate] = [candidate, *sorted(candidate.also, key=lambda spot: spot.expression)]
    while spots:
        spot = spots.pop(0)
        try:
            edit = at.apply(Target(spot.expression, spot.receiver), guard, parameters)
        except (RefusedError, TargetNotFoundError):
            if spot is candidate:
                raise
            continue
        lines += max(after[edit.start : edit.end].count(b"\n"), edit.replacement.count(b"\n")) + 1
        after = edit.apply_to(after)
        if spots:
            step = _Step(at, edit, Source.parse(after))
            spots, at = list(step.followed(spots)), step.after
    for statement in candidate.imports:
        imported = with_import(Source.parse(after), statement)
        lines += 0 if imported is None else 1
        after = imported or after
    return Patch(candidate, candidate.file, source.data, after, lines)


def with_import(source: Source, statement: str) -> bytes | None:
    """The file with an import of a name; None where it has it already, or does not use the name.

    Raises RefusedError where the name means something else there.
    """
    wanted = ast.parse(statement).body
    if set(_imported(wanted)) <= set(_imported(source.tree.body)):
        return None
    (name,) = bound_by(wanted)
    named = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == name]
    is_bound = any(not isinstance(node.ctx, ast.Load) for node in named)
    if is_bound or any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(source.tree)):
        raise RefusedError(f"{name} is something else in this file")
    if not named:
        return None
    span = source.span(min(named, key=lambda node: (node.lineno, node.col_offset)))
    parameters = Parameters(statement, Test.NO_EXCEPTION)
    return source.apply(Target(span, span), guards()["missing-import"], parameters).apply_to(source.data)


def _imported(body: Sequence[ast.stmt]) -> Iterator[tuple[str | None, str, str | None]]:
    """What is imported: the module it comes from, what it is, and its other name."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            yield from ((module, alias.name, alias.asname) for alias in node.names)


@dataclass(frozen=True, slots=True)
class _Step:
    """One edit, with the file before and after it."""

    before: Source
    edit: Edit
    after: Source

    def followed(self, spots: Sequence[Spot | Candidate]) -> list[Spot]:
        """The places in the new text, without those that the edit has rewritten."""
        moved = [(self._moved(spot.expression), self._moved(spot.receiver)) for spot in spots]
        return [Spot(expression, receiver) for expression, receiver in moved if expression and receiver]

    def _moved(self, span: Span) -> Span | None:
        """Where the text of a span is after the edit; None where it is not there any more as it was."""
        old, new, code = self.before, self.after, text_at(self.before.lines, span)
        start = old.offset(span.start_line, span.start_column)
        first, last = (_characters(old, offset) for offset in (self.edit.start, self.edit.end))
        grown = len(new.text) - len(old.text)
        if start >= last:
            start += grown
        elif start + len(code) > first:
            # Inside of what was replaced: as often as the code stands there, so often it does so after the edit.
            places, others = _places(code, old.text[first:last]), _places(code, new.text[first : last + grown])
            if start - first not in places or len(places) != len(others):
                return None
            start = first + others[places.index(start - first)]
        return _span(new, start, start + len(code)) if new.text.startswith(code, start) else None


def _characters(source: Source, offset: int) -> int:
    """The index into the text of a byte offset."""
    return len(source.data[len(source.bom) : offset].decode(source.encoding))


def _places(code: str, text: str) -> list[int]:
    return [found.start() for found in re.finditer(rf"(?<!\w){re.escape(code)}(?!\w)", text)]


def _span(source: Source, start: int, end: int) -> Span:
    (first, from_column), (last, to_column) = (_place(source, offset) for offset in (start, end))
    return Span(first, from_column, last, to_column)


def _place(source: Source, offset: int) -> tuple[int, int]:
    line = bisect_right(source.starts, offset, hi=len(source.lines))
    return line, offset - source.starts[line - 1]
