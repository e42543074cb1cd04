"""Terminal control: colours, links, cursor movement, also where the escape character itself was lost or spelled out."""

from __future__ import annotations

import re

_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[()*+][A-Za-z0-9]"
    r"|\x1b[@-Z\\^_=><78c]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_SPELLED = re.compile(r"(?:\^\[|\\x1b|\\u001b|\\033|\\e|␛)\[[0-9;]{0,20}[A-Za-z]")
_SPELLED_SIGNS = ("^[[", "\\x1b[", "\\u001b[", "\\033[", "\\e[", "␛[")
_ORPHANS = re.compile(r"\[(?:0|[0-9]{0,3}(?:;[0-9]{1,3}){1,5}|[0-9]{1,3})m")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u200b]")


def without_codes(text: str) -> str:
    """The text as a terminal shows it, but without colours, also spelled out ones and those that lost their start."""
    if "\x1b" in text or "\x9b" in text:
        text = _CODES.sub("", text)
    text = _CONTROL.sub("", text).replace("\xa0", " ")
    if any(sign in text for sign in _SPELLED_SIGNS):
        text = _SPELLED.sub("", text)
    if "[0m" in text:
        text = _ORPHANS.sub("", text)
    return text
