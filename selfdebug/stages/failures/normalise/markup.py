"""What copying from pages, chats and mail does to single lines: links, typographic quotes, entities, tags."""

from __future__ import annotations

import html
import re

_LINK = re.compile(r"\[([^\[\]\n]*)\]\((?:https?|file|vscode)://[^()\s]*\)")
_GLUED = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt): [^\n]*?)(Traceback \(most recent call last\):)$",
    re.MULTILINE,
)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'"})
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|s|br|em|td|th|tr|li|ul|ol|div|pre|code|span|font|body|html|head|table|tbody|strong|section|h[1-6])"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<(?:br\s*/?|/p|/div|/li|/tr|/pre)>", re.IGNORECASE)
_SIGNS = ("&quot;", "&#39;", "&#x27;", "&#34;", "&lt;", "&gt;", "<br", "<span", "<pre", "</")


def without_links(text: str) -> str:
    """The text of one or more lines with Markdown links undone."""
    return _LINK.sub(r"\1", text) if "](" in text else text


def unglued(text: str) -> str:
    """The text with line ends between an exception and the next traceback, and in front of TeamCity's messages."""
    text = text.replace("##teamcity[", "\n##teamcity[") if "##teamcity[" in text else text
    return _GLUED.sub(r"\1\n\2", text) if "Traceback (most recent" in text else text


def without_typography(line: str) -> str:
    """The line with Markdown's escapes undone, and typographic quotes made plain."""
    if "\\_" in line and ":\\" not in line:
        line = line.replace("\\_", "_")
    if "“" in line or "”" in line or "File «" in line:
        line = line.translate(_QUOTES)
    return line


def looks_like_html(lines: list[str]) -> bool:
    """Whether any of the lines shows entities or tags; XML reports keep theirs, since a form of its own reads them."""
    if any("<testsuite" in line or "<testcase " in line for line in lines):
        return False
    return any(any(sign in line for sign in _SIGNS) for line in lines if "&" in line or "<" in line)


def from_html(line: str) -> list[str]:
    """The lines that a line of HTML shows."""
    if "<" in line:
        line = _TAG.sub("", _BREAK.sub("\n", line)).removesuffix("\n")
    return html.unescape(line).split("\n")
