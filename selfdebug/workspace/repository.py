"""Saved files and attempts in git: commits of the shape of a stash, made without touching tree or index.

A stash commit has HEAD as its first parent and a commit of the index as its second; `git stash show` and `apply` need
no more than that. `Repository.stash` is not used: it reverts what it was not asked to save.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfdebug.workspace import references
from selfdebug.workspace.conversion import Converter, converter_for
from selfdebug.workspace.errors import GitRefusedError
from selfdebug.workspace.mirror import mirror
from selfdebug.workspace.objects import ADDRESS, NAME, Changes, Entry, GitFile, Objects
from selfdebug.workspace.past_changes import PastChange, past_changes
from selfdebug.workspace.staged import NotStaged, Staged, staged

if TYPE_CHECKING:
    import pygit2


@dataclass(frozen=True, slots=True)
class StashEntry:
    """An entry on refs/stash and the files that could not become part of it."""

    place: str
    commit: str
    left_out: tuple[str, ...]


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
        self._objects = Objects(repository)

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
            repository.set_ident(NAME, ADDRESS)
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
        """Save files, durably, under the run's private reference, made or moved; returns it and the commit."""
        with _refusals():
            head, base = self._objects.head()
            placed = {path: file for file in files if (path := self._path(file.file)) is not None}
            if not placed:
                raise GitRefusedError("none of the files can be in its repository")
            message = f"selfdebug: {run_id} before the first edit"
            first = head or self._objects.commit(message, base, ())
            tracked = self._objects.entries(base, placed)
            index = self._objects.edited(base, self._indexed(tracked))
            # Where the index has what HEAD has, HEAD is a commit of the index.
            second = first if index == base else self._objects.commit(f"index of {message}", index, (first,))
            saved = {path: self._raw(file, tracked[path]) for path, file in placed.items()}
            commit = self._objects.commit(message, self._objects.edited(base, _new(saved, tracked)), (first, second))
            reference = f"{references.REFERENCE_FOLDER}{run_id}"
            self._publish(reference, commit, message)
            return reference, str(commit)

    def _publish(self, reference: str, commit: pygit2.Oid, message: str) -> None:
        """Point to a commit once it is durable: git calls a repository broken whose references lead to nothing."""
        self._objects.sync()
        references.point(self._repository, reference, commit, message)

    def stash(self, before: Sequence[GitFile], after: Sequence[GitFile], message: str) -> StashEntry:
        """Put the change from `before` to `after` on refs/stash as its newest entry.

        Where the touched files differ from HEAD already, a commit of them as they are comes between: so the entry shows
        the attempt alone. Bytes go through git's own conversions (line ends, `$Id$`), as `git add` would do it.
        """
        message = _one_line(message)
        with _refusals():
            head, head_tree = self._objects.head()
            with converter_for(self._repository, self._workdir, head_tree) as converter:
                left_out = tuple(file.file for file in after if not self._can_stash(file.file, converter))
                old = self._cleaned([file for file in before if file.file not in left_out], converter)
                new = self._cleaned([file for file in after if file.file not in left_out], converter)
            if not new:
                raise GitRefusedError("none of the files can be in its repository")
            base = self._objects.edited(head_tree, old)
            first = head
            if first is None or base != head_tree:
                first = self._objects.commit(f"state before {message}", base, (head,) if head else ())
            second = self._objects.commit(f"index of {message}", base, (first,))
            commit = self._objects.commit(message, self._objects.edited(base, new), (first, second))
            references.ensure_log(self._repository, references.STASH)
            self._publish(references.STASH, commit, message)
            return StashEntry("stash@{0}", str(commit), left_out)

    def release(self, run_id: str) -> None:
        """Drop the private reference of a run that needs it no longer."""
        reference = f"{references.REFERENCE_FOLDER}{run_id}"
        with _refusals():
            references.clear_lock(self._repository, reference)
            references.clear_lock(self._repository, references.STASH)
            references.drop(self._repository, reference)

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

    # ------------------------------------------------------------ files as entries

    def _raw(self, file: GitFile, tracked: Entry | None) -> Entry | None:
        if file.data is None:
            return None
        return self._objects.blob(file.file, file.data, tracked[0] if tracked else None), file.mode

    def _path(self, file: str) -> tuple[str, ...] | None:
        """The components of a file in the repository; None where a nested repository or git's UTF-8 stands between."""
        parts = (*self._prefix, *file.split("/"))
        try:
            "/".join(parts).encode()
        except UnicodeEncodeError:
            return None
        folder = str(self._workdir)
        for name in parts[:-1]:
            folder = f"{folder}/{name}"
            if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - a path object for each folder takes longer
                return None
        return parts

    def _indexed(self, tracked: Changes) -> Changes:
        """Where the index differs from what is tracked; a conflict or an entry on its way in does not count."""
        import pygit2

        entries: dict[tuple[str, ...], Entry | None] = {}
        for path, known in tracked.items():
            match self._staged("/".join(path)):
                case NotStaged.UNKNOWN:
                    return _new(self._indexed_by_libgit2(list(tracked)), tracked)
                case NotStaged.ABSENT:
                    entries[path] = None
                case Staged(mode, sha, 0):
                    entry = pygit2.Oid(hex=sha), mode
                    if entry != known and sha in self._repository:
                        entries[path] = entry
        return entries

    def _staged(self, path: str) -> Staged | NotStaged:
        with contextlib.suppress(OSError):
            return staged(f"{self._repository.path}index", path)
        return NotStaged.UNKNOWN

    def _indexed_by_libgit2(self, paths: Sequence[tuple[str, ...]]) -> Changes:
        """The same from the whole index; one that libgit2 cannot read counts as equal to HEAD."""
        import pygit2

        try:
            index = self._repository.index
            index.read(False)
        except (pygit2.GitError, OSError):
            return {}
        entries: dict[tuple[str, ...], Entry | None] = {}
        for path in paths:
            name = "/".join(path)
            if index.conflicts is not None and name in index.conflicts:
                continue
            if name in index:
                entry = index[name]
                if entry.id in self._repository:  # intent-to-add names an object that nobody wrote
                    entries[path] = entry.id, int(entry.mode)
            else:
                entries[path] = None
        return entries

    # ------------------------------------------------------------ conversions

    def _can_stash(self, file: str, converter: Converter) -> bool:
        path = self._path(file)
        return path is not None and converter.knows_how("/".join(path))

    def _cleaned(self, files: Sequence[GitFile], converter: Converter) -> Changes:
        entries: dict[tuple[str, ...], Entry | None] = {}
        for file in files:
            path = self._path(file.file)
            if path is not None and file.data is not None:
                data = converter.cleaned("/".join(path), file.data)
                entries[path] = self._objects.blob(file.file, data), file.mode
            elif path is not None:
                entries[path] = None
        return entries


def _new(entries: Changes, tracked: Changes) -> Changes:
    """Those that differ from what is tracked."""
    return {path: entry for path, entry in entries.items() if entry != tracked[path]}


def _one_line(message: str) -> str:
    """A message as it may go to a terminal: it names tests, which a project names as it likes."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(message.split()))
