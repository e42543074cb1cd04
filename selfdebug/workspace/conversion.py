"""The bytes that `git add` would store of a text, without the text being in the working tree.

Line ends and `$Id$` are converted by libgit2 itself, in a throw-away repository that gets the settings, the attributes
and the tracked version (git leaves line ends alone where the tracked version has CRLF already) of the real one. The
real one cannot be asked: its conversions read the index, and libgit2 reads neither split nor sparse ones.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pygit2

_SETTINGS = ("core.autocrlf", "core.eol", "core.attributesfile", "core.ignorecase")
_ATTRIBUTES = ".gitattributes"
# A filter driver is a program of the user's, which libgit2 does not run: git expects other bytes than ours.
_UNKNOWN = ("filter", "working-tree-encoding")


def common_folder(repository: pygit2.Repository) -> Path:
    """The folder that linked worktrees share; the repository's own one where it is not linked."""
    return _common_folder(repository.path)


@lru_cache
def _common_folder(git_folder: str) -> Path:
    own = Path(git_folder)
    try:
        return own / (own / "commondir").read_text().strip()
    except FileNotFoundError:
        return own


@contextlib.contextmanager
def converter_for(repository: pygit2.Repository, workdir: Path, tree: pygit2.Oid) -> Iterator[Converter]:
    """A converter for files of a repository whose HEAD has the given tree. Raises what libgit2 and the disk raise."""
    import pygit2

    with tempfile.TemporaryDirectory(prefix="selfdebug-") as folder:
        scratch = pygit2.init_repository(folder)
        for name in _SETTINGS:
            with contextlib.suppress(KeyError):
                scratch.config[name] = repository.config[name] or ""
        attributes = common_folder(repository) / "info" / "attributes"
        if attributes.is_file():
            Path(folder, ".git", "info").mkdir(exist_ok=True)
            Path(folder, ".git", "info", "attributes").write_bytes(attributes.read_bytes())
        head = repository[tree].peel(pygit2.Tree)
        yield Converter(scratch, Path(folder), workdir, head)


@dataclass(frozen=True, slots=True)
class Converter:
    """`scratch` is the throw-away repository in `folder`; paths are relative to the top of the real one."""

    scratch: pygit2.Repository
    folder: Path
    workdir: Path
    head: pygit2.Tree

    def knows_how(self, path: str) -> bool:
        """Whether git's stored form of this file can be made here."""
        self._prepare(path)
        return not any(self.scratch.get_attr(path, attribute) for attribute in _UNKNOWN)

    def cleaned(self, path: str, data: bytes) -> bytes:
        """The stored form of a text."""
        import pygit2

        self._prepare(path)
        (self.folder / path).write_bytes(data)
        tracked = self._tracked(path)
        if tracked is not None:
            entry = pygit2.IndexEntry(path, self.scratch.create_blob(tracked), pygit2.enums.FileMode.BLOB)
            self.scratch.index.add(entry)
        blob = self.scratch[self.scratch.create_blob_fromworkdir(path)]
        return blob.peel(pygit2.Blob).data

    def _prepare(self, path: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        for parent in PurePosixPath(path).parents:
            name = (parent / _ATTRIBUTES).as_posix()
            source = self.workdir / name
            on_disk = source.is_file() and not source.is_symlink()
            text = source.read_bytes() if on_disk else self._tracked(name)
            if text is not None:
                (self.folder / name).write_bytes(text)

    def _tracked(self, path: str) -> bytes | None:
        import pygit2

        try:
            entry = self.head[path]
        except KeyError:
            return None
        return entry.data if isinstance(entry, pygit2.Blob) else None
