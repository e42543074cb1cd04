"""A lock file for each run that goes on: it is held as long as the process lives, whatever ends that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # pragma: no cover - a platform without POSIX locks: a run counts as alive until it says its end
    fcntl = None  # type: ignore[assignment]  # the module is absent there


class RunLocks:
    """The locks of the runs of one store; those that this process holds are given back one by one or all at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "running"
        self._held: dict[str, IO[bytes]] = {}

    def hold(self, run_id: str) -> None:
        """Lock the run. Raises OSError."""
        file = self._file(run_id)
        file.parent.mkdir(exist_ok=True)
        self._held[run_id] = lock = file.open("wb")
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def release(self, run_id: str) -> None:
        """Give the lock of a run back, where this process holds it."""
        lock = self._held.pop(run_id, None)
        if lock is not None:
            lock.close()
            self.forget(run_id)

    def release_all(self) -> None:
        """Give back all that this process holds."""
        for run_id in list(self._held):
            self.release(run_id)

    def forget(self, run_id: str) -> None:
        """Remove the file that a dead process left."""
        self._file(run_id).unlink(missing_ok=True)

    def is_alive(self, run_id: str) -> bool:
        """Whether a process holds the lock of this run, this one or another."""
        if run_id in self._held or fcntl is None:
            return True
        try:
            with self._file(run_id).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def _file(self, run_id: str) -> Path:
        return self._folder / re.sub(r"[^\w.\-]", "_", run_id)[:100]
