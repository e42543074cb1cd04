"""The temporary folder of one pytest process, which takes whatever it writes beside the project."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from selfdebug.pytest_process.folders import MARKER_FILE, RUN_PREFIX, new_folder, remove_tree

JOB_PREFIX = "job-"  # of the folders that runs which follow one another do not share


class Scratch:
    """The files and folders of one pytest process, all below `folder`."""

    def __init__(self, folder: Path, marker: str) -> None:
        self.folder = folder
        self.marker = marker
        self.records = folder / "records"
        self.cache = folder / "cache"
        self.bytecode = folder / "bytecode"
        self.temporary = folder / "t"
        for place in (self.bytecode, self.temporary):
            place.mkdir()
        (folder / MARKER_FILE).write_text(marker, "ascii")
        self._remembered: frozenset[str] = frozenset()

    def remember(self) -> None:
        """Take what stands in the folder now for what every one of several runs in it is to find."""
        self._remembered = frozenset(os.listdir(self.folder))  # noqa: PTH208 - names are all that is needed

    def restore(self) -> None:
        """Remove what runs have left since: the next one is to find no file, whose names may be the same.

        Bytecode of temporary modules goes as well. Folders of jobs are left to those who made them.
        """
        left = [entry for entry in self.folder.iterdir() if entry.name not in self._remembered]
        compiled = self.bytecode.joinpath(*self.temporary.parts[1:])
        for entry in (*self.temporary.iterdir(), compiled, *left):
            if entry.is_dir() and not entry.is_symlink():
                if not entry.name.startswith(JOB_PREFIX):
                    remove_tree(entry)
            else:
                entry.unlink(missing_ok=True)

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


@contextmanager
def scratch_folder(marker: str) -> Iterator[Scratch]:
    """A scratch folder for the process that `marker` identifies, removed at the end."""
    folder = new_folder(RUN_PREFIX)
    try:
        yield Scratch(folder, marker)
    finally:
        remove_tree(folder)
