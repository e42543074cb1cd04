"""Code put in between the code of a file, at many places at once."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from codemods.selfdebug.source import Source, line_range
from selfdebug.stages.vary.stretches import end_of, start_of


@dataclass(slots=True)
class Insertions:
    """Collects insertions (index, their order at one index, text) and writes them all at once."""

    source: Source
    texts: list[tuple[int, int, int, str]] = field(default_factory=list)

    def around(self, start: int, end: int, before: str, after: str) -> None:
        """Enclose a stretch; of those that begin or end at one index the larger is outside, of equal ones the first."""
        number = len(self.texts)
        last = self.source.text[max(start - 1, 0) : start]
        before = f" {before}" if last == "_" or last.isalnum() else before  # as in `return[x]`
        self.texts.append((start, start - end, number, before))
        self.texts.append((end, -start, -number, after))

    def before(self, statement: ast.stmt, code: str) -> None:
        """A statement of ours before one of the program, on the same line where that is a small one."""
        if not hasattr(statement, "body"):
            self.texts.append((start_of(self.source, statement), -len(self.source.text), 0, f"{code}; "))
            return
        line = line_range(statement)[0]
        indentation = self.source.indentation_of(line)
        start = self.source.offset(line, len(indentation))
        self.texts.append((start, 1, 0, f"{code}{self.source.newline(line)}{indentation}"))

    def behind(self, statement: ast.stmt, code: str) -> None:
        """A statement of ours behind the last one of a block."""
        if not hasattr(statement, "body"):
            self.texts.append((end_of(self.source, statement), len(self.source.text), 0, f"; {code}"))
            return
        first, last = line_range(statement)
        newline = self.source.newline(first)
        opening = "" if self.source.lines[last - 1].endswith("\n") else newline
        line = f"{opening}{self.source.indentation_of(first)}{code}{newline}"
        self.texts.append((self.source.starts[last], len(self.source.text), 0, line))

    def written(self) -> bytes | None:
        """The file with them; None where that is no Python, or cannot be encoded as the file is."""
        text, parts, last = self.source.text, [], 0
        for index, _, _, code in sorted(self.texts):
            parts += [text[last:index], code]
            last = index
        written = "".join([*parts, text[last:]])
        try:
            ast.parse(written)
            return self.source.bom + written.encode(self.source.encoding)
        except (SyntaxError, ValueError, RecursionError):
            return None
