"""pytest's terminal report, versions 3 to 9, whole or in pieces, with the plugins that change how it looks.

Sections are told by their rules (`=== FAILURES ===`), entries by their titles (`___ test_a ___`). Sections that show
passing tests, warnings or captured output are read over.
"""

from __future__ import annotations

import re
from dataclasses import replace

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar
from selfdebug.stages.failures.found import Found, Source, Stream
from selfdebug.stages.failures.grammar import SERVICE_MESSAGE
from selfdebug.stages.failures.pytest_text.entry import EntryReader
from selfdebug.stages.failures.pytest_text.naming import SessionNames
from selfdebug.stages.failures.pytest_text.summary import progress_line, summary_line

RANK = 10
MARKS = (
    "=====",
    "__",
    "――",
    ": in ",
    "E  ",
    "rootdir: ",
    "collected ",
    "session starts",
    "ImportError while",
    "FAIL",
    "ERROR",
    "%]",
    " passed",
    " failed",
    " error",
    " skipped",
)
_ENDED = re.compile(r"(?:=+ )?(?:\d+ \w+|no tests ran)\b.* in \d+(?:[.,:]\d+)*(?: ?s\b| seconds| \()")
_SHORT_END = re.compile(
    r"(?:\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests)\b)"
)
_ROOTDIR = re.compile(r"rootdir: (.+?)(?:, (?:configfile|inifile|testpaths): ?.*)?$")
_OUTCOMES = frozenset(".FEsxXRpfur,")
_FAILING = ("FAILURES", "ERRORS", "XPASSES (strict)")
_MUTED = ("PASSES", "warnings summary", "XFAILURES", "XPASSES", "slowest", "coverage:", "tests coverage")
_CONFTEST = "ImportError while loading conftest '"
_CRASHED = re.compile(r"(?:Replacing crashed worker|\[gw\d+\] node down)")


