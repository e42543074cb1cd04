"""Saved files and attempts as git objects: commits of the shape of a stash, made without touching tree or index.

A stash commit has HEAD as its first parent and a commit of the index as its second; `git stash show` and `apply` need
no more than that. Only the trees on the way to the touched files are read and written, so the cost does not grow with
the repository. `Repository.stash` is not used: it reverts what it was not asked to save.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfdebug.workspace.conversion import Converter, common_folder, converter_for
from selfdebug.workspace.durable import announce
from selfdebug.workspace.mirror import mirror
from selfdebug.workspace.past_changes import PastChange, past_changes

if TYPE_CHECKING:
    import pygit2

_NAME, _ADDRESS = "selfdebug", "selfdebug@localhost"
REFERENCE_FOLDER = "refs/selfdebug/"
_STASH = "refs/stash"
_LOCK_TRIES, _LOCK_PAUSE = 5, 0.05  # another git command holds a reference for milliseconds
_LOCK_STALE = 5.0  # seconds after which a lock on a reference belongs to nobody who is alive
_SHA1_DIGITS = 40


class GitRefusedError(Exception):
    """Git cannot hold these files here; `str(error)` says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class GitFile:
    """A file of the project with its bytes; `data` None stands for an absent one."""

    file: str
    data: bytes | None
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class StashEntry:
    """An entry on refs/stash and the files that could not become part of it."""

    place: str
    commit: str
    left_out: tuple[str, ...]


