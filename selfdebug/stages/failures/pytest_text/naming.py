"""Which node id an entry of a session has: titles are matched with the short summary and the progress lines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from selfdebug.model import ExceptionRecord, Failure, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Found, Source
from selfdebug.stages.failures.node_ids import title_domain
from selfdebug.stages.failures.pytest_text.summary import SummaryLine

_COLLECT_ERROR = "collecting"


@dataclass(slots=True)
class SessionNames:
    """The entries of one session and the lines that name its failing tests."""

    entries: list[Found] = field(default_factory=list)
    lines: list[tuple[SummaryLine, int]] = field(default_factory=list)
    progressed: list[tuple[SummaryLine, int]] = field(default_factory=list)
    rootdir: str = ""

    def add(self, found: Found) -> None:
        """An entry was read."""
        self.entries.append(found)

    def add_line_style(self, found: Found) -> None:
        """A failure of `--tb=line` was read: equal lines of one session are failures of different tests."""
        same = sum(_said(one) == _said(found) for one in self.entries)
        self.entries.append(replace(found, repeat=same))

    def summary(self, line: SummaryLine, number: int) -> None:
        """A line of the short summary was read."""
        self.lines.append((line, number))

    def progress(self, line: SummaryLine, number: int) -> None:
        """A failing test was named in the progress."""
        self.progressed.append((line, number))

    def named(self) -> list[Found]:
        """The entries with their node ids, then the failures that only the summary tells of."""
        told = self.lines or ([] if self.entries else self.progressed)
        free = list(told)
        by_title: dict[str, list[tuple[SummaryLine, int]]] = {}
        for line in told:
            by_title.setdefault(_title_key(line[0]), []).append(line)
        named = [self._name(entry, by_title, free) for entry in self.entries]
        untitled = [index for index, entry in enumerate(named) if entry.title is None]
        self._name_in_order(named, untitled, free)
        if self.entries and not self.lines:
            named = [self._from_progress(entry) for entry in named]
        return named + [
            _summary_only(line, number, self.rootdir) for line, number in free if "failed subtest" not in line.message
        ]

    def _name(
        self, entry: Found, by_title: dict[str, list[tuple[SummaryLine, int]]], free: list[tuple[SummaryLine, int]]
    ) -> Found:
        if entry.title is None:
            return self._based(entry)
        if entry.failure.node_id is not None:
            free[:] = [line for line in free if line[0].node_id != entry.failure.node_id]
            return self._based(entry)
        candidates = by_title.get(_normal(entry.title))
        if not candidates:
            return self._based(entry)
        best = max(candidates, key=lambda line: _agreement(line[0], entry))
        if _contradicts(best[0], entry.failure):
            return self._based(replace(entry, title=None))
        candidates.remove(best)
        if best in free:
            free.remove(best)
        return self._with_line(entry, best[0])

    def _with_line(self, entry: Found, line: SummaryLine) -> Found:
        failure = replace(entry.failure, node_id=_with_subtest(line))
        if not failure.exception.type and line.message:
            failure = replace(failure, exception=_exception_of(line.message))
        return self._based(replace(entry, failure=failure))

    def _name_in_order(self, named: list[Found], untitled: list[int], free: list[tuple[SummaryLine, int]]) -> None:
        """Entries without a title (`--tb=line`, fragments) have the order of the summary, if types agree throughout."""
        if len(untitled) != len(free):
            self._name_by_content(named, untitled, free)
        elif all(_agrees(line[0], named[index].failure) for index, line in zip(untitled, free, strict=True)):
            for index, line in zip(untitled, free, strict=True):
                named[index] = self._with_line(named[index], line[0])
            free.clear()

    def _name_by_content(self, named: list[Found], untitled: list[int], free: list[tuple[SummaryLine, int]]) -> None:
        """Pieces of a cut log have the one name left that fits their frames, or else their exception."""
        for index in untitled:
            entry = named[index]
            fits = [line for line in free if _fits(entry, line[0])]
            fits = fits or [line for line in free if line[0].message and _agrees(line[0], entry.failure)]
            if len(fits) == 1:
                named[index] = self._with_line(entry, fits[0][0])
                free.remove(fits[0])

    def _from_progress(self, entry: Found) -> Found:
        if entry.title is None or entry.failure.node_id is not None:
            return entry
        key = _normal(entry.title)
        fits = {line.node_id for line, _ in self.progressed if _title_key(line) == key}
        return self._with_line(entry, SummaryLine("FAILED", fits.pop())) if len(fits) == 1 else entry

    def _based(self, entry: Found) -> Found:
        return replace(entry, bases=(self.rootdir,)) if self.rootdir else entry


def _said(found: Found) -> tuple[object, ...]:
    return found.failure.exception, found.failure.frames


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
    full = f"{failure.exception.type}: {failure.exception.message}"
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
