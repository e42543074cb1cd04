"""What single lines of a captured log can be: traceback entries, exception lines, rules, chain sentences.

Every pattern is anchored, or a plain search for literals, so that reading stays linear in the length of a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from selfdebug.model import ExceptionRecord, Frame

TRACEBACK = "Traceback (most recent call last)"
GROUP_TRACEBACK = "Exception Group Traceback (most recent call last)"
CHAIN_SENTENCES = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
SERVICE_MESSAGE = "##teamcity["
MAX_LINE = 4000

_QUOTED_FRAME = re.compile(r"\s*(?:[>*|]\s*)?File \"([^\"]+)\", line (\d+)(.*)$")
_PLAIN_FRAME = re.compile(r"\s*File ([^\"\s][^\"]*?):(\d+)(?:,)? in (\S.*)$")
_IN = re.compile(r",? in (\S.*)$")
_SHORT_FRAME = re.compile(r"(.+):(\d+): in (\S.*)$")
_LOCATION = re.compile(r":(\d+):(?= |$)")
_EXCEPTION = re.compile(r"((?:[^\W\d]\w*\.(?:<locals>\.)?)*[^\W\d]\w*)(?::(?: (.*))?)?$")
_PATH_END = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,7}$")
_ERROR_NAME = re.compile(
    r"(?:[Ee]rror|[Ee]xception|Exit|Interrupt|[Tt]imeout|Warning|Failed|Skipped|Iteration|ExceptionGroup|Fault|Empty|Full)$"
)
_NOT_AN_EXCEPTION = frozenset(
    [
        "INFO",
        "DEBUG",
        "WARNING",
        "WARN",
        "ERROR",
        "CRITICAL",
        "FATAL",
        "NOTICE",
        "TRACE",
        "OK",
        "FAILED",
        "PASSED",
        "Note",
        "Notes",
        "Hint",
        "Tip",
        "Usage",
        "See",
        "Stdout",
        "Stderr",
        "File",
        "Traceback",
        "Error",
        "Test",
        "Results",
        "Summary",
        "Total",
        "Attempt",
        "Step",
        "Run",
        "Ran",
        "Name",
        "Code",
        "Python",
        "Environment",
        "Date",
        "From",
        "To",
        "Subject",
        "Cc",
        "True",
        "False",
        "None",
    ]
)
_LOWER_CASE_OK = re.compile(r"(?:error|timeout|exit|abort|herror|gaierror)$")


@dataclass(frozen=True, slots=True)
class ExceptionLine:
    """The line that names an exception: type as written and the first line of its message."""

    type: str
    message: str


def indentation(line: str) -> int:
    """How many blanks or tabs a line starts with."""
    return len(line) - len(line.lstrip())


def frame_of(line: str) -> Frame | None:
    """A traceback entry as the interpreter prints it (`File "x.py", line 3, in f`), also without a function."""
    if "File " not in line:
        return None
    match = _QUOTED_FRAME.match(line)
    if match:
        inside = _IN.match(match[3])
        return Frame(match[1], int(match[2][:9]), inside[1].strip() if inside else None)
    match = _PLAIN_FRAME.match(line)
    return Frame(match[1], int(match[2][:9]), bare_function(match[3])) if match else None


def short_frame_of(line: str) -> Frame | None:
    """An entry of pytest's short style (`x.py:3: in f`)."""
    if ": in " not in line or line[:1] in " E>":
        return None
    match = _SHORT_FRAME.match(line)
    return Frame(match[1], int(match[2][:9]), match[3].strip()) if match else None


def location_of(line: str) -> tuple[str, int, str] | None:
    """Path, line and rest of `x.py:3: REST`, where the path must look like one."""
    if line[:1] in " \t" or line[:2] in ("E ", "> "):
        return None
    match = _LOCATION.search(line, 2)
    if match is None:
        return None
    path = line[: match.start()]
    if not (_PATH_END.search(path) or path.startswith("<")) or len(path) > 1000:
        return None
    return path, int(match[1][:9]), line[match.end() :].strip()


def exception_line(text: str) -> ExceptionLine | None:
    """Any text of the form `dotted.Name` or `dotted.Name: message` whose name can be that of an exception class."""
    text = text.rstrip()
    match = _EXCEPTION.match(text[:MAX_LINE])
    if match is None:
        return None
    name, message = match[1], match[2] or ""
    last = name.rsplit(".", 1)[-1]
    if name in _NOT_AN_EXCEPTION or not (last[0].isupper() or "." in name or _LOWER_CASE_OK.search(last)):
        return None
    return ExceptionLine(name.removeprefix("builtins.").removeprefix("exceptions."), message + text[MAX_LINE:])


def surely_exception(text: str) -> ExceptionLine | None:
    """An exception line that cannot be mistaken for source: its class is named as exceptions are."""
    found = exception_line(text)
    return found if found and _ERROR_NAME.search(found.type) else None


def rule_title(line: str, mark: str) -> str | None:
    """The title in `==== title ====` (a rule of `mark`), the empty string for a rule without a title, else None."""
    line = line.rstrip()
    if len(line) < 4 or line[0] != mark or line[-1] != mark:
        return None
    if line[1] != mark and not (line[1] == " " and line[-2] == " "):
        return None
    return line.strip(mark).strip()


def is_rule(line: str, mark: str, least: int = 20) -> bool:
    """Whether the line is nothing but `mark`, at least `least` of them."""
    line = line.strip()
    return len(line) >= least and line[0] == mark and not line.strip(mark)


def is_chain_sentence(line: str) -> bool:
    """Whether the line is one of the two sentences that join chained exceptions."""
    return line.strip() in CHAIN_SENTENCES


def is_traceback_header(line: str) -> bool:
    """Whether a traceback begins here, perhaps in the margin of a group or behind words of a logger."""
    at = line.find(TRACEBACK)
    if at < 0:
        return False
    before = line[:at].rstrip()
    return line.rstrip().endswith(("last):", "last)")) and before[-1:] not in tuple("\"'(=,")


def is_marker_line(line: str) -> bool:
    """Whether the line only underlines the source above it."""
    return not line.strip("~^ \t") and bool(line.strip())


def is_cut(line: str) -> bool:
    """Whether somebody says here that lines were left out: `[... 120 lines truncated ...]`, `<snip>`."""
    text = line.strip()
    if not 4 <= len(text) <= 120 or text[0] not in ".…[<(-~*#" or text.startswith(("...:", "[gw")):
        return False
    return any(
        word in text.lower() for word in ("truncated", "omitted", "snip", "skipped", "cut ", "lines hidden", "elided")
    )


def bare_function(text: str) -> str:
    """The name in `name(arguments)`; `<module>` and `<lambda>` stay as they are."""
    text = text.strip()
    return text[: text.index("(")] if "(" in text and not text.startswith("(") else text


def exception_of(type_name: str, message: str, *, is_cut: bool = False) -> ExceptionRecord:
    """The record of an exception, with the name or key that its message states."""
    return ExceptionRecord(type_name, message, _named(type_name, message), _key(type_name, message), is_cut)


def _named(type_name: str, message: str) -> str | None:
    for before in ("has no attribute '", "name '", "local variable '"):
        _, found, rest = message.partition(before)
        if found and "'" in rest and type_name.endswith(("AttributeError", "NameError", "UnboundLocalError")):
            return rest.partition("'")[0]
    return None


def _key(type_name: str, message: str) -> str | None:
    return message or None if type_name.rsplit(".", 1)[-1] == "KeyError" else None
