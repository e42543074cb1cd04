"""A private bare repository that sees what the user's one has, and git worktrees of it.

It borrows the objects of the user's repository (`objects/info/alternates`) and has copies of its references, settings
and index. Its own references, stash entries and new objects stay in it and go with it.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from selfdebug.workspace.conversion import common_folder

if TYPE_CHECKING:
    import pygit2

_BRANCH = "selfdebug-copy-"  # libgit2 makes no worktree without a branch; it is gone before the worktree is used
_OWN_REFERENCES = ("refs/selfdebug/", "refs/stash", "refs/worktree/", "refs/bisect/")
_OWN_SETTINGS = ("core.worktree", "core.fsmonitor", "core.untrackedcache", "extensions.worktreeconfig")


def mirror(repository: pygit2.Repository, folder: Path, index: Path) -> str:
    """Make the private repository in `folder`, and copy the index into the folder `index`.

    Returns the commit that HEAD is at, in hexadecimal, or the name of the branch that has none yet. Raises what libgit2
    and the disk raise.
    """
    import pygit2

    own, common = Path(repository.path), common_folder(repository)
    pygit2.init_repository(str(folder), bare=True)
    (folder / "objects" / "info").mkdir(exist_ok=True)
    (folder / "objects" / "info" / "alternates").write_text(f"{(common / 'objects').resolve()}\n", encoding="utf-8")
    _copy_settings(common, folder)
    _copy_references(repository, folder)
    index.mkdir()
    for file in (*own.glob("index"), *own.glob("sharedindex.*")):
        shutil.copy2(file, index)
    if repository.head_is_unborn:
        return str(repository.references["HEAD"].target)
    return str(repository.head.peel(pygit2.Commit).id)


def _copy_settings(common: Path, folder: Path) -> None:
    import pygit2

    for name in ("config", "shallow", "info/exclude", "info/attributes", "info/sparse-checkout"):
        if (common / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy2(common / name, folder / name)
    config = pygit2.Config(str(folder / "config"))
    config["core.bare"] = True
    for name in _OWN_SETTINGS:
        with contextlib.suppress(KeyError):
            del config[name]


def _copy_references(repository: pygit2.Repository, folder: Path) -> None:
    names = sorted(name for name in repository.references if not name.startswith(_OWN_REFERENCES))
    lines = [f"{repository.references[name].resolve().target} {name}\n" for name in names]
    (folder / "packed-refs").write_bytes("".join(lines).encode("utf-8", "surrogateescape"))


def exclude(repository: Path, paths: list[str]) -> None:
    """Let the worktrees ignore some paths: a link is a file to git, which `.venv/` does not match."""
    with (repository / "info" / "exclude").open("ab") as file:
        file.write("".join(f"\n/{path}" for path in paths).encode("utf-8", "surrogateescape") + b"\n")


def add_worktree(repository: Path, name: str, top: Path, head: str, index: Path) -> None:
    """Make the git worktree `name` in the new folder `top`: at `head`, with the saved index, and without any file."""
    import pygit2

    private = pygit2.Repository(str(repository))
    who = pygit2.Signature("selfdebug", "selfdebug@localhost")
    empty = private.create_commit(None, who, who, "empty", private.TreeBuilder().write(), [])
    branch = private.branches.local.create(_BRANCH + name, private[empty].peel(pygit2.Commit))
    private.add_worktree(name, str(top), branch)
    worktree = pygit2.Repository(str(top))
    worktree.set_head(head if head.startswith("refs/") else pygit2.Oid(hex=head))
    branch.delete()
    for file in index.iterdir():
        shutil.copy2(file, worktree.path)


def remove_worktree(repository: Path, name: str) -> None:
    """Forget a worktree whose folder is gone; one that was never made is no error."""
    import pygit2

    private = pygit2.Repository(str(repository))
    if name in private.list_worktrees():
        private.lookup_worktree(name).prune(True)
