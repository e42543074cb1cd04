"""The forms of captured output, one module each: a runner, or a way of printing tracebacks.

A module is a form when it defines `FORM` (its class), `RANK` (forms with a smaller one are asked first) and `MARKS`
(texts of which a line must hold one for the form to begin at it); it is found by its place in this folder. Adding a
form is adding a file, with its samples under `samples/<form>/` in the tests.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Protocol

from selfdebug.stages.failures.found import Stream


class Form(Protocol):
    """Reads one form from the lines of one stream, and tells the stream what it found.

    `opens` is asked about each line that no form is busy with; the form that takes the line gets the next ones
    by `feed` until it refuses one. `close` comes once, at the end of the log.
    """

    def opens(self, line: str) -> bool:
        """Take the line if this form begins at it, else return False."""
        ...

    def feed(self, line: str) -> bool:
        """Take a line, or return False: it is not part of this form (and what was read is recorded)."""
        ...

    def close(self) -> None:
        """The log has ended: record what is still open."""
        ...


@cache
def form_marks() -> tuple[str, ...]:
    """Texts of which a line must hold one for any form to begin at it."""
    return tuple(dict.fromkeys(mark for module in _modules() for mark in module.MARKS))


@cache
def form_types() -> tuple[Callable[[Stream], Form], ...]:
    """The forms of this folder, in the order of their `RANK` (smaller ones are asked first)."""
    return tuple(module.FORM for module in _modules())


@cache
def _modules() -> tuple[ModuleType, ...]:
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    forms = [module for module in modules if hasattr(module, "FORM")]
    return tuple(sorted(forms, key=lambda module: (module.RANK, module.__name__)))
