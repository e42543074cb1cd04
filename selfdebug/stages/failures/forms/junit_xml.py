"""JUnit XML as pytest and unittest-xml-reporting write it: the text of each failure is an entry of its own."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from selfdebug.model import Failure, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.pytest_text.entry import EntryReader, when_of

RANK = 5
MARKS = ("<test",)
MAX_CASE = 2_000_000
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]+)=(?:\"([^\"]*)\"|'([^']*)')")
_SCENARIO = re.compile(r"^Location: (\S.*\.feature:\d+)$", re.MULTILINE)  # as behave writes it
_OUTCOME = re.compile(r"<(failure|error)\b")
_PHASES = (
    ("failed on setup with", When.SETUP),
    ("failed on teardown with", When.TEARDOWN),
    ("collection failure", When.COLLECT),
)


class JUnitXml:
    """Opens at the first test case and holds at most one case in memory."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._size = 0
        self._is_open = False

    def opens(self, line: str) -> bool:
        """Take a line of the XML document."""
        if "<test" not in line or not ("<testsuite" in line or "<testcase " in line):
            return False
        self._is_open = True
        self._keep("")
        return self.feed(line)

    def feed(self, line: str) -> bool:
        """Take lines up to the end of the suite, reading case by case."""
        if not self._is_open:
            return False
        self._lines.append(line)
        self._size += len(line)
        if "</testcase>" in line:
            self._read_cases()
        if "</testsuite>" in line or self._size > MAX_CASE:
            self.close()
        return True

    def close(self) -> None:
        """The document has ended."""
        text = "\n".join(self._lines)
        if self._is_open and "<testcase " in text:
            self._read_case(text[text.rfind("<testcase ") :])
        self._is_open = False
        self._keep("")

    def _keep(self, text: str) -> None:
        self._lines, self._size = [text] if text else [], len(text)

    def _read_cases(self) -> None:
        text, start = "\n".join(self._lines), 0
        while True:
            end = text.find("</testcase>", start)
            if end < 0:
                break
            opening = text.rfind("<testcase ", start, end)
            if opening >= 0:
                self._read_case(text[opening:end])
            start = end + len("</testcase>")
        self._keep(text[start:])

    def _read_case(self, case: str) -> None:
        tag = case.partition(">")[0]
        names = _attributes(tag)
        for outcome in _OUTCOME.finditer(case):
            closing = case.find(f"</{outcome[1]}>", outcome.end())
            body = case[outcome.end() : closing if closing >= 0 else None]
            self._add(names, body)

    def _add(self, names: dict[str, str], body: str) -> None:
        head, _, text = _split_tag(body)
        attributes = _attributes(head)
        message = attributes.get("message", "")
        entry = EntryReader(_title(names, message))
        for line in _plain(text).split("\n"):
            entry.feed(line)
        failure = entry.failure()
        if failure is None or not failure.exception.type or ("type" in attributes and not failure.frames):
            failure = _from_message(failure, attributes, message)
        scenario = _SCENARIO.search(text)
        failure = replace(failure, node_id=scenario[1] if scenario else _node_id(names), when=when_of(entry.title))
        self._stream.add(failure, Source.RUNNER, self._stream.findings.line, _title(names, message))


def _split_tag(body: str) -> tuple[str, str, str]:
    """The rest of a start tag and what follows it; a `>` may stand inside a quoted attribute."""
    quote = ""
    for index, char in enumerate(body):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == ">":
            return body[:index], ">", body[index + 1 :]
    return body, "", ""


def _attributes(tag: str) -> dict[str, str]:
    return {found[1]: html.unescape(found[2] or found[3] or "") for found in _ATTRIBUTE.finditer(tag)}


def _plain(text: str) -> str:
    return html.unescape(text.replace("<![CDATA[", "").replace("]]>", ""))


def _node_id(names: dict[str, str]) -> str | None:
    """The node id that class and name stand for; the class names modules first, then classes, which are capitalised."""
    name, parts = names.get("name", ""), names.get("classname", "").split(".")
    if not parts[0]:
        return name.replace(".", "/") + ".py" if name else None
    split = next((index for index, part in enumerate(parts) if part[:1].isupper() and index), len(parts))
    file = names.get("file") or "/".join(parts[:split]) + ".py"
    return "::".join([file, *parts[split:], name])


def _title(names: dict[str, str], message: str) -> str:
    """The title that pytest's terminal report would give, with the phase that the message names."""
    group = names.get("classname", "").rpartition(".")[2]
    name = names.get("name", "")
    title = f"{group}.{name}" if group[:1].isupper() else name
    for words, when in _PHASES:
        if message.startswith(words):
            if when is When.COLLECT:
                return f"ERROR collecting {names.get('classname', '').replace('.', '/')}{name}"
            return f"ERROR at {when.value} of {title}"
    return title


def _from_message(failure: Failure | None, attributes: dict[str, str], message: str) -> Failure:
    """What the attributes say, when the text has no exception line."""
    text = message
    for words, _ in _PHASES:
        text = text.removeprefix(words).strip(' "')
    found = grammar.exception_line(text.partition("\n")[0])
    kind = attributes.get("type") or (found.type if found else "")
    exception = grammar.exception_of(kind, found.message if found else text)
    if failure is None:
        return Failure(None, When.CALL, exception)
    return Failure(failure.node_id, failure.when, exception, failure.frames, failure.causes, failure.group)


FORM = JUnitXml