class PytestReport:
    """One session after another of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._section = "free"
        self._entry: EntryReader | None = None
        self._start = 0
        self._nested = 0
        self._names = SessionNames()

    # -------------------------------------------------------------- the protocol of a form

    def opens(self, line: str) -> bool:
        """At any line that only pytest prints."""
        return self._is_ours(line) and self.feed(line)

    def feed(self, line: str) -> bool:
        """Take the line; between sections only those that are pytest's own."""
        if line.startswith(SERVICE_MESSAGE):
            return False
        rule = grammar.rule_title(line, "=") if line.startswith("=") else None
        if (rule and self._take_section(rule)) or self._section == "muted":
            return True
        if self._section == "summary" and self._take_summary(line):
            return True
        title = self._entry_title(line)
        if title and not self._nested:
            self._open_entry(title)
            return True
        return self._take_content(line)

    def _take_content(self, line: str) -> bool:
        if self._section == "failing":
            return self._take_failing(line)
        if self._entry is not None:
            return self._take_fragment(self._entry, line)
        return self._take_free(line)

    def close(self) -> None:
        """The log ends: record what is open; a session that did not end is told as far as it came."""
        self._close_entry()
        self._flush()

    # -------------------------------------------------------------- sections

    def _take_section(self, title: str) -> bool:
        """A rule with a title; inside captured output it may belong to a pytest that the test itself ran."""
        is_start, is_end = title.startswith("test session starts"), bool(_ENDED.match(title))
        captured = self._section == "muted" or (self._entry is not None and self._entry.is_captured)
        if captured and is_start:
            self._nested += 1
        if self._nested:
            self._nested -= is_end
            return True
        if is_start or is_end:
            self._close_entry()
            self._end_session(is_end=is_end)
            return True
        section = _section_of(title)
        if section is None:
            return False
        self._close_entry()
        self._section = section
        self._stream.start_run()
        return True

    def _end_session(self, *, is_end: bool) -> None:
        self._flush()
        self._section = "free"
        if is_end:
            self._stream.end_run()
            return
        self._stream.abandon_run()
        self._stream.start_run()

    def _flush(self) -> None:
        names, self._names = self._names, SessionNames()
        self._stream.add_all(names.named())
        self._stream.findings.left_out += names.left_out

    # -------------------------------------------------------------- entries

    def _entry_title(self, line: str) -> str | None:
        mark = line[:1]
        if mark not in ("_", "―"):
            return None
        title = grammar.rule_title(line, mark)
        return title if title and title.strip("_ ") else None

    def _open_entry(self, title: str | None) -> None:
        self._close_entry()
        self._entry, self._start = EntryReader(title), self._stream.findings.line
        if title is not None:
            self._stream.start_run(claims_earlier=True)

    def _close_entry(self) -> None:
        entry, self._entry = self._entry, None
        failure = entry.failure() if entry else None
        if entry and failure:
            self._names.add(Found(failure, Source.RUNNER, self._start, entry.title))

    def _take_failing(self, line: str) -> bool:
        if _SHORT_END.match(line) and _ENDED.match(line) and not (self._entry and self._entry.is_captured):
            self._close_entry()
            self._end_session(is_end=True)
        elif grammar.is_cut(line) and self._entry is not None and not self._entry.is_captured:
            self._open_entry(None)
        elif not self._take_line_style(line) and self._entry is not None:
            self._entry.feed(line)
        return True

    def _take_line_style(self, line: str) -> bool:
        """`--tb=line` writes one line a failure and no titles; new versions put the E lines of its chain above it."""
        if self._entry is not None and (self._entry.title is not None or self._entry.has_frames):
            return False
        location = None if grammar.short_frame_of(line) else grammar.location_of(line)
        failure = _line_failure(*location) if location else None
        if failure:
            above = self._entry.failure() if self._entry else None
            if above:
                failure = replace(above, frames=failure.frames)
            self._entry = None
            self._names.add_line_style(Found(failure, Source.RUNNER, self._stream.findings.line))
            return True
        if self._entry is None and (
            _begins_fragment(line) or line.startswith("E  ") or grammar.is_traceback_header(line)
        ):
            self._open_entry(None)
        return False

    # -------------------------------------------------------------- outside the sections

    def _is_ours(self, line: str) -> bool:
        first = line[:1]
        if first == "=":
            title = grammar.rule_title(line, "=")
            return bool(title) and (
                _section_of(title or "") is not None
                or title == "test session starts"
                or bool(_ENDED.match(title or ""))
            )
        if first in "_―" and first:
            return self._entry_title(line) is not None
        return (
            _begins_fragment(line)
            or line.startswith(
                ("rootdir: ", _CONFTEST, "collected ", "Test session starts", "FAILED ", "ERROR ", "FAIL ")
            )
            or "%]" in line
            or line.rstrip().endswith((" FAILED", " ERROR"))
            or bool(_SHORT_END.match(line))
        )

    def _take_free(self, line: str) -> bool:
        """Between sections: summary and progress lines, the root, and entries that lost their title."""
        if _begins_fragment(line) or line.startswith(_CONFTEST):
            self._open_entry("ERROR collecting conftest.py" if line.startswith(_CONFTEST) else None)
            if self._entry is not None:
                self._entry.feed(line)
            return True
        root = _ROOTDIR.match(line) if line.startswith("rootdir: ") else None
        if root:
            self._stream.findings.rootdirs.append(root[1].strip())
            self._names.rootdir = root[1].strip()
        elif line.startswith(("collected ", "Test session starts")) or _is_progress(line):
            self._stream.start_run()
        elif _SHORT_END.match(line) and _ENDED.match(line):
            self._end_session(is_end=True)
        else:
            return self._take_names(line)
        return True

    def _take_names(self, line: str) -> bool:
        summary = summary_line(line, certain=False)
        progress = None if summary else progress_line(line)
        if summary:
            self._names.summary(summary, self._stream.findings.line)
        elif progress:
            self._names.progress(progress, self._stream.findings.line)
        return bool(summary or progress)

    def _take_summary(self, line: str) -> bool:
        summary = summary_line(line, certain=True)
        if summary:
            self._names.summary(summary, self._stream.findings.line)
        elif _SHORT_END.match(line) and _ENDED.match(line):
            self._end_session(is_end=True)
        elif self._entry_title(line) or _begins_fragment(line) or grammar.is_traceback_header(line):
            self._section = "free"
            return False
        return True

    def _take_fragment(self, entry: EntryReader, line: str) -> bool:
        """Inside an entry that no section holds: instant reports, and pieces that someone cut out."""
        if self._ends_fragment(line):
            return self._take_free(line)
        if entry.has_error and not entry.is_captured and not line.startswith("E"):
            if grammar.is_traceback_header(line):
                self._close_entry()
                return False
            if _begins_fragment(line):
                self._open_entry(None)
        if self._entry is not None:
            self._entry.feed(line)
        return True

    def _ends_fragment(self, line: str) -> bool:
        is_end = _is_progress(line) or bool(_SHORT_END.match(line) and _ENDED.match(line))
        if self._entry and not self._entry.is_captured:
            is_end = is_end or bool(summary_line(line, certain=False) or progress_line(line))
        if is_end:
            self._close_entry()
        return is_end


def _section_of(title: str) -> str | None:
    if title in _FAILING:
        return "failing"
    if title.startswith(_MUTED):
        return "muted"
    if title.endswith("test summary info"):
        return "summary"
    return None


def _is_progress(line: str) -> bool:
    """`tests/test_a.py ..F [ 50%]`, also without the file."""
    if not line.rstrip().endswith("%]"):
        return False
    outcomes = line[: line.rfind("[")].rstrip().rpartition(" ")[2]
    return bool(outcomes) and set(outcomes) <= _OUTCOMES


def _begins_fragment(line: str) -> bool:
    """Whether the line is so much pytest's own that an entry can begin with it."""
    if grammar.short_frame_of(line):
        location = grammar.location_of(line)
        return location is not None
    return line.startswith("E  ") and grammar.surely_exception(line[1:].strip()) is not None


def _line_failure(path: str, number: int, rest: str) -> Failure | None:
    """The failure that `path:3: TypeError: message` tells of; a bare type there ends an entry of another style."""
    found = grammar.exception_line(rest)
    if (found is None or not found.message) and not rest.startswith("assert"):
        return None
    exception = (
        grammar.exception_of(found.type, found.message) if found else grammar.exception_of("AssertionError", rest)
    )
    return Failure(None, When.CALL, exception, (Frame(path, number),))


FORM = PytestReport
