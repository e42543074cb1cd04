"""Which node id an entry of a session has: titles are matched with the short summary and the progress lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice

from selfdebug.model import ExceptionRecord, Failure, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import MAX_FOUND, Found, Source
from selfdebug.stages.failures.node_ids import title_domain
from selfdebug.stages.failures.pytest_text.summary import SummaryLine

_COLLECT_ERROR = "collecting"
MAX_CANDIDATES = 200


@dataclass(slots=True)
class _Told:
    """The summary lines of a session, found by title and by node id; `free` are those that no entry has taken."""

    free: dict[int, tuple[SummaryLine, int]]
    by_title: dict[str, list[int]] = field(default_factory=dict)
    by_node_id: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: list[tuple[SummaryLine, int]]) -> _Told:
        """An index of the lines."""
        told = cls(dict(enumerate(lines)))
        for index, (line, _) in enumerate(lines):
            told.by_title.setdefault(_title_key(line), []).append(index)
            told.by_node_id.setdefault(line.node_id, []).append(index)
        return told

    def candidates(self, title: str) -> list[int]:
        """The free lines with this title; of very many the first."""
        indices = self.by_title.get(_normal(title), ())
        return list(islice((index for index in indices if index in self.free), MAX_CANDIDATES))


@dataclass(slots=True)
class SessionNames:
    """The entries of one session and the lines that name its failing tests."""

    entries: list[Found] = field(default_factory=list)
    lines: list[tuple[SummaryLine, int]] = field(default_factory=list)
    progressed: list[tuple[SummaryLine, int]] = field(default_factory=list)
    rootdir: str = ""
    left_out: int = 0
    _said: Counter[int] = field(default_factory=Counter)

    def add(self, found: Found) -> None:
        """An entry was read."""
        if len(self.entries) < MAX_FOUND:
            self.entries.append(found)
        else:
            self.left_out += 1

    def add_line_style(self, found: Found) -> None:
        """A failure of `--tb=line` was read: equal lines of one session are failures of different tests."""
        said = hash((found.failure.exception, found.failure.frames))
        self.add(replace(found, repeat=self._said[said]))
        self._said[said] += 1

    def summary(self, line: SummaryLine, number: int) -> None:
        """A line of the short summary was read."""
        if len(self.lines) < MAX_FOUND:
            self.lines.append((line, number))

    def progress(self, line: SummaryLine, number: int) -> None:
        """A failing test was named in the progress."""
        if len(self.progressed) < MAX_FOUND:
            self.progressed.append((line, number))

    def named(self) -> list[Found]:
        """The entries with their node ids, then the failures that only the summary tells of."""
        told = _Told.of(self.lines or ([] if self.entries else self.progressed))
        named = [self._name(entry, told) for entry in self.entries]
        untitled = [index for index, entry in enumerate(named) if entry.title is None]
        self._name_untitled(named, untitled, told.free)
        if self.entries and not self.lines:
            progressed = _Told.of(self.progressed)
            named = [self._from_progress(entry, progressed) for entry in named]
        return named + [
            _summary_only(line, number, self.rootdir)
            for line, number in told.free.values()
            if "failed subtest" not in line.message
        ]

    def _name(self, entry: Found, told: _Told) -> Found:
        if entry.title is None:
            return self._based(entry)
        if entry.failure.node_id is not None:
            for index in told.by_node_id.get(entry.failure.node_id, ()):
                told.free.pop(index, None)
            return self._based(entry)
        candidates = told.candidates(entry.title)
        if not candidates:
            return self._based(entry)
        best = max(candidates, key=lambda index: _agreement(told.free[index][0], entry))
        if _contradicts(told.free[best][0], entry.failure):
            return self._based(replace(entry, title=None))
        return self._with_line(entry, told.free.pop(best)[0])

    def _with_line(self, entry: Found, line: SummaryLine) -> Found:
        failure = replace(entry.failure, node_id=_with_subtest(line))
        if not failure.exception.type and line.message:
            failure = replace(failure, exception=_exception_of(line.message))
        return self._based(replace(entry, failure=failure))

    def _name_untitled(self, named: list[Found], untitled: list[int], free: dict[int, tuple[SummaryLine, int]]) -> None:
        """Entries without a title (`--tb=line`, fragments) have the order of the summary, if types agree throughout."""
        pairs = list(zip(untitled, list(free), strict=False))
        if len(untitled) != len(free):
            self._name_by_content(named, untitled[:MAX_CANDIDATES], free)
        elif all(_agrees(free[line][0], named[index].failure) for index, line in pairs):
            for index, line in pairs:
                named[index] = self._with_line(named[index], free.pop(line)[0])

    def _name_by_content(
        self, named: list[Found], untitled: list[int], free: dict[int, tuple[SummaryLine, int]]
    ) -> None:
        """Pieces of a cut log have the one name left that fits their frames, or else their exception."""
        for index in untitled:
            entry = named[index]
            fits = [number for number, line in free.items() if _fits(entry, line[0])]
            fits = fits or [
                number for number, line in free.items() if line[0].message and _agrees(line[0], entry.failure)
            ]
            if len(fits) == 1:
                named[index] = self._with_line(entry, free.pop(fits[0])[0])

    def _from_progress(self, entry: Found, progressed: _Told) -> Found:
        if entry.title is None or entry.failure.node_id is not None:
            return entry
        fits = {progressed.free[index][0].node_id for index in progressed.candidates(entry.title)}
        return self._with_line(entry, SummaryLine("FAILED", fits.pop())) if len(fits) == 1 else entry

    def _based(self, entry: Found) -> Found:
        return replace(entry, bases=(self.rootdir,)) if self.rootdir else entry


def _normal(title: str) -> str:
    """Title or node id without file, in one spelling: old `::()` removed, `::` as `.`, blanks squeezed."""
    if title.startswith("ERROR collecting "):
        return _COLLECT_ERROR + " " + title_domain(title).replace("\\", "/")
    title = title_domain(title)
    title = title.removeprefix("[doctest] ")
    return _dotted(title)


def _dotted(title: str) -> str:
    head, bracket, tail = title.partition("[")
    head = head.replace("::()", "").replace("::", ".").rstrip(".")
    return (head + bracket + tail).strip()


def _title_key(line: SummaryLine) -> str:
    node_id = line.node_id
    _, found, rest = node_id.partition("::")
    if not found:
        return _COLLECT_ERROR + " " + node_id.replace("\\", "/")
    key = _dotted(rest)
    return f"{key} {line.subtest}" if line.subtest else key


def _with_subtest(line: SummaryLine) -> str:
    return line.node_id.replace("::()::", "::")


def _agreement(line: SummaryLine, entry: Found) -> int:
    """How well a summary line fits an entry of the same title: phase, exception, file."""
    phase = (line.kind == "ERROR") == (entry.failure.when is not When.CALL)
    file = line.node_id.partition("::")[0].replace("\\", "/")
    paths = {frame.path.replace("\\", "/") for frame in entry.failure.frames}
    beside = any(path.endswith(file) or file.endswith(path.lstrip("./")) for path in paths)
    return 4 * phase + 2 * _agrees(line, entry.failure) + beside


def _agrees(line: SummaryLine, failure: Failure) -> bool:
    """Whether the message of a summary line can be that of the failure (cut messages agree as far as they go)."""
    if not line.message:
        return True
    shown = line.message.removesuffix("...")
    full = str(failure.exception)
    return full.startswith(shown) or full.endswith(shown) or failure.exception.message.startswith(shown)


def _contradicts(line: SummaryLine, failure: Failure) -> bool:
    """Whether the summary names another exception: then the end of another entry stands here, its title cut off."""
    name, colon, _ = line.message.partition(":")
    found = grammar.surely_exception(name) if colon else None
    told = failure.exception.type.rpartition(".")[2]
    return bool(found and told) and found is not None and found.type.rpartition(".")[2] != told


def _fits(entry: Found, line: SummaryLine) -> bool:
    last = _dotted(line.node_id.partition("::")[2]).partition("[")[0].rpartition(".")[2]
    return any(frame.function == last for frame in entry.failure.frames) and _agrees(line, entry.failure)


def _exception_of(message: str) -> ExceptionRecord:
    found = grammar.exception_line(message.removesuffix("..."))
    is_cut = message.endswith("...")
    if found:
        return grammar.exception_of(found.type, message.partition(": ")[2], is_cut=is_cut)
    kind = "AssertionError" if message.startswith("assert") else ""
    return grammar.exception_of(kind, message, is_cut=is_cut)


def _summary_only(line: SummaryLine, number: int, rootdir: str) -> Found:
    when = When.CALL
    if line.kind == "ERROR":
        when = When.SETUP if "::" in line.node_id else When.COLLECT
    failure = Failure(_with_subtest(line), when, _exception_of(line.message))
    return Found(failure, Source.SUMMARY, number, None, (rootdir,) if rootdir else ())
