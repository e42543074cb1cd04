"""A project as it stood at one moment, and any number of copies of it to run repairs in, side by side.

The copies are git worktrees, but of a private repository, which borrows the objects of the user's one and has copies
of its references, settings and index: so a copy shows the same HEAD, the same staged and unstaged changes and the same
untracked files, and yet whatever a run or a test does in it (stash entries, commits, branches) touches nothing of the
user's. libgit2 does not check anything out, the files are copied: a checkout knows no filters such as git-lfs.
Where there is no usable repository the copies are plain ones.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from selfdebug.errors import WorkspaceError
from selfdebug.workspace.errors import GitRefusedError
from selfdebug.workspace.mirror import add_worktree, exclude, remove_worktree
from selfdebug.workspace.project import explained
from selfdebug.workspace.repository import GitStore
from selfdebug.workspace.tree_copy import TreeCopy

_TREE, _REPOSITORY, _INDEX, _COPIES, _RECORD = "tree", "repository.git", "index", "copies", "frozen.json"


@dataclass(frozen=True, slots=True)
class FrozenTree:
    """What `freeze` saved in `folder`: `prefix` leads from the top of the tree to the project.

    `digest` identifies the content, `files` counts it; `head` is the commit, or the branch without a commit, that the
    repository is at, and None where there is no repository; `origin` is the top of the original.
    """

    folder: Path
    origin: str
    prefix: str
    digest: str
    files: int
    head: str | None

    @classmethod
    def freeze(cls, root: Path, folder: Path) -> FrozenTree:
        """Copy the project at `root`, with all of the repository around it, into the new `folder`.

        Nothing outside `folder` is written. Raises WorkspaceError where the copy cannot be made.
        """
        root = root.resolve()
        with explained(f"{root} cannot be copied to {folder}"):
            folder.mkdir(parents=True)
            try:
                store = GitStore.open(root)
            except GitRefusedError:
                made = TreeCopy(root, folder / _TREE, ()).make()
                frozen = cls(folder, str(root), ".", made.digest, made.files, None)
            else:
                made = TreeCopy(store.workdir, folder / _TREE, store.tracked()).make()
                head = store.mirror(folder / _REPOSITORY, folder / _INDEX)
                exclude(folder / _REPOSITORY, made.linked)
                prefix = root.relative_to(store.workdir).as_posix()
                frozen = cls(folder, str(store.workdir), prefix, made.digest, made.files, head)
            record = {name: value for name, value in asdict(frozen).items() if name != "folder"}
            (folder / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        return frozen

    @classmethod
    def reopen(cls, folder: Path) -> FrozenTree:
        """What `freeze` saved, for another process. Raises WorkspaceError where it is not there."""
        with explained(f"The copied project in {folder} cannot be read"):
            return cls(folder, **json.loads((folder / _RECORD).read_text(encoding="utf-8")))

    @property
    def root(self) -> Path:
        """The project in the saved tree, which is for reading only."""
        return self.folder / _TREE / self.prefix

    def place_of_copy(self, name: str) -> Path:
        """The top of a copy."""
        return self.folder / _COPIES / name

    @contextlib.contextmanager
    def copy(self, name: str, changed: Mapping[str, bytes] | None = None) -> Iterator[Path]:
        """A copy of its own for the block, removed with all its traces; yields the project's root in it.

        `changed` are files, relative to the project, that hold other bytes there. Raises WorkspaceError.
        """
        top = self.place_of_copy(name)
        try:
            with explained(f"No copy of the project can be made in {top.parent}"):
                self._lay_out(top, name)
                for file, data in (changed or {}).items():
                    (top / self.prefix / file).write_bytes(data)
            yield top / self.prefix
        finally:
            self._clear(top, name)

    def _lay_out(self, top: Path, name: str) -> None:
        top.parent.mkdir(exist_ok=True)
        if self.head is None:
            top.mkdir()
        else:
            import pygit2

            try:
                add_worktree(self.folder / _REPOSITORY, name, top, self.head, self.folder / _INDEX)
            except (pygit2.GitError, ValueError, KeyError) as error:
                raise WorkspaceError(f"No git worktree can be made in {top}: {error}.") from error
        TreeCopy(self.folder / _TREE, top, None).make()

    def _clear(self, top: Path, name: str) -> None:
        shutil.rmtree(top, ignore_errors=True)
        if self.head is not None:
            remove_worktree(self.folder / _REPOSITORY, name)
