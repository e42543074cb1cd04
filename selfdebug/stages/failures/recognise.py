"""Offers each line of each stream to the forms and collects what they find."""

from __future__ import annotations

from collections.abc import Iterable

from selfdebug.stages.failures.forms import Form, form_types
from selfdebug.stages.failures.found import Findings, Stream
from selfdebug.stages.failures.normalise import Line


class _StreamReader:
    """The forms of one stream, at most one of them busy."""

    def __init__(self, findings: Findings, name: str) -> None:
        stream = Stream(findings, name=name)
        self._forms: list[Form] = [form(stream) for form in form_types()]
        self._busy: Form | None = None

    def feed(self, line: str) -> None:
        if self._busy is not None:
            if self._busy.feed(line):
                return
            self._busy = None
        if line:
            self._busy = next((form for form in self._forms if form.opens(line)), None)

    def close(self) -> None:
        for form in reversed(self._forms):
            form.close()


def recognise(lines: Iterable[Line]) -> Findings:
    """Everything that the forms find in the lines."""
    findings = Findings()
    readers: dict[str, _StreamReader] = {}
    for line in lines:
        findings.line += 1
        reader = readers.get(line.stream)
        if reader is None:
            reader = readers[line.stream] = _StreamReader(findings, line.stream)
        reader.feed(line.text)
    for reader in readers.values():
        reader.close()
    return findings
