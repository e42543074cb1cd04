"""Offers each line of each stream to the forms and collects what they find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from selfdebug.model import Failure
from selfdebug.stages.failures.forms import Form, form_marks, form_types
from selfdebug.stages.failures.found import Findings, Stream
from selfdebug.stages.failures.normalise import SUSPICIONS, Line, Repair, spelled_out, without_prefixes

MAX_STREAMS = 64
WINDOW = 3_000
_FIRST_SIGNS = (
    "Traceback (most recent call last)",
    "= FAILURES =",
    "= ERRORS =",
    'File "',
    "&quot;",
    "ERROR: ",
    "FAIL: ",
)


class _StreamReader:
    """The forms of one stream, at most one of them busy."""

    def __init__(self, findings: Findings, name: str) -> None:
        self._stream = Stream(findings, name=name)
        self._forms: list[Form] = [form(self._stream) for form in form_types()]
        self._busy: Form | None = None

    def feed(self, line: str) -> None:
        if self._busy is not None:
            if self._busy.feed(line):
                return
            self._busy = None
        if line and _is_marked(line):
            self._busy = next((form for form in self._forms if form.opens(line)), None)

    def close(self) -> None:
        for form in reversed(self._forms):
            form.close()
        self._stream.abandon_run()


def _is_marked(line: str) -> bool:
    for mark in form_marks():  # noqa: SIM110 - the hottest loop of all: a generator takes half as long again
        if mark in line:
            return True
    return False


def recognise(lines: Iterable[Line]) -> Findings:
    """Everything that the forms find in the lines."""
    findings = Findings()
    readers: dict[str, _StreamReader] = {}
    for number, (stream, text) in enumerate(lines, 1):
        findings.line = number
        reader = readers.get(stream)
        if reader is None:
            name = stream if len(readers) < MAX_STREAMS else ""
            reader = readers[name] = readers.get(name) or _StreamReader(findings, name)
        reader.feed(text)
    for reader in readers.values():
        reader.close()
    return findings


def best_reading(lines: list[str]) -> tuple[Findings, list[Repair]]:
    """The findings with the repairs that let more be read, and these repairs."""
    findings = recognise(without_prefixes(lines, lines))
    kept: list[Repair] = []
    best = _worth(findings)
    for suspicion in SUSPICIONS:
        repair = suspicion(lines)
        if repair is None:
            continue
        mended = list(_repaired(lines, repair))
        read = recognise(without_prefixes(mended, mended))
        if _worth(read) > best:
            findings, best, lines = read, _worth(read), mended
            kept.append(repair)
    return findings, kept


def likely_repairs(sample: list[str]) -> list[Repair]:
    """The repairs that help with the first failure of a long log."""
    first = next((index for index, line in enumerate(sample) if any(sign in line for sign in _FIRST_SIGNS)), 0)
    start = max(0, first - WINDOW // 10)
    return best_reading(sample[start : start + WINDOW])[1]


def repaired(lines: Iterable[str], repairs: list[Repair]) -> Iterable[str]:
    """The lines after the repairs, one after the other."""
    for repair in repairs:
        lines = _repaired(lines, repair)
    return lines


def _repaired(lines: Iterable[str], repair: Repair) -> Iterator[str]:
    """The lines after a repair; JSON may be whole only now, so what its strings hold is spelled out again."""
    mended = iter(repair(lines))
    while chunk := list(islice(mended, WINDOW)):
        yield from spelled_out(chunk, "\n".join(chunk))


def _worth(findings: Findings) -> int:
    """How much was read: whole runs count most, then failures, then entries with a function and a node id."""
    return 40 * findings.runs + sum(map(_failure_worth, (found.failure for found in findings.found)))


def _failure_worth(failure: Failure) -> int:
    named = sum(frame.function is not None for frame in failure.frames[:20])
    if not failure.exception.type:
        return -5
    shown = failure.exception.message + "".join(frame.function or "" for frame in failure.frames[-3:])
    clean = not any(sign in shown for sign in ("&#", "&quot;", "&lt;", "&gt;"))
    own = (10 if failure.frames else 2) + named + bool(failure.node_id) + clean
    return own + sum(map(_failure_worth, failure.group))
