"""Many patches of one file become one, unless two of them touch the same statement in different ways.

Edits are byte ranges of the same original. Two that are the same are one. Otherwise what an edit touches is widened to
the statements that it lies in (of a compound statement: its header): where that meets another job's edit, the later
job is left out with all its edits, since no test has judged a part of it.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate

from codemods.selfdebug.base import Edit
from selfdebug.batch.records import FileChange, JobResult, Overlap
from selfdebug.model import EditedFile
from selfdebug.reports.diffs import blocks, lines_of

_LINE_END = re.compile(rb"\r\n|\r|\n")


def change_of(edited: EditedFile) -> FileChange:
    """What was done to a file, as edits of whole lines."""
    starts = [0, *accumulate(map(len, lines_of(edited.before)))]
    edits = tuple(
        Edit(starts[block.start], starts[block.start + len(block.removed)], b"".join(block.added))
        for block in blocks(edited.before, edited.after)
    )
    return FileChange(edited.file, sha256(edited.before).hexdigest(), edits)


def combined(
    results: Iterable[JobResult], originals: Mapping[str, bytes]
) -> tuple[tuple[EditedFile, ...], tuple[Overlap, ...]]:
    """All patches of one project together: the files that change, and what could not go together."""
    files = {file: _CombinedFile(data) for file, data in originals.items()}
    overlaps: list[Overlap] = []
    for result in results:
        met = [found for change in result.changes if (found := files[change.file].meeting(change, result.job.id))]
        if met:
            overlaps.append(met[0])
            continue
        for change in result.changes:
            files[change.file].add(change, result.job.id)
    edited = (EditedFile(file, together.before, together.after) for file, together in sorted(files.items()))
    return tuple(each for each in edited if each.before != each.after), tuple(overlaps)


@dataclass(slots=True)
class _CombinedFile:
    """The edits of one file so far, each with the job that it came from."""

    before: bytes
    edits: dict[Edit, str] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _statements: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Lines as Python counts them, not as diff does
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.before))]
        self._statements = sorted(_statements(self.before))

    @property
    def after(self) -> bytes:
        """The content with all edits."""
        data = self.before
        for edit in sorted(self.edits, key=lambda each: (each.start, each.end), reverse=True):
            data = edit.apply_to(data)
        return data

    def add(self, change: FileChange, job: str) -> None:
        """Take the edits of one job."""
        for edit in change.edits:
            self.edits.setdefault(edit, job)

    def meeting(self, change: FileChange, job: str) -> Overlap | None:
        """The first of a job's edits that touches what another job's edit touches, unless it is the same edit."""
        for edit in change.edits:
            if edit in self.edits:
                continue
            first, last = self._touched(edit)
            for other, owner in self.edits.items():
                start, end = self._touched(other)
                if first <= end and start <= last:
                    return Overlap(change.file, max(first, start), owner, job)
        return None

    def _touched(self, edit: Edit) -> tuple[int, int]:
        """The first and the last line (from 1) of the statements that an edit lies in; an insertion is of the next."""
        first = bisect_right(self._starts, edit.start)
        last = max(first, bisect_right(self._starts, edit.end - 1))
        within = [(start, end) for start, end in self._statements if start <= last and first <= end]
        return min([first, *(start for start, _ in within)]), max([last, *(end for _, end in within)])


def _statements(source: bytes) -> Iterator[tuple[int, int]]:
    """The lines of each statement, of a compound one those of its header; none in what Python cannot read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            yield node.lineno, last
