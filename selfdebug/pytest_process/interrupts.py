"""Holds Ctrl-C and its like back while a process is being started: until somebody knows it, nobody would end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NUMBERS = tuple(
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Let signals that raise here wait, until what is yielded is called, or the end.

    What is ignored, or ends this process at once, stays so: a process that is started meanwhile inherits the former.
    """
    if threading.current_thread() is not threading.main_thread():  # signals raise in the main thread only
        yield lambda: None
        return
    before = {number: action for number in _NUMBERS if callable(action := signal.getsignal(number))}
    waiting: list[int] = []

    def release() -> None:
        for number, action in before.items():
            signal.signal(number, action)
        while waiting:
            signal.raise_signal(waiting.pop())

    try:
        for number in before:
            signal.signal(number, lambda number, _frame: waiting.append(number))
        yield release
    finally:
        release()
