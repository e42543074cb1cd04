"""Which tests run the functions that a patch changes: what they say of it comes long before the whole suite's word."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from selfdebug.model import Calls, Patch

_SHARE = 0.25
_MOST = 100
_MOST_FILES = 8
"""The tests that run the changed code may take this share of the time of the whole suite, and be so many."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Reach:
    """What one run of the suite told of its tests. `breakers` are tests that have turned a patch down before.

    `outlasting` are those among the failing tests that went on failing with a patch that made the screened ones pass.

    Lines are those of the files in that run, so functions are found again by their names; `files` holds the content of
    those that had been edited before it.
    """

    calls: Calls | None = None
    durations: dict[str, float] = field(default_factory=dict)
    breakers: list[str] = field(default_factory=list)
    outlasting: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether it is known what each test runs."""
        return self.calls is not None and not self.calls.gap

    def turned_down_by(self, node_id: str) -> None:
        """Remember a test that fails with a patch: it is likely to fail with the next one, too."""
        if node_id not in self.breakers:
            self.breakers.append(node_id)

    def seconds_of(self, tests: Sequence[str]) -> float:
        """What these tests took together."""
        return sum(self.durations.get(node, 0.0) for node in tests)

    @property
    def suite_seconds(self) -> float:
        """What all tests took that have been run so far, without the start of pytest."""
        return self.seconds_of(tuple(self.durations))

    def tests_of(self, patch: Patch, original: bytes) -> tuple[str, ...]:
        """The tests to run for `patch` ahead of the suite, likeliest to fail first; `original` is its unedited file.

        Those that turned another patch down are always among them, the quickest others as long as they are cheap.
        """
        reaching = self._reaching(patch, self.files.get(patch.file, original))
        known = [node for node in reaching if node in self.durations and node not in self.breakers]
        chosen = [node for node in self.breakers if not self.is_known or not reaching or node in reaching]
        left = _SHARE * self.suite_seconds - self.seconds_of(chosen)
        for node in sorted(known, key=self.durations.__getitem__)[:_MOST]:
            left -= self.durations[node]
            if left < 0:
                break
            chosen.append(node)
        return tuple(chosen)

    def files_around(self, file: str, line: int, source: bytes, original: bytes) -> tuple[str, ...]:
        """The files of tests that run the function at a line of `source`, after those of tests that broke before."""
        tests = self._running(file, _around(source, line, line), self.files.get(file, original))
        quickest = sorted((node for node in tests if node in self.durations), key=self.durations.__getitem__)
        names = (node.partition("::")[0] for node in (*self.outlasting, *self.breakers, *quickest))
        return tuple(dict.fromkeys(names))[:_MOST_FILES]

    def _reaching(self, patch: Patch, original: bytes) -> frozenset[str]:
        return self._running(patch.file, changed_functions(patch.before, patch.after), original)

    def _running(self, file: str, names: frozenset[str], original: bytes) -> frozenset[str]:
        if self.calls is None or not names:
            return frozenset()
        functions = [function for name in names for function in _functions(original).get(name, ())]
        places = [(file, _first_line(function)) for function in functions]
        return frozenset(node for place in places for node in self.calls.tests.get(place, ()))


def changed_functions(before: bytes, after: bytes) -> frozenset[str]:
    """The qualified name of the innermost function in whose body the edit lies; none where it is in no body."""
    return _around(before, *_changed_lines(before.split(b"\n"), after.split(b"\n")))


def _around(source: bytes, first: int, last: int) -> frozenset[str]:
    inside = [
        (function.lineno, name)
        for name, functions in _functions(source).items()
        for function in functions
        if function.body[0].lineno <= first and last <= (function.end_lineno or 0)
    ]
    return frozenset({max(inside)[1]} if inside else ())


def _changed_lines(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """The first and the last line that is not alike, counted in `before`; for added lines the one they come before."""
    shorter = min(len(before), len(after))
    head = next((number for number in range(shorter) if before[number] != after[number]), shorter)
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return head + 1, max(head + 1, len(before) - tail)


@lru_cache(maxsize=8)
def _functions(source: bytes) -> Mapping[str, tuple[_Function, ...]]:
    """The functions of a file by their qualified names, which several may share."""
    found: dict[str, tuple[_Function, ...]] = {}
    waiting: list[tuple[ast.AST, str]] = [(ast.parse(source), "")]
    while waiting:
        node, prefix = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _Function):
                found[prefix + child.name] = (*found.get(prefix + child.name, ()), child)
            if isinstance(child, _Function | ast.ClassDef):
                waiting.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                waiting.append((child, prefix))
    return found


def _first_line(function: _Function) -> int:
    """Where the code of a function begins: at its first decorator."""
    return (function.decorator_list[0] if function.decorator_list else function).lineno
