"""pytest's short test summary: which node ids failed, and with what, as far as the line was wide enough."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KIND = re.compile(r"(FAILED|ERROR|FAIL|SUBFAILED|SUBFAIL)\b")
_PREFIXED = re.compile(r"((?:\[|\().*[\])]) (SUBFAILED|SUBFAIL|FAILED) (\S.*)$")
_BESIDE_PATH = re.compile(r"[^:\s][^:]*\.(?:py|pyx|rst|txt|md|yaml|yml|feature|ipynb)(?:$|::| - |: )")


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of the summary: node id and message are still one text, since both may contain ` - `."""

    kind: str
    text: str
    subtest: str = ""

    @property
    def node_id(self) -> str:
        """The node id, taking the first ` - ` outside the brackets of its parameters as its end."""
        return self.text[: self._end()].rstrip()

    @property
    def message(self) -> str:
        """What follows the node id."""
        return self.text[self._end() :].removeprefix(" - ").strip()

    def _end(self) -> int:
        depth = 0
        for index, char in enumerate(self.text):
            if char == "[":
                depth += 1
            elif char == "]":
                depth -= 1
            elif char == " " and depth <= 0 and self.text.startswith(" - ", index):
                return index
        plain = self.text.find(" - ") if depth else -1
        return plain if plain >= 0 else len(self.text)


def summary_line(line: str, *, certain: bool) -> SummaryLine | None:
    """The summary line in `line`; unless `certain` that this is a summary, its text must start with a file or `::`."""
    match = _KIND.match(line)
    if match:
        subtest, text = _subtest(line[match.end() :])
        if text and (certain or _BESIDE_PATH.match(text) or text.startswith("::")):
            return SummaryLine(match[1], text, subtest)
        return None
    match = _PREFIXED.match(line) if line[:1] in "[(" and certain else None
    return SummaryLine(match[2], match[3], match[1]) if match else None


def _subtest(rest: str) -> tuple[str, str]:
    """pytest 9 writes the description of a subtest directly behind the kind: `SUBFAILED[msg] (i=1) node - message`."""
    if rest[:1] not in ("[", "("):
        return "", rest.strip()
    at = 0
    for word in rest.split(" "):
        if "::" in word and "." in word.partition("::")[0] and word[0] not in "[(":
            return rest[:at].strip(), rest[at:].strip()
        at += len(word) + 1
    return "", rest.strip()


def progress_line(line: str) -> SummaryLine | None:
    """A failing test in the verbose progress: `tests/a.py::test_b FAILED [ 50%]`, with xdist the outcome in front."""
    if "::" not in line or ("FAILED" not in line and "ERROR" not in line):
        return None
    words = line.rstrip()
    if words.startswith("[gw") and "%] " in words:
        kind, _, node_id = words.partition("%] ")[2].partition(" ")
    else:
        words = words[: words.rfind("[")].rstrip() if words.endswith("%]") else words
        node_id, _, kind = words.rpartition(" ")
    if kind not in ("FAILED", "ERROR") or "::" not in node_id or ".py" not in node_id:
        return None
    return SummaryLine(kind, node_id.strip())
