"""Puts the code of edited functions into the functions that are alive, without importing their module again.

Both versions of a source file are compiled, and their code objects are paired by their place in the file. Only what is
inside functions may differ: what a module or a class body does was done when the module was imported.
"""

from __future__ import annotations

import gc
import os
import sys
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any, Iterable

_IS_FUNCTION = 0x1  # CO_OPTIMIZED, which the code of a module or a class body has not
_STARS = 0xC  # CO_VARARGS and CO_VARKEYWORDS
_MEANINGLESS = 0x40  # CO_NOFREE, which says nothing that the tuples of names do not say
_LINES = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
_SUSPENDED = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}


class CannotSwapError(Exception):
    """The edit has to be judged by importing the file anew; the message says why."""


class Paired:
    """The function code of one version of a file, each with what it has become in the other.

    `changed` holds the functions that differ in more than their lines, each with the functions around it, innermost
    first; `lost` holds code inside those that has no counterpart.

    Raises CannotSwapError where more than the inside of functions differs.
    """

    def __init__(self, before: CodeType, after: CodeType) -> None:
        self.codes: dict[CodeType, CodeType] = {}
        self.changed: list[tuple[CodeType, ...]] = []
        self.lost: set[CodeType] = set()
        self._pair(before, after, ())

    def _pair(self, before: CodeType, after: CodeType, around: tuple[CodeType, ...]) -> None:
        is_same = _own(before) == _own(after)
        if before.co_flags & _IS_FUNCTION:
            self._add(before, after)
            around = (before, *around)
            if not is_same:
                self.changed.append(around)
        elif not is_same:
            raise CannotSwapError("the edit changes more than the inside of functions")
        nested, counterparts = _nested(before), _nested(after)
        if [code.co_name for code in nested] != [code.co_name for code in counterparts]:
            self.lost.update(_all_below(before))
            return
        for code, counterpart in zip(nested, counterparts):
            self._pair(code, counterpart, around)

    def _add(self, before: CodeType, after: CodeType) -> None:
        if _interface(before) != _interface(after):
            raise CannotSwapError("the edit changes the signature or the free variables of " + before.co_name)
        if self.codes.setdefault(before, after) != after:
            raise CannotSwapError("two functions of the file cannot be told apart")


def _own(code: CodeType) -> CodeType:
    """The code without its lines and without the code of nested functions."""
    constants = tuple(("code", value.co_name) if isinstance(value, CodeType) else value for value in code.co_consts)
    changes: dict[str, Any] = {"co_consts": constants, "co_firstlineno": 1, _LINES: b""}
    return code.replace(**changes)


def _interface(code: CodeType) -> tuple[Any, ...]:
    """What the function object, its callers and its closure take for granted."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    stars = bin(code.co_flags & _STARS).count("1")
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    return (code.co_flags & ~_MEANINGLESS, counts, arguments, code.co_freevars, _docstring(code))


def _docstring(code: CodeType) -> Any:
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def _nested(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _all_below(code: CodeType) -> Iterable[CodeType]:
    for nested in _nested(code):
        yield nested
        yield from _all_below(nested)


class LiveCode:
    """The functions of this process by the real path of their file, however they are held, found once."""

    def __init__(self) -> None:
        self._functions: dict[str, list[FunctionType]] = {}
        self._suspended: dict[str, list[CodeType]] = {}
        paths: dict[str, str] = {}
        for value in gc.get_objects():
            kind = type(value)
            if kind is FunctionType:
                path = _resolved(value.__code__.co_filename, paths)
                self._functions.setdefault(path, []).append(value)
            elif kind in _SUSPENDED:
                code: CodeType = getattr(value, _SUSPENDED[kind])
                self._suspended.setdefault(_resolved(code.co_filename, paths), []).append(code)

    def __contains__(self, path: str) -> bool:
        return path in self._functions or path in self._suspended

    def plan(self, path: str, before: bytes, after: bytes, called: Iterable[CodeType]) -> Swap:
        """What has to be done for the file at `path` to behave as if it had been imported with the content `after`.

        Raises CannotSwapError where that cannot be had: the code outside functions differs, a changed function was
        called already, or it is not alive (its module does something of its own with it).
        """
        functions = self._functions.get(path, [])
        name = functions[0].__code__.co_filename if functions else path
        paired = Paired(_compiled(before, name), _compiled(after, name))
        swap = [(function, paired.codes.get(function.__code__)) for function in functions]
        found = [(function, code) for function, code in swap if code is not None]
        if len(found) != len(swap) or any(function.__code__ in paired.lost for function in functions):
            raise CannotSwapError("the file has functions whose source is not known")
        alive = {function.__code__ for function in functions}
        ran = set(called)
        for chain in paired.changed:
            if chain[0] in ran:
                raise CannotSwapError(chain[0].co_name + " was called before the first test")
            if alive.isdisjoint(chain):
                raise CannotSwapError(chain[0].co_name + " is not alive in its module")
        if not {chain[0] for chain in paired.changed}.isdisjoint(self._suspended.get(path, ())):
            raise CannotSwapError("a generator of a changed function is running")
        if not paired.changed:
            raise CannotSwapError("the edit changes no code")
        return Swap(found)


class Swap:
    """Functions and the code that each of them is to get."""

    def __init__(self, pairs: list[tuple[FunctionType, CodeType]]) -> None:
        self._pairs = pairs

    def make(self) -> None:
        """Exchange the code, for good."""
        for function, code in self._pairs:
            function.__code__ = code


def _compiled(source: bytes, name: str) -> CodeType:
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotSwapError("the file does not compile: " + str(error)) from error


def _resolved(path: str, known: dict[str, str]) -> str:
    if path not in known:
        known[path] = path if path.startswith("<") else os.path.realpath(path)
    return known[path]
