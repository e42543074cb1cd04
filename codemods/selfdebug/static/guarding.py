"""Every unguarded use of a file guarded, from the last to the first, so that what stands above keeps its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from codemods.selfdebug.static.unguarded import Unguarded
from codemods.selfdebug.unguided import first_fitting

Find = Callable[[Source], Iterable[Unguarded]]
"""What finds the uses of a file, again after its edits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One use with the id of the guard that answers it, or the reasons of all that refused."""

    use: Unguarded
    guard: str | None
    refusal: str


def answers(source: Source, uses: Iterable[Unguarded]) -> list[Answer]:
    """Which guard fits each use, as the file stands."""
    return [_answer(source, use) for use in uses]


def _answer(source: Source, use: Unguarded) -> Answer:
    try:
        guard, _ = first_fitting(source, use.target)
    except RefusedError as error:
        return Answer(use, None, str(error))
    return Answer(use, guard.id, "")


def guarded(data: bytes, uses: Iterable[Unguarded]) -> bytes:
    """The file with a guard at each use that takes one; `uses` are places in it, in any order.

    A use that an edit below it has already reached (a run of statements wrapped together) is left for another look.
    Raises RefusedError for a file that cannot be edited at all.
    """
    source = Source.parse(data)
    edited_from = len(source.text)
    for use in sorted(uses, key=lambda use: use.target.expression, reverse=True):
        end = use.target.expression
        if source.offset(end.end_line, end.end_column) > edited_from:
            continue
        try:
            _, edit = first_fitting(source, use.target)
        except RefusedError:
            continue
        before = source.data[len(source.bom) : edit.start]
        edited_from = len(before.decode(source.encoding))
        source = Source.parse(edit.apply_to(source.data))
    return source.data


def all_guarded(data: bytes, find: Find) -> bytes:
    """The file with a guard at every use that `find` sees and that takes one. Raises RefusedError as `guarded` does."""
    while (changed := guarded(data, find(Source.parse(data)))) != data:
        data = changed
    return data
