"""The temporary folder of one pytest process, and the bytecode that processes of one interpreter share.

Everything that pytest and well-behaved tests write beside the project goes into the folder, which is then removed.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from selfdebug.pytest_process.interpreter import Interpreter


class Scratch:
    """The files and folders of one pytest process, all below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "records"
        self.cache = folder / "cache"
        self.bytecode = folder / "bytecode"
        self.temporary = folder / "t"
        for place in (self.bytecode, self.temporary):
            place.mkdir()

    def put_sources(self, sources: Mapping[str, bytes], root: Path) -> Path:
        """Write the sources that are to be served for files below `root`; return the index that the plugin reads."""
        index = {}
        for number, (file, content) in enumerate(sources.items()):
            place = self.folder / f"{number}.source"
            place.write_bytes(content)
            index[str(root / file)] = str(place)
        path = self.folder / "sources.json"
        path.write_text(json.dumps(index), encoding="utf-8")
        return path

    def share_bytecode(self, interpreter: Interpreter, root: Path) -> None:
        """Let the bytecode of installed modules outlive this process; that of the project never does.

        A file edited twice within a second, to the same size, would otherwise run the bytecode of the first edit; and
        compiling pytest and the libraries anew in each process would take longer than most tests.
        """
        shared = _shared_bytecode()
        for library in interpreter.libraries:
            if root.is_relative_to(library):
                continue  # tests of an installed package
            link = self.bytecode.joinpath(*library.parts[1:])
            target = shared.joinpath(*library.parts[1:])
            if link.is_symlink() or any(parent.is_symlink() for parent in link.parents):
                continue  # one library inside another
            target.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(target, target_is_directory=True)


@contextmanager
def scratch_folder() -> Iterator[Scratch]:
    """A scratch folder with a short name (sockets in it have to fit into 108 bytes), removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="sd-"))
    try:
        yield Scratch(folder)
    finally:
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where tests took the permissions away from folders in it."""
    shutil.rmtree(folder, onerror=_make_writable)  # `onexc` is new in Python 3.12


def _make_writable(_function: Any, path: str, _error: Any) -> None:
    # Whatever stays is left to the system's own cleaning of temporary folders.
    try:
        Path(path).parent.chmod(stat.S_IRWXU)
        Path(path).chmod(stat.S_IRWXU)
    except OSError:
        return
    if Path(path).is_dir() and not Path(path).is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        Path(path).unlink(missing_ok=True)


@cache
def _shared_bytecode() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="selfdebug-bytecode-"))
    owner = os.getpid()
    atexit.register(lambda: remove_tree(folder) if os.getpid() == owner else None)
    return folder
