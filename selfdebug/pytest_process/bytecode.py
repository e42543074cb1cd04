"""The bytecode of installed modules, which all pytest processes started by this one share.

A project's own bytecode is never shared: a file edited twice within a second, to the same size, would run the bytecode
of the first edit. But compiling pytest and the libraries anew in each process would take longer than most tests.
"""

from __future__ import annotations

import atexit
import os
from functools import cache
from pathlib import Path

from selfdebug.pytest_process.folders import new_folder, remove_tree
from selfdebug.pytest_process.interpreter import Interpreter
from selfdebug.runtime import PLUGIN_FOLDER


def share_bytecode(prefix: Path, interpreter: Interpreter, root: Path) -> None:
    """Let the parts of `prefix` (a PYTHONPYCACHEPREFIX) that belong to installed modules outlive one process.

    A library that contains the project `root` (tests of an installed package), or our own folder when it is part of the
    project, is left out.
    """
    libraries = [library for library in interpreter.libraries if not root.is_relative_to(library.resolve())]
    if not PLUGIN_FOLDER.is_relative_to(root):
        libraries.append(PLUGIN_FOLDER)
    shared = _shared()
    for library in sorted(libraries, key=lambda folder: len(folder.parts)):
        link = prefix.joinpath(*library.parts[1:])
        target = shared.joinpath(*library.parts[1:])
        if any(parent.is_symlink() for parent in (link, *link.parents)):
            continue  # a library inside another
        target.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target, target_is_directory=True)


@cache
def _shared() -> Path:
    """The folder of this process; each library has its own place in it, by its path."""
    folder = new_folder("selfdebug-bytecode-")
    owner = os.getpid()
    atexit.register(lambda: remove_tree(folder) if os.getpid() == owner else None)
    return folder
