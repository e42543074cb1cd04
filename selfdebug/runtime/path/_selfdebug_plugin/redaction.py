"""What must not leave the tests' process: values that are named like secrets, and values that look like secrets."""

from __future__ import annotations

import re

HIDDEN = "<redacted>"

_SECRET_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?!ar)|token(?!i[sz])|api_?key|access_?key|private_?key|signing_?key"
    r"|encryption_?key|credential|authorization|bearer|cookie(?!cutter)|session_?id|dsn|connection_?string"
)
_NAME = re.compile(_SECRET_NAME, re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# What parsers and models of language call their own: several tokens, or one of them by its place or its kind.
_CODE_NAME = re.compile(
    r"(?:[a-z]+_)*tokens|(?:[a-z]+_)*tokens?_(?:types?|kinds?|counts?|index|idx|pos|position|len|length|lines?|columns?"
    r"|offsets?|used|left|limit|total|class|classes|list|stream|iter|iterator|re|regex|patterns?|specs?|map|spans?|start|end)"
    r"|(?:next|cur|curr|current|prev|previous|last|first|peek|lookahead|start|end|stop|begin|pad|eos|bos|unk|mask|sep"
    r"|cls|op|left|right|open|close|opening|closing|expected|actual|unexpected)_token"
)
_OF_ACCOUNTS = re.compile(
    r"(?:^|_)(?:access|account|activation|admin|api|app|auth|bearer|bot|client|csrf|deploy|device|github|gitlab|invite"
    r"|jwt|login|oauth|personal|push|refresh|registration|reset|security|service|session|signing|slack|user"
    r"|verification|xsrf)_"
)
# `password='x'`, `"api_key": "x"`, `--token=x`: the quoted text, the list or the run of non-blanks after the sign goes.
_PAIR = re.compile(
    r"(?P<name>(?:" + _SECRET_NAME + r")[\w.-]{0,40}[\"']?\s{0,4}(?:=>|[=:])\s{0,4})"
    r"(?P<value>b?'(?:[^'\\]|\\.)*'?|b?\"(?:[^\"\\]|\\.)*\"?|\[[^\]]{0,400}\]?"
    r"|(?!None\b|True\b|False\b)[^\s,;)\]}'\"]+)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"[\w-]{0,40}\Z")
_RUN = re.compile(r"[\w.~+/=-]{6,}")
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])|(?:[a-z]+[A-Z]+){3}|[A-Za-z]{24}")
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
    return len(name) < 200 and _NAME.search(name) is not None and not is_code_name(name)


def is_code_name(name: str) -> bool:
    """Whether a name is one for parts of a text: under it stands a secret only where the value looks like one."""
    if len(name) >= 200 or "oken" not in name.lower():
        return False
    words = "_".join(_WORD.findall(name)).lower()
    return _CODE_NAME.fullmatch(words) is not None and _OF_ACCOUNTS.search(words) is None


def looks_random(text: str) -> bool:
    """Whether a text may be a credential: letters and digits in one word, capitals at will, or a very long word."""
    return any(_RANDOM.match(run) for run in _RUN.findall(text[:LONGEST]))


def redact(text: str) -> tuple[str, bool]:
    """`text`, cut to LONGEST characters, with everything that looks like a secret hidden, and whether there was any."""
    clean = _SHAPES.sub(HIDDEN, text[:LONGEST])
    clean = _URL_PASSWORD.sub(r"\g<before>" + HIDDEN, clean)
    clean = _PAIR.sub(_hidden_pair, clean)
    return clean, clean != text[:LONGEST]


def _hidden_pair(found: re.Match[str]) -> str:
    """The name with its sign and, unless the value is one that code has under such a name, a mark in its place."""
    name, value = found["name"], found["value"]
    before = _BEFORE.search(found.string, max(0, found.start() - 40), found.start())
    whole = (before.group() if before else "") + name.rstrip("\"' \t=>:")
    is_sign = name.lower().startswith("token") and not any(map(str.isalnum, value))  # unexpected token: '}'
    if is_sign or (is_code_name(whole) and not looks_random(value)):
        return found.group()
    return name + HIDDEN
