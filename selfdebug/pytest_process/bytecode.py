"""Which bytecode one pytest process may have from another: that of installed modules, and of files that stand still.

A project's own bytecode is not shared by its name: a file edited twice within a second, to the same size, would run the
bytecode of the first edit. But compiling pytest and the libraries anew would take longer than most tests. It is kept in
the user's cache folder, by the interpreter and the time at which each library folder was last changed. Python itself
puts each file there in one step, so any number of processes may do so at once.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import stat
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from selfdebug.pytest_process.folders import new_folder, remove_tree
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.runtime import PLUGIN_FOLDER

_UNUSED_SECONDS = 30 * 24 * 3600
_SETTLED_SECONDS = 2


def share_bytecode(prefix: Path, interpreter: Interpreter, root: Path) -> None:
    """Let the parts of `prefix` (a PYTHONPYCACHEPREFIX) that belong to installed modules outlive one process.

    A library that contains the project `root` (tests of an installed package), or our own folder when it is part of the
    project, is left out.
    """
    libraries = [library for library in interpreter.libraries if not root.is_relative_to(library.resolve())]
    if not PLUGIN_FOLDER.is_relative_to(root):
        libraries.append(PLUGIN_FOLDER)
    store = _store(root)
    for library in sorted(libraries, key=lambda folder: len(folder.parts)):
        link = prefix.joinpath(*library.parts[1:])
        if any(parent.is_symlink() for parent in (link, *link.parents)):
            continue  # a library inside another
        inside = [each for each in libraries if each.is_relative_to(library)]
        target = store / _key(interpreter, inside)
        target.mkdir(parents=True, exist_ok=True)
        os.utime(target)  # the sign that it is in use
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target, target_is_directory=True)


class ProjectBytecode:
    """The bytecode of the project's files below a folder: for other runs, as long as the files are what they were.

    Only that of files which had stood unchanged for some seconds at the time `before` (of the clock, in seconds) is
    taken: the time that bytecode itself holds counts in seconds.
    """

    def __init__(self, prefix: Path, root: Path, before: float) -> None:
        self._prefix = prefix
        self._sources: dict[Path, tuple[Path, tuple[int, ...]]] = {}
        latest = int((before - _SETTLED_SECONDS) * 1e9)
        for folder, _, names in os.walk(prefix.joinpath(*root.parts[1:])):
            place = Path(folder)
            origin = Path(root.anchor, place.relative_to(prefix))
            for name in names:
                source = origin / f"{name.partition('.')[0]}.py"
                state = _state(source)
                if state is not None and max(state[:2]) < latest:
                    self._sources[place / name] = source, state

    def put(self, prefix: Path) -> None:
        """Let the modules whose files are unchanged be found compiled below another folder."""
        for compiled, (source, state) in self._sources.items():
            if _state(source) == state:
                place = prefix / compiled.relative_to(self._prefix)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.hardlink_to(compiled)


def _state(file: Path) -> tuple[int, ...] | None:
    """What changes whenever a file does, its two times first; None where it is not there."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _key(interpreter: Interpreter, folders: list[Path]) -> str:
    """The name for the bytecode of some folders: another one whenever a library is installed, upgraded or removed."""
    parts = [interpreter.version]
    for folder in folders:
        changed = folder.stat().st_mtime_ns if folder.is_dir() else 0
        parts.append(f"{folder}\0{changed}")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _store(root: Path) -> Path:
    """The user's cache folder, or one of this process where there is none that can be used, or only in the project."""
    place = _user_cache()
    if place is None or place.resolve().is_relative_to(root) or not _is_private(place):
        return _temporary()
    _forget_unused(place)
    return place


def _user_cache() -> Path | None:
    """By the XDG base directory specification: a relative path in the variable does not count."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named, "selfdebug", "bytecode")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.expanduser raises where there is no home
    return home / ".cache" / "selfdebug" / "bytecode" if home.is_absolute() else None


def _is_private(place: Path) -> bool:
    """Make the folder; tell whether it is there and nobody else can put code into it that we would run."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=stat.S_IRWXU)
        status = place.stat()
    except OSError:
        return False
    is_ours = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_ours and os.access(place, os.W_OK)


@cache
def _forget_unused(place: Path) -> None:
    """Once a process: remove what no run has used for a month."""
    limit = time.time() - _UNUSED_SECONDS
    for folder in place.iterdir():
        with suppress(FileNotFoundError):  # another process does the same
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < limit:
                remove_tree(folder)


@cache
def _temporary() -> Path:
    """A folder of this process, removed at its end."""
    folder = new_folder("selfdebug-bytecode-")
    owner = os.getpid()
    atexit.register(lambda: remove_tree(folder) if os.getpid() == owner else None)
    return folder
