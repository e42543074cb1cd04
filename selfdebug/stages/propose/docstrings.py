"""What a function's docstring says it returns: the section that Google, NumPy and Sphinx styles have for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from selfdebug.stages.propose.defaults import Default

_SAID = 1
_SECTION = re.compile(
    r"""^[ \t]*
    (?::returns?:|:rtype:|@return:?|Returns?:?[ \t]*\n[ \t]*-+|Returns?:)   # Sphinx, Epydoc, NumPy, Google
    (?P<text>.*?)
    (?=\n[ \t]*\n|\n[ \t]*(?::\w+|@\w+|[A-Z]\w+:[ \t]*\n)|\Z)            # up to a blank line or the next section
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_VALUES = (
    (re.compile(r"\bNone\b"), "None"),
    (re.compile(r"\bempty (?:string|str|text)\b|``?(?:\"\"|'')``?", re.IGNORECASE), '""'),
    (re.compile(r"\bempty list\b|``?\[\]``?", re.IGNORECASE), "[]"),
    (re.compile(r"\bempty tuple\b|``?\(\)``?", re.IGNORECASE), "()"),
    (re.compile(r"\bempty (?:dict(?:ionary)?|mapping)\b|``?\{\}``?", re.IGNORECASE), "{}"),
    (re.compile(r"\bempty set\b", re.IGNORECASE), "set()"),
    (re.compile(r"\bFalse\b"), "False"),
    (re.compile(r"``?-1``?|\breturns? -1\b|(?<![\w.])-1\b"), "-1"),
    (re.compile(r"\bzero\b|``?0``?|(?<![\w.-])0(?![\w.])"), "0"),
)


def returned_by_docstring(function: ast.AST | None) -> Iterator[Default]:
    """The neutral values that the docstring's return section names."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    text = " ".join(found["text"] for found in _SECTION.finditer(ast.get_docstring(function) or ""))
    for pattern, code in _VALUES:
        if pattern.search(text):
            yield Default(code, f"the docstring of {function.name} names it as a result", _SAID)
