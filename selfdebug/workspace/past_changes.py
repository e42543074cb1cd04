"""What earlier commits made of the project's Python files, read only, and bounded in number, size and time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pygit2

_MOST_COMMITS = 300
_MOST_CHANGES = 80
_MOST_FILES = 4  # a commit that touches more is a move or a rewrite, not the fix of a crash
_MOST_BYTES = 300_000
_SECONDS = 3.0  # a stop for huge trees only: as a rule the numbers above end it, and equal runs see the same


@dataclass(frozen=True, slots=True)
class PastChange:
    """What a commit made of one file: its short id, the file relative to the project, the bytes before and after."""

    commit: str
    file: str
    before: bytes
    after: bytes


def past_changes(repository: pygit2.Repository, prefix: tuple[str, ...]) -> Iterator[PastChange]:
    """The Python files that small commits changed below `prefix`, newest commit first; merges are left out.

    Raises pygit2.GitError and KeyError where objects are missing (a shallow or partial clone).
    """
    import pygit2

    if repository.head_is_unborn:
        return
    end, found = time.monotonic() + _SECONDS, 0
    start = repository.head.peel(pygit2.Commit).id
    for number, commit in enumerate(repository.walk(start, pygit2.enums.SortMode.TIME)):
        if number >= _MOST_COMMITS or found >= _MOST_CHANGES or time.monotonic() > end:
            return
        if len(commit.parents) != 1:
            continue
        for change in _changes(repository, commit, "".join(f"{part}/" for part in prefix)):
            found += 1
            yield change


def _changes(repository: pygit2.Repository, commit: pygit2.Commit, prefix: str) -> Iterator[PastChange]:
    import pygit2

    diff = commit.tree.diff_to_tree(commit.parents[0].tree, flags=pygit2.enums.DiffOption.SKIP_BINARY_CHECK, swap=True)
    deltas = list(diff.deltas)
    if len(deltas) > 2 * _MOST_FILES:
        return
    changed = [
        delta
        for delta in deltas
        if delta.status == pygit2.enums.DeltaStatus.MODIFIED
        and delta.new_file.path.endswith(".py")
        and delta.new_file.path.startswith(prefix)
    ]
    if len(changed) > _MOST_FILES:
        return
    for delta in changed:
        before, after = repository.get(delta.old_file.id), repository.get(delta.new_file.id)
        if isinstance(before, pygit2.Blob) and isinstance(after, pygit2.Blob) and after.size <= _MOST_BYTES:
            yield PastChange(str(commit.id)[:9], delta.new_file.path.removeprefix(prefix), before.data, after.data)
