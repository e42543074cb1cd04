"""How the process that started the run names tests: relative to the project's root, wherever pytest's own root is."""

from __future__ import annotations

import os
from typing import Any


class TestNames:
    """The names of the tests of one session."""

    __test__ = False

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._files: dict[str, str] = {}
        self._rootdir = self._root

    def of_session(self, config: Any) -> None:
        """Node ids are relative to the root of this session from now on."""
        self._rootdir = os.path.realpath(str(config.rootpath if hasattr(config, "rootpath") else config.rootdir))
        self._files.clear()

    def of(self, node_id: str) -> str:
        """The name of the test that pytest calls `node_id`."""
        if self._rootdir == self._root:
            return node_id
        file, separator, rest = node_id.partition("::")
        if file not in self._files:
            relative = os.path.relpath(os.path.join(self._rootdir, file), self._root)
            self._files[file] = relative.replace(os.sep, "/")
        return self._files[file] + separator + rest
