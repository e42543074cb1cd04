"""What must not leave the tests' process: values that are named like secrets, and values that look like secrets."""

from __future__ import annotations

import re

HIDDEN = "<redacted>"

_SECRET_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|api_?key|access_?key|private_?key|signing_?key|encryption_?key"
    r"|credential|authorization|bearer|cookie|session_?id|dsn|connection_?string"
)
_NAME = re.compile(_SECRET_NAME, re.IGNORECASE)
# `password='x'`, `"api_key": "x"`, `--token=x`: the quoted text or the run of non-blanks after the sign goes.
_PAIR = re.compile(
    r"(?P<name>(?:" + _SECRET_NAME + r")[\w.-]{0,40}[\"']?\s{0,4}(?:=>|[=:])\s{0,4})"
    r"(?P<value>b?'(?:[^'\\]|\\.)*'?|b?\"(?:[^\"\\]|\\.)*\"?|(?!None\b|True\b|False\b)[^\s,;)\]}'\"]+)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<before>[a-z0-9+.-]{1,20}://[^\s/:@'\"]{0,100}:)[^\s/@'\"]{1,200}(?=@)", re.IGNORECASE)
_SHAPES = re.compile(
    "|".join(
        (
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
            r"\beyJ[\w-]{5,}\.[\w-]{5,}\.?[\w-]*",
            r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}",
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,})",
            r"\bglpat-[\w-]{16,}",
            r"\bxox[abeprs]-[\w-]{10,}",
            r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[\w-]{16,}",
            r"\bAIza[\w-]{30,}",
            r"\bya29\.[\w-]{20,}",
            r"\b(?:npm|hf|pypi|dop_v1|shpat|lin_api)[_-][\w-]{20,}",
            r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
            r"\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}",
        )
    ),
    re.DOTALL,
)
# No pattern is run over more than this many characters (whatever follows is cut off anyway), and the repeats above are
# bounded, so that no text makes them slow.
LONGEST = 4_000


def is_secret_name(name: str) -> bool:
    """Whether a variable, key or attribute is called like a secret."""
    return len(name) < 200 and _NAME.search(name) is not None


def redact(text: str) -> tuple[str, bool]:
    """`text`, cut to LONGEST characters, with everything that looks like a secret hidden, and whether there was any."""
    clean = _SHAPES.sub(HIDDEN, text[:LONGEST])
    clean = _URL_PASSWORD.sub(r"\g<before>" + HIDDEN, clean)
    clean = _PAIR.sub(r"\g<name>" + HIDDEN, clean)
    return clean, clean != text[:LONGEST]
