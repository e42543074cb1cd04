"""SIGTERM and SIGHUP end what is going on as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the run as Ctrl-C does, so that the roll back happens."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    caught = [number for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if number is not None]
    before = {number: signal.signal(number, interrupt) for number in caught}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)
