"""Calls into the code of the program under test, which may raise anything, never return, or be in the way of clocks."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any, Callable, TypeVar

T = TypeVar("T")
_clock = [time.perf_counter]  # in a list, where tools that freeze time do not look for functions to replace


class TooSlowError(BaseException):
    """The call took longer than it may. Not an Exception, so that code which swallows those does not swallow it."""


def guarded(call: Callable[[], T], fallback: T, seconds: float = 0.25) -> T:
    """The result of `call`, or `fallback` when it raises whatever exception or takes longer than `seconds`.

    The limit is kept by a timer signal in the main thread and by a trace function in others (where a call that blocks
    outside Python code is not ended). Timers and trace functions of the program are put back.
    """
    limited = _with_timer if _may_use_timer() else _with_trace
    try:
        return limited(call, seconds)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the program's own code may raise anything, pytest's outcomes included
        return fallback


def _may_use_timer() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is not None
    )


def _with_timer(call: Callable[[], T], seconds: float) -> T:
    started = _clock[0]()
    handler = signal.signal(signal.SIGALRM, _too_slow)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        try:
            return call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:  # of its own, because the signal may still arrive in the inner one
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            left = max(remaining - (_clock[0]() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _too_slow(_number: int, _frame: Any) -> None:
    raise TooSlowError


def _with_trace(call: Callable[[], T], seconds: float) -> T:
    deadline = _clock[0]() + seconds

    def check(_frame: Any, _event: str, _argument: Any) -> Any:
        if _clock[0]() > deadline:
            raise TooSlowError
        return check

    before = sys.gettrace()
    sys.settrace(check)
    try:
        return call()
    finally:
        sys.settrace(before)
