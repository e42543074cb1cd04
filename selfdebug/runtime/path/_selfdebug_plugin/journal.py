"""The file of JSON lines that a process of the test run writes for the process that started it."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

Record = Dict[str, Any]


class Journal:
    """Appends records to `<base>.<pid>`, so that workers and forked children never write into one another's file.

    The file is opened for each write: tests close descriptors that they do not know, and count those that are open.
    All functions used are bound here, since tests also replace those of `os` and `json`.
    """

    def __init__(self, base: str) -> None:
        self._base = os.path.abspath(base)
        self._open, self._write, self._close, self._getpid = os.open, os.write, os.close, os.getpid
        self._encode = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":")).encode
        self._flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._waiting: list[bytes] = []

    @property
    def base(self) -> str:
        """The path that the number of the process is added to."""
        return self._base

    def redirect(self, base: str) -> None:
        """Go on in another file; what has not been written yet is dropped."""
        self._base = os.path.abspath(base)
        self._waiting.clear()

    def hold(self, kind: str, **fields: Any) -> None:
        """Write a record together with the next one, where another is sure to follow."""
        fields["kind"] = kind
        self._waiting.append((self._encode(fields) + "\n").encode("ascii"))

    def append(self, kind: str, **fields: Any) -> None:
        """Write one record. What cannot be written now (no descriptor left, folder gone) goes with the next one."""
        self.hold(kind, **fields)
        try:
            descriptor = self._open(self._base + "." + str(self._getpid()), self._flags, 0o600)
        except OSError:
            return
        try:
            data = b"".join(self._waiting)
            while data:
                data = data[self._write(descriptor, data) :]
            self._waiting.clear()
        except OSError:
            # A full disk: the reader drops a line that is cut, and a run without its last record proves nothing.
            self._waiting.clear()
        finally:
            self._close(descriptor)
