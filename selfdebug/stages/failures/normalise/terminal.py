"""Terminal control: colours, links, cursor movement, also where the escape character itself was lost or spelled out."""

from __future__ import annotations

import re

_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[()*+][A-Za-z0-9]"
    r"|\x1b[@-Z\\^_=><78c]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_SPELLED = re.compile(r"(?:\^\[|\\x1b|\\u001b|\\033|\\e|␛)\[[0-9;]{0,20}[A-Za-z]")
_ORPHANS = re.compile(r"\[(?:0|[0-9]{0,3}(?:;[0-9]{1,3}){1,5}|[0-9]{1,3})m")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


def without_codes(line: str) -> str:
    """The line as a terminal shows it, but without colours."""
    if line.isprintable():
        if "[" not in line or not ("[0m" in line or "[31m" in line or "^[[" in line or "b[" in line):
            return line
    else:
        line = _CONTROL.sub("", _CODES.sub("", line).replace("\x1b", "")).replace("\xa0", " ").replace("\u200b", "")
    if "[" in line:
        line = _SPELLED.sub("", line)
        if "[0m" in line or "[31m" in line:
            line = _ORPHANS.sub("", line)
    return line
