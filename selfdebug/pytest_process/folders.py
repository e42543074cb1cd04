"""Temporary folders: with short names, removed whatever tests did to them, and cleared away after a kill."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from selfdebug.pytest_process.descendants import end_all

RUN_PREFIX = "sd-"  # short, because the names of sockets inside have to fit into 108 bytes
BATCH_PREFIX = "selfdebug-batch-"
MARKER_FILE = "marker"


def new_folder(prefix: str, place: Path | None = None) -> Path:
    """A fresh folder that names this process as its owner, in `place` or among the system's temporary files."""
    _clear_abandoned(tempfile.gettempdir())
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where tests took the permissions away from folders in it."""

    def make_writable(_function: Any, path: str, _error: Any) -> None:
        _remove_stubborn(folder, Path(path))

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=make_writable)
    else:
        shutil.rmtree(folder, onerror=make_writable)


def _remove_stubborn(folder: Path, path: Path) -> None:
    """Give the permissions back and try again; nothing outside `folder`, such as its own parent, is touched."""
    # Whatever stays is left to the system's own cleaning of temporary folders.
    try:
        if path.parent.is_relative_to(folder):
            path.parent.chmod(stat.S_IRWXU)
        if not path.is_symlink():
            path.chmod(stat.S_IRWXU)
    except OSError:
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@cache
def _clear_abandoned(place: str) -> None:
    """Once a process: end the tests and remove the folders of those that were killed before they could do so."""
    for folder in Path(place).iterdir():
        owner = re.fullmatch(rf"(?:{RUN_PREFIX}|{BATCH_PREFIX}|selfdebug-bytecode-)(\d+)-\w+", folder.name)
        if owner is None or _is_running(int(owner.group(1))) or not _is_ours(folder):
            continue
        marker = folder / MARKER_FILE
        if marker.is_file():
            end_all(None, marker.read_text("ascii"), grace=0.5)
        remove_tree(folder)


def _is_ours(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
