"""The seam through which every change of the disk is announced just before it happens.

A watcher sees each step by name and may end the process there, refuse it with an OSError, or write half of the data:
so that a test can kill a run at any of its writes, renames, syncs and reference updates without replacing a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One change that is about to be made; `fd` and `data` are set where bytes are about to be written."""

    operation: str
    name: str
    fd: int | None = None
    data: bytes = b""


Watcher = Callable[[Step], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def announce(operation: str, name: str, fd: int | None = None, data: bytes = b"") -> None:
    """Tell the watcher, where there is one, of a step that is about to be made."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(Step(operation, name, fd, data))


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let `watcher` see every step that is made in the block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
