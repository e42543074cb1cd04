"""The donors of a project, mined when they are first asked for, and bounded in size: equal runs find equal ones.

A file is parsed only if it names what is missing at the crash; the crashing file itself always is. Earlier fixes are
what small changes of the history added to a file.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile

from selfdebug.stages.propose.donors import Donor, donors_in
from selfdebug.workspace import PastChange

_MOST_FILES = 2_000
_MOST_BYTES = 200_000
_MOST_PARSED = 300_000  # about a second of work
_BUILT_IN = frozenset(f"{name}()" for name in dir(builtins))
_GUARDS = (b" None", b"isinstance(", b".get(", b"getattr(", b"except", b" or ", b"if ")


def _nothing() -> Iterator[PastChange]:
    return iter(())


@dataclass
class Mine:
    """Where donors come from: the project's files without its tests, how to read one, and its past changes."""

    files: Callable[[], Iterable[str]] = tuple
    read: Callable[[str], bytes | None] = lambda _: None
    changes: Callable[[], Iterable[PastChange]] = _nothing
    _names: tuple[str, ...] | None = None
    _texts: dict[str, bytes] = field(default_factory=dict)
    _of_text: dict[tuple[str, bytes], tuple[Donor, ...]] = field(default_factory=dict)
    _fixes: tuple[PastChange, ...] | None = None
    _parsed_bytes: int = 0

    def donors(self, file: str, data: bytes, words: Set[str]) -> Iterator[Donor]:
        """Those of `file` itself, then those elsewhere and in the history that share one of `words`."""
        yield from self._mined(file, data)
        telling = {word for word in words if len(word) > 2 and word not in _BUILT_IN}
        if telling:
            parts = (re.escape(word.removesuffix("()").removesuffix("[]").strip("'\"")) for word in telling)
            named = re.compile(rf"\b(?:{'|'.join(parts)})\b".encode())
            for other in (*self._elsewhere(file, named), *self._past(named)):
                if telling & other.words:
                    yield other

    def texts(self, file: str) -> Iterator[tuple[str, bytes]]:
        """The project's files with their bytes, those in the folder of `file` first."""
        if self._names is None:
            self._names = tuple(islice(self.files(), _MOST_FILES))
        for name in sorted(self._names, key=lambda other: _folders_apart(other, file)):
            if name not in self._texts:
                self._texts[name] = self.read(name) or b""
            yield name, self._texts[name]

    def _elsewhere(self, file: str, named: re.Pattern[bytes]) -> Iterator[Donor]:
        """The donors of the other files that name what is missing, those in the same folder first."""
        for name, data in self.texts(file):
            if self._parsed_bytes > _MOST_PARSED:
                return
            if name != file and len(data) <= _MOST_BYTES and named.search(data):
                yield from self._mined(name, data)

    def _past(self, named: re.Pattern[bytes]) -> Iterator[Donor]:
        if self._fixes is None:
            self._fixes = tuple(change for change in self.changes() if _adds_guard(change))
        for change in self._fixes:
            if self._parsed_bytes > 2 * _MOST_PARSED:
                return
            if named.search(change.after):
                yield from self._added(change)

    def _added(self, change: PastChange) -> Iterator[Donor]:
        """The donors that a change brought into a file, those that only moved left out."""
        before = Counter(_content(donor) for donor in self._mined(change.file, change.before))
        for donor in self._mined(change.file, change.after):
            content = _content(donor)
            if before[content]:
                before[content] -= 1
            else:
                yield replace(donor, commit=change.commit)

    def _mined(self, file: str, data: bytes) -> tuple[Donor, ...]:
        key = (file, data)
        if key not in self._of_text:
            self._of_text[key] = _parsed(file, data)
            self._parsed_bytes += len(data)
        return self._of_text[key]


def _folders_apart(one: str, other: str) -> int:
    """How many steps it is from the folder of one file to that of the other."""
    left, right = one.split("/")[:-1], other.split("/")[:-1]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    return len(left) + len(right) - 2 * shared


def _adds_guard(change: PastChange) -> bool:
    return any(change.after.count(sign) > change.before.count(sign) for sign in _GUARDS)


def _parsed(file: str, data: bytes) -> tuple[Donor, ...]:
    try:
        return donors_in(ast.parse(data), file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _content(donor: Donor) -> Donor:
    return replace(donor, place=replace(donor.place, line=0))
