"""Secrets are replaced before anything is written: by the name they are stored under, and by what they look like."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

REDACTED = "[redacted]"
LEFT_OUT = "[left out: include_values = false]"
MAX_REMEMBERED, MAX_KNOWN = 300, 4000
"""Short texts come again and again (guards, places, field names): so many of such a length are remembered."""

_NAMES = (
    r"passw(?:or)?d|passphrase|secret|token(?!i[sz])|api_?key|access_?key|private_?key|client_?secret|credentials?|authorization"
    r"|cookie|session_?id|csrf"
)
_SECRET_NAME = re.compile(
    rf"(?:^|[_\-.\W]|(?-i:(?<=[a-z])(?=[A-Z])))(?:{_NAMES}|pass|pwd)s?(?:$|[_\-.\W]|(?-i:(?<=[a-z])(?=[A-Z])))",
    re.IGNORECASE,
)
_CODE_WORDS = re.compile(
    r"(?<![a-z])(?:(?<!api_)(?<!auth_)(?<!access_)(?<!refresh_)(?<!session_)(?<!csrf_)(?<!user_)(?<!client_)tokens"
    r"|(?:next|current|previous|last|first|start|end|stop|pad|unk|mask)_token"
    r"|token_(?:types?|kinds?|count|index|position|list|stream))(?=$|_)",
    re.IGNORECASE,
)
"""What parsers call their own: the tests' own process has already hidden what looks like a secret under such a name."""
_NAMED_LITERAL = re.compile(
    rf"""(?P<head>\b[\w\-]*(?:{_NAMES})[\w\-]*["']?\s*(?:=|:)\s*[bru]{{0,2}})(?P<quote>["'])(?:\\.|(?!(?P=quote)).)+(?P=quote)""",
    re.IGNORECASE,
)
"""`password='...'`, `"api_key": "..."`: a literal beside a telling name, in reprs and in source code."""
_NAMED_WORD = re.compile(
    rf"(?P<head>(?:--|\b)[\w\-]*(?:{_NAMES})[\w\-]*=)(?P<value>[^\s\"'(){{}}\[\],;&]+)", re.IGNORECASE
)
"""`API_TOKEN=abc`, `--password=abc`: as environments and command lines write it, without blanks."""
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w\-]{6,}\.[\w\-]{6,}\.[\w\-]*"
    r"|\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9\-_]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w\-]{16,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w\-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w\-]{30,}|\bxox[abprs]-[\w\-]{10,}|\bhf_[A-Za-z0-9]{20,}"
    r"|(?<=bearer )[A-Za-z0-9._~+/\-]{12,}=*"
    r"|(?<=basic )[A-Za-z0-9+/]{12,}={0,2}",
    re.DOTALL | re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<head>\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE)
_HINTS = (
    *(
        "passw",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "api_key",
        "access_key",
        "accesskey",
        "private",
        "credential",
    ),
    *(
        "authorization",
        "cookie",
        "session",
        "csrf",
        "://",
        "eyj",
        "sk-",
        "sk_",
        "pk-",
        "pk_",
        "rk-",
        "rk_",
        "ghp_",
        "gho_",
    ),
    *(
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat",
        "glpat",
        "npm_",
        "pypi-",
        "akia",
        "asia",
        "aiza",
        "xox",
        "hf_",
        "bearer",
        "basic",
    ),
)
"""A cheap first look, in lower case: text without any of these holds nothing that the patterns could find."""


class Seen(str):
    """Text that came out of the program under test: left out of the record under `include_values = false`."""

    __slots__ = ()


class Redactor:
    """Replaces secrets in JSON-like data; `keys` and `patterns` are further regular expressions of the user.

    With `values` False every `Seen` text is left out as well, so that only types and None-ness remain.
    """

    def __init__(self, keys: Iterable[str] = (), patterns: Iterable[str] = (), values: bool = True) -> None:
        self._keys = [re.compile(key) for key in keys]
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._values = values
        self._known: dict[str, str] = {}
        self._names: dict[str, bool] = {}

    def text(self, text: str) -> str:
        """The text with what looks like a secret replaced by `[redacted]`."""
        if len(text) > MAX_REMEMBERED:
            return self._replaced(text)
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[text] = self._replaced(text)
        return known

    def _replaced(self, text: str) -> str:
        low = text.lower()
        if any(hint in low for hint in _HINTS):
            text = _SHAPES.sub(REDACTED, text)
            text = _URL_PASSWORD.sub(rf"\g<head>{REDACTED}", text)
            text = _NAMED_LITERAL.sub(rf"\g<head>\g<quote>{REDACTED}\g<quote>", text)
            text = _NAMED_WORD.sub(_named_word, text)
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def is_secret(self, name: str) -> bool:
        """Whether a value stored under this name is a secret, whatever it looks like."""
        known = self._names.get(name)
        if known is None:
            is_telling = _SECRET_NAME.search(_CODE_WORDS.sub("", name)) is not None
            known = is_telling or any(key.search(name) for key in self._keys)
            if len(self._names) < MAX_KNOWN:
                self._names[name] = known
        return known

    def data(self, value: Any) -> Any:
        """The data with secrets replaced, at any depth; what is no JSON becomes its text."""
        if isinstance(value, str):
            return LEFT_OUT if isinstance(value, Seen) and not self._values else self.text(str(value))
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)  # JSON has no such number
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            if isinstance(value.get("variable"), str) and "value" in value:  # a value beside the name that it had
                value = {**value, "value": self._under(value["variable"], value["value"])}
            return {self.text(str(key)): self._under(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.data(item) for item in value]
        return self.text(str(value))

    def _under(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, bool) or not self.is_secret(name):
            return self.data(value)
        if isinstance(value, dict) and {"type", "is_none"} <= value.keys():
            # A recorded value: the secret is its repr; its type and whether it was None are what a diagnosis needs.
            return value if value["is_none"] else {**value, "repr": REDACTED, "redacted": True}
        return REDACTED


def _named_word(found: re.Match[str]) -> str:
    return found["head"] + ("None" if found["value"] == "None" else REDACTED)