Entry = tuple["pygit2.Oid", int]  # an object and its mode in a tree


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn what libgit2 raises (its own errors are also ValueError, KeyError, OSError) into one refusal."""
    import pygit2

    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError, TypeError) as error:
        raise GitRefusedError(str(error).strip("'\" :") or type(error).__name__) from error


class GitStore:
    """The repository that holds the project. Its methods raise GitRefusedError."""

    def __init__(self, repository: pygit2.Repository, root: Path) -> None:
        self._repository = repository
        self._root = root
        self._workdir = Path(os.path.realpath(repository.workdir))
        self._prefix = root.relative_to(self._workdir).parts

    @classmethod
    def open(cls, root: Path) -> GitStore:
        """Find the repository around `root`; no repository, a bare, foreign or unreadable one is refused."""
        try:
            import pygit2
        except ImportError as error:
            raise GitRefusedError("pygit2 cannot be imported") from error
        with _refusals():
            ceiling = os.environ.get("GIT_CEILING_DIRECTORIES", "")
            found = pygit2.discover_repository(str(root), False, ceiling)
            if found is None:
                raise GitRefusedError("the project is not in a git repository")
            repository = pygit2.Repository(found)
            if repository.is_bare or not repository.workdir:
                raise GitRefusedError("the git repository has no working tree")
            if not root.is_relative_to(os.path.realpath(repository.workdir)):
                raise GitRefusedError("the working tree of the git repository is elsewhere")
            if Path(repository.path).stat().st_uid != os.geteuid():
                raise GitRefusedError("the git repository belongs to another user")
            pygit2.settings.enable_fsync_gitdir(True)
            repository.set_ident(_NAME, _ADDRESS)
            return cls(repository, root)

    @property
    def workdir(self) -> Path:
        """The real path of the top of the working tree."""
        return self._workdir

    def tracked(self) -> tuple[str, ...]:
        """The paths in the index, relative to the top; none where libgit2 cannot read it."""
        import pygit2

        try:
            return tuple(entry.path for entry in self._repository.index)
        except (pygit2.GitError, OSError):
            return ()

    def mirror(self, folder: Path, index: Path) -> str:
        """Make a private repository in `folder` that sees what this one has; see `selfdebug.workspace.mirror`."""
        with _refusals():
            return mirror(self._repository, folder, index)

    def snapshot(self, run_id: str, files: Sequence[GitFile]) -> tuple[str, str]:
        """Save files under the run's private reference, which is made or moved; returns it and the commit."""
        with _refusals():
            head = self._head()
            base = self._tree(head)
            saved = {path: self._raw(file) for file in files if (path := self._path(file.file)) is not None}
            if not saved:
                raise GitRefusedError("none of the files can be in its repository")
            index = self._edited(base, self._indexed(saved))
            message = f"selfdebug: {run_id} before the first edit"
            first = head or self._commit(message, base, ())
            second = self._commit(f"index of {message}", index, (first,))
            commit = self._commit(message, self._edited(base, saved), (first, second))
            reference = f"{REFERENCE_FOLDER}{run_id}"
            self._point(reference, commit, message)
            return reference, str(commit)

    def stash(self, before: Sequence[GitFile], after: Sequence[GitFile], message: str) -> StashEntry:
        """Put the change from `before` to `after` on refs/stash as its newest entry.

        Where the touched files differ from HEAD already, a commit of them as they are comes between: so the entry shows
        the attempt alone. Bytes go through git's own conversions (line ends, `$Id$`), as `git add` would do it.
        """
        message = _one_line(message)
        with _refusals():
            head = self._head()
            head_tree = self._tree(head)
            with converter_for(self._repository, self._workdir, head_tree) as converter:
                left_out = tuple(file.file for file in after if not self._can_stash(file.file, converter))
                old = self._cleaned([file for file in before if file.file not in left_out], converter)
                new = self._cleaned([file for file in after if file.file not in left_out], converter)
            if not new:
                raise GitRefusedError("none of the files can be in its repository")
            base = self._edited(head_tree, old)
            first = head
            if first is None or base != head_tree:
                first = self._commit(f"state before {message}", base, (head,) if head else ())
            second = self._commit(f"index of {message}", base, (first,))
            commit = self._commit(message, self._edited(base, new), (first, second))
            self._ensure_log(_STASH)
            self._point(_STASH, commit, message)
            return StashEntry("stash@{0}", str(commit), left_out)

    def release(self, run_id: str) -> None:
        """Drop the private reference of a run that needs it no longer."""
        reference = f"{REFERENCE_FOLDER}{run_id}"
        with _refusals():
            self._clear_lock(reference)
            self._clear_lock(_STASH)
            if reference in self._repository.references:
                announce("unref", reference)
                self._repository.references.delete(reference)

    def read(self, commit: str, file: str) -> bytes:
        """The saved bytes of a file in a snapshot."""
        import pygit2

        with _refusals():
            path = "/".join((*self._prefix, file))
            entry = self._repository[commit].peel(pygit2.Tree)[path]
            if not isinstance(entry, pygit2.Blob):
                raise GitRefusedError(f"{path} is no file in {commit}")
            return entry.data

    def past_changes(self) -> Iterator[PastChange]:
        """What small commits made of the project's Python files; see `selfdebug.workspace.past_changes`."""
        with _refusals():
            yield from past_changes(self._repository, self._prefix)

    # ------------------------------------------------------------ objects

    def _head(self) -> pygit2.Oid | None:
        return None if self._repository.head_is_unborn else self._repository.head.peel().id

    def _tree(self, commit: pygit2.Oid | None) -> pygit2.Oid:
        import pygit2

        if commit is None:
            return self._repository.TreeBuilder().write()
        return self._repository[commit].peel(pygit2.Tree).id

    def _commit(self, message: str, tree: pygit2.Oid, parents: Sequence[pygit2.Oid]) -> pygit2.Oid:
        import pygit2

        announce("object", message)
        who = pygit2.Signature(_NAME, _ADDRESS, int(time.time()), 0)
        return self._repository.create_commit(None, who, who, message, tree, list(parents))

    def _point(self, reference: str, commit: pygit2.Oid, message: str) -> None:
        import pygit2

        announce("ref", reference)
        for remaining in reversed(range(_LOCK_TRIES)):
            try:
                self._repository.create_reference(reference, commit, force=True, message=message)
            except (OSError, pygit2.GitError) as error:
                self._clear_lock(reference)
                if not remaining:
                    raise self._blocked(reference, error) from error
                time.sleep(_LOCK_PAUSE)
            else:
                return

    def _clear_lock(self, reference: str) -> None:
        """Remove the lock that a killed run left on a reference: one of ours by its name or by the commit in it."""
        lock = self._lock_of(reference)
        try:
            is_old = time.time() - lock.stat().st_mtime > _LOCK_STALE
            if is_old and (reference.startswith(REFERENCE_FOLDER) or self._is_ours(lock.read_text("ascii").strip())):
                announce("unlink", lock.name)
                lock.unlink()
        except (OSError, ValueError):
            return  # gone, or not to be told: it stays, and whoever needs the reference is told of it

    def _lock_of(self, reference: str) -> Path:
        return common_folder(self._repository) / f"{reference}.lock"

    def _is_ours(self, commit: str) -> bool:
        import pygit2

        found = self._repository.get(commit) if len(commit) == _SHA1_DIGITS else None
        return isinstance(found, pygit2.Commit) and found.author.email == _ADDRESS

    def _blocked(self, reference: str, error: Exception) -> Exception:
        lock = self._lock_of(reference)
        if not lock.exists():
            return error
        return GitRefusedError(f"{lock} is in the way; remove it when no git command is running")

    def _ensure_log(self, reference: str) -> None:
        # `git stash list` reads the reference's log, and libgit2 writes one for refs/stash only where it exists.
        log = common_folder(self._repository) / "logs" / reference
        announce("create", reference)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()

    def _raw(self, file: GitFile) -> Entry | None:
        if file.data is None:
            return None
        announce("object", file.file)
        return self._repository.create_blob(file.data), _mode(file)

    def _path(self, file: str) -> tuple[str, ...] | None:
        """The components of a file in the repository; None where a nested repository or git's UTF-8 stands between."""
        parts = (*self._prefix, *file.split("/"))
        try:
            "/".join(parts).encode()
        except UnicodeEncodeError:
            return None
        folder = self._workdir
        for name in parts[:-1]:
            folder = folder / name
            if (folder / ".git").exists():
                return None
        return parts

    def _indexed(self, paths: Mapping[tuple[str, ...], Entry | None]) -> dict[tuple[str, ...], Entry | None]:
        """What the index has for the paths; one that libgit2 cannot read (split, sparse) counts as equal to HEAD."""
        import pygit2

        try:
            index = self._repository.index
            index.read(False)
        except (pygit2.GitError, OSError):
            return {}
        staged: dict[tuple[str, ...], Entry | None] = {}
        for path in paths:
            name = "/".join(path)
            if index.conflicts is not None and name in index.conflicts:
                continue
            if name in index:
                entry = index[name]
                if entry.id in self._repository:  # intent-to-add names an object that nobody wrote
                    staged[path] = entry.id, int(entry.mode)
            else:
                staged[path] = None
        return staged

    def _edited(self, tree: pygit2.Oid, changes: Mapping[tuple[str, ...], Entry | None]) -> pygit2.Oid:
        """A tree with files put in or taken out; other entries and trees stay the very objects they are."""
        import pygit2

        current = self._repository[tree].peel(pygit2.Tree)
        builder = self._repository.TreeBuilder(current)
        below: dict[str, dict[tuple[str, ...], Entry | None]] = {}
        for path, entry in changes.items():
            if len(path) > 1:
                below.setdefault(path[0], {})[path[1:]] = entry
            elif entry is not None:
                builder.insert(path[0], entry[0], entry[1])
            elif builder.get(path[0]) is not None:
                builder.remove(path[0])
        for name, inner in below.items():
            found = next((entry for entry in current if entry.name == name), None)
            if not isinstance(found, pygit2.Tree):
                if all(entry is None for entry in inner.values()):
                    continue
                found_id = self._tree(None)
            else:
                found_id = found.id
            builder.insert(name, self._edited(found_id, inner), stat.S_IFDIR)
        announce("object", "tree")
        return builder.write()

    # ------------------------------------------------------------ conversions

    def _can_stash(self, file: str, converter: Converter) -> bool:
        path = self._path(file)
        return path is not None and converter.knows_how("/".join(path))

    def _cleaned(self, files: Sequence[GitFile], converter: Converter) -> dict[tuple[str, ...], Entry | None]:
        entries: dict[tuple[str, ...], Entry | None] = {}
        for file in files:
            path = self._path(file.file)
            if path is not None and file.data is not None:
                announce("object", file.file)
                blob = self._repository.create_blob(converter.cleaned("/".join(path), file.data))
                entries[path] = blob, _mode(file)
            elif path is not None:
                entries[path] = None
        return entries


def _one_line(message: str) -> str:
    """A message as it may go to a terminal: it names tests, which a project names as it likes."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(message.split()))


def _mode(file: GitFile) -> int:
    return 0o100755 if file.is_executable else 0o100644
