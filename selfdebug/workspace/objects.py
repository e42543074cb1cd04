"""Blobs, trees and commits written into a repository, and synced together.

Only the trees on the way to the given files are read and written, so the cost does not grow with the repository.
libgit2 could sync each object as it writes it, and its folder after each; all at once costs half as many syncs, of
which those of the folders find nothing left to do on most file systems.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfdebug.workspace.conversion import common_folder
from selfdebug.workspace.durable import announce
from selfdebug.workspace.folder import sync_all

if TYPE_CHECKING:
    import pygit2

NAME, ADDRESS = "selfdebug", "selfdebug@localhost"


@dataclass(frozen=True, slots=True)
class GitFile:
    """A file of the project with its bytes; `data` None stands for an absent one."""

    file: str
    data: bytes | None
    is_executable: bool = False

    @property
    def mode(self) -> int:
        """The mode that git records."""
        return 0o100755 if self.is_executable else 0o100644


Entry = tuple["pygit2.Oid", int]  # an object and its mode in a tree
Changes = Mapping[tuple[str, ...], Entry | None]  # by the components of the path; None takes the file out


class Objects:
    """Writes objects; raises what libgit2 and the disk raise. They are durable once `sync` has returned."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self._repository = repository
        self._unsynced: list[pygit2.Oid] = []

    def head(self) -> tuple[pygit2.Oid | None, pygit2.Oid]:
        """The commit that HEAD is at, with its tree; on a branch without one None, with the empty tree."""
        import pygit2

        try:
            commit = self._repository.head.peel(pygit2.Commit)
        except pygit2.GitError:
            if not self._repository.head_is_unborn:
                raise
            return None, self._empty_tree()
        return commit.id, commit.tree_id

    def _empty_tree(self) -> pygit2.Oid:
        return self._written(self._repository.TreeBuilder().write())

    def entries(self, tree: pygit2.Oid, paths: Iterable[tuple[str, ...]]) -> Changes:
        """What a tree has at each path."""
        import pygit2

        top = self._repository[tree].peel(pygit2.Tree)
        return {path: _entry(top, "/".join(path)) for path in paths}

    def blob(self, name: str, data: bytes, kept: pygit2.Oid | None = None) -> pygit2.Oid:
        """Bytes as a blob; `name` is for whoever watches, `kept` an object that need not be written again."""
        import pygit2

        if kept is not None and pygit2.hash(data) == kept:
            return kept
        announce("object", name)
        return self._written(self._repository.create_blob(data))

    def commit(self, message: str, tree: pygit2.Oid, parents: Sequence[pygit2.Oid]) -> pygit2.Oid:
        """A commit of ours, on no branch."""
        import pygit2

        announce("object", message)
        who = pygit2.Signature(NAME, ADDRESS, int(time.time()), 0)
        return self._written(self._repository.create_commit(None, who, who, message, tree, list(parents)))

    def edited(self, tree: pygit2.Oid, changes: Changes) -> pygit2.Oid:
        """A tree with files put in or taken out; other entries and trees stay the very objects they are."""
        import pygit2

        if not changes:
            return tree
        current = self._repository[tree].peel(pygit2.Tree)
        entries: dict[str, Entry | None] = {path[0]: entry for path, entry in changes.items() if len(path) == 1}
        for name, inner in _below(changes).items():
            found = _child(current, name)
            if isinstance(found, pygit2.Tree):
                entries[name] = self.edited(found.id, inner), stat.S_IFDIR
            elif any(entry is not None for entry in inner.values()):
                entries[name] = self.edited(self._empty_tree(), inner), stat.S_IFDIR
        different = {name: entry for name, entry in entries.items() if entry != _entry(current, name)}
        return self._with_entries(current, different) if different else tree

    def _with_entries(self, tree: pygit2.Tree, entries: Mapping[str, Entry | None]) -> pygit2.Oid:
        builder = self._repository.TreeBuilder(tree)
        for name, entry in entries.items():
            if entry is None:
                builder.remove(name)
            else:
                builder.insert(name, *entry)
        announce("object", "tree")
        return self._written(builder.write())

    def _written(self, oid: pygit2.Oid) -> pygit2.Oid:
        self._unsynced.append(oid)
        return oid

    def sync(self) -> None:
        """Make all that was written durable."""
        names = dict.fromkeys(map(str, self._unsynced))
        # One that is not there by itself is in a pack, so it was there before.
        sync_all(f"{common_folder(self._repository)}/objects", [f"{name[:2]}/{name[2:]}" for name in names])
        self._unsynced.clear()


def _below(changes: Changes) -> dict[str, dict[tuple[str, ...], Entry | None]]:
    """The changes inside of folders, by the folder's name."""
    below: dict[str, dict[tuple[str, ...], Entry | None]] = {}
    for path, entry in changes.items():
        if len(path) > 1:
            below.setdefault(path[0], {})[path[1:]] = entry
    return below


def _child(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    try:
        return tree[path]
    except KeyError:
        return None


def _entry(tree: pygit2.Tree, name: str) -> Entry | None:
    found = _child(tree, name)
    return None if found is None else (found.id, int(found.filemode))
