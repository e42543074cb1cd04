"""How files and tests of a run are named: relative to the project's root, wherever pytest's own root is."""

from __future__ import annotations

import os
from pathlib import Path

from selfdebug.paths import is_generated, is_in_environment, is_test_file


class ProjectFiles:
    """Names the paths of a running interpreter, links followed, as files of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._known: dict[str, str | None] = {}

    def file(self, path: str) -> str | None:
        """The file relative to the root with POSIX slashes; None outside it, in an environment, or generated."""
        if path not in self._known:
            self._known[path] = self._file(path)
        return self._known[path]

    def is_test(self, file: str) -> bool:
        """Whether a project file belongs to the tests."""
        return is_test_file(file)

    def node_id(self, node_id: str, rootdir: str | None) -> str:
        """The node id relative to the root (so that it can be given to pytest there) of one relative to `rootdir`."""
        if rootdir is None or not node_id:
            return node_id
        pytest_root = Path(rootdir).resolve()
        if pytest_root == self.root:
            return node_id
        file, separator, rest = node_id.partition("::")
        relative = os.path.relpath(pytest_root / file, self.root)
        return Path(relative).as_posix() + separator + rest

    def _file(self, path: str) -> str | None:
        if is_generated(path):
            return None
        try:
            real = Path(path).resolve()
        except (OSError, RuntimeError, ValueError):
            return None
        if not real.is_relative_to(self.root):
            return None
        relative = real.relative_to(self.root).as_posix()
        return None if is_in_environment(self.root, relative) else relative
