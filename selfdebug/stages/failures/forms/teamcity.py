"""TeamCity's service messages (`##teamcity[testFailed ...]`), as its plugins for pytest and unittest print them.

A message is one line of attributes; `|` escapes signs in their values. `details` holds what the runner would print.
"""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import Failure, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Source, Stream
from selfdebug.stages.failures.pytest_text.entry import EntryReader

RANK = 8
MARKS = (grammar.SERVICE_MESSAGE,)
_MESSAGE = re.compile(r"##teamcity\[(testFailed|testStdErr|blockOpened) ")
_ATTRIBUTE = re.compile(r"([A-Za-z]\w*)='((?:[^'|]|\|.)*)'")
_ESCAPE = re.compile(r"\|(?:0x([0-9a-fA-F]{4})|(.))")
_SIGNS = {"n": "\n", "r": "\r", "x": "\x85", "l": "\u2028", "p": "\u2029"}
_SUBTEST = ("SubTest error: ", "SubTest failure: ")
_SUMMARY = "One or more subtests failed"


class TeamCity:
    """Reads each message by itself; nothing goes on over lines."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._block = ""

    def opens(self, line: str) -> bool:
        """Take every service message; those that tell a failure are recorded."""
        if not line.startswith(grammar.SERVICE_MESSAGE):
            return False
        match = _MESSAGE.match(line)
        if match is None:
            return True
        attributes = {found[1]: _unescaped(found[2]) for found in _ATTRIBUTE.finditer(line, match.end())}
        name, kind = attributes.get("name", ""), match[1]
        if kind == "blockOpened":
            self._block = name if "subTestResult" in attributes else ""
        elif kind == "testFailed" and attributes.get("message") != _SUMMARY:
            self._add(name, attributes.get("details", ""), attributes.get("message", ""))
        elif kind == "testStdErr" and attributes.get("out", "").startswith(_SUBTEST):
            self._add(f"{name} {self._block}".strip(), attributes["out"].partition(": ")[2], "")
        return True

    def feed(self, line: str) -> bool:
        """Refuse every line: a message is read when it opens."""
        del line
        return False

    def close(self) -> None:
        """Nothing is held."""

    def _add(self, name: str, details: str, message: str) -> None:
        """In a run that another form reads, its own report says more: then the message only stands in for it."""
        entry = EntryReader(name)
        for line in details.split("\n"):
            entry.feed(line)
        failure = entry.failure()
        if failure is None or not failure.exception.type:
            exception = grammar.exception_of("AssertionError", message.strip())
            failure = replace(failure, exception=exception) if failure else Failure(None, When.CALL, exception)
        source = Source.TRACEBACK if self._stream.in_run else Source.RUNNER
        self._stream.add(failure, source, self._stream.findings.line, name)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _SIGNS.get(found[2], found[2]), text)


FORM = TeamCity
