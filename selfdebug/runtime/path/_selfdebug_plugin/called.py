"""Which functions were called while pytest collected: a result of theirs may be kept anywhere.

With `sys.monitoring` (Python 3.12) each function reports once; before, the trace function is used, or the profile
function where a tool such as coverage has taken that.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_TOOLS = (4, 3)  # the numbers that are reserved for nobody


class CallLog:
    """Notes all code that begins to run between `start` and `stop`."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}  # by identity, since hashing code by value is slow
        self._tool: int | None = None
        self._hook: str | None = None

    def start(self) -> None:
        """Begin; whether there was a way to do so is told by `stop`."""
        if sys.version_info >= (3, 12):
            self._start_monitoring()
        elif sys.gettrace() is None:
            self._hook = "trace"
            threading.settrace(self._note)
            sys.settrace(self._note)
        elif sys.getprofile() is None:
            self._hook = "profile"
            threading.setprofile(self._note)
            sys.setprofile(self._note)

    def stop(self) -> bool:
        """End; return whether nothing was missed."""
        if sys.version_info >= (3, 12):
            return self._stop_monitoring()
        if self._hook == "trace":
            was_there = sys.gettrace() == self._note
            if was_there:
                sys.settrace(None)
            threading.settrace(None)
            return was_there
        if self._hook == "profile":
            was_there = sys.getprofile() == self._note
            if was_there:
                sys.setprofile(None)
            threading.setprofile(None)
            return was_there
        return False

    def by_path(self) -> dict[str, list[CodeType]]:
        """The code that ran, by the real path of its file."""
        names: dict[str, list[CodeType]] = {}
        for code in self._codes.values():
            names.setdefault(code.co_filename, []).append(code)
        found: dict[str, list[CodeType]] = {}
        for name, codes in names.items():
            if not name.startswith("<"):
                found.setdefault(os.path.realpath(name), []).extend(codes)
        return found

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            self._codes[id(code)] = code

    if sys.version_info >= (3, 12):

        def _start_monitoring(self) -> None:
            monitoring = sys.monitoring
            for tool in _TOOLS:
                if monitoring.get_tool(tool) is None:
                    monitoring.use_tool_id(tool, "selfdebug-calls")
                    monitoring.register_callback(tool, monitoring.events.PY_START, self._note_once)
                    monitoring.set_events(tool, monitoring.events.PY_START)
                    self._tool = tool
                    return

        def _stop_monitoring(self) -> bool:
            if self._tool is None:
                return False
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.register_callback(self._tool, sys.monitoring.events.PY_START, None)
            sys.monitoring.free_tool_id(self._tool)
            return True

        def _note_once(self, code: CodeType, _offset: int) -> Any:
            self._codes[id(code)] = code
            return sys.monitoring.DISABLE
