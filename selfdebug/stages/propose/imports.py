"""Imports that would bind an undefined name: as the project imports or defines it, or from the standard library."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator

from selfdebug.paths import module_name
from selfdebug.stages.propose.defaults import Default
from selfdebug.stages.propose.names import imports_for

# Modules whose public names people use by themselves, so that a bare name tells where it is from.
_GIVING = (
    "pathlib", "collections", "datetime", "decimal", "dataclasses", "enum", "functools", "itertools", "contextlib",
    "typing", "collections.abc", "abc", "fractions", "operator", "io", "textwrap", "copy", "uuid", "math",
)  # fmt: skip
_AS_ELSEWHERE, _LIBRARY = 0, 1


def imports_of(name: str, file: str, texts: Iterable[tuple[str, bytes]]) -> Iterator[Default]:
    """The imports that bind `name` in `file`, most evident first. `texts` are the project's other files with bytes."""
    for code in imports_for(name):
        yield Default(code, "it binds the name", _AS_ELSEWHERE)
    for other, data in texts:
        if other != file and name.encode() in data:
            for line, code in _in_file(name, other, data.decode(errors="replace")):
                place = f"as in {other}:{line}"
                yield Default(code, place, _AS_ELSEWHERE, place)
    for module in _GIVING:
        if not name.startswith("_") and hasattr(importlib.import_module(module), name):
            yield Default(f"from {module} import {name}", "the standard library has it", _LIBRARY)


def _in_file(name: str, file: str, text: str) -> Iterator[tuple[int, str]]:
    """How one file binds the name at its top level: the import that it has, or the one of what it defines."""
    word = re.escape(name)
    defined = re.compile(rf"^(?:class|def|async def) {word}\b|^{word}\s*(?::[^=]+)?=(?!=)")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("import ", "from ")) and name in line:
            yield from ((number, code) for code in _imported(name, line))
        elif defined.match(line) and (module := module_name(file)):
            yield number, f"from {module} import {name}"


def _imported(name: str, line: str) -> Iterator[str]:
    """The import that binds the name alone; none for one that goes on in the next line, or is relative."""
    try:
        node = ast.parse(line).body[0]
    except SyntaxError:
        return
    is_relative = isinstance(node, ast.ImportFrom) and bool(node.level)
    if not isinstance(node, ast.Import | ast.ImportFrom) or is_relative:
        return
    for alias in node.names:
        if (alias.asname or alias.name) == name:
            node.names = [alias]
            yield ast.unparse(node)
            return
