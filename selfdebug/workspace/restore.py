"""Putting the files of a run back: exactly what was saved, and only over what the run itself wrote."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from selfdebug.errors import InputError
from selfdebug.workspace.errors import GitRefusedError
from selfdebug.workspace.folder import CannotReplaceError, Content, Folder
from selfdebug.workspace.journal import Saved
from selfdebug.workspace.places import Located, folder_of, locate
from selfdebug.workspace.records import Conflict, RollBack
from selfdebug.workspace.repository import GitStore
from selfdebug.workspace.run_folder import RunFolder, digest

_CHANGED = "it was changed by someone else during the run"
_REPLACED = "something else has taken its place"
_REMOVED = "it was removed or moved by someone else during the run"
_LOST = "the saved copy is gone or damaged"


class _LeftAloneError(Exception):
    """A file that is not put back, now or later; `str(error)` is the reason."""


def temporary_name(run_id: str, number: int) -> str:
    """The name beside a file under which its next bytes are written; known in advance, so that it can be removed."""
    return f".selfdebug-{digest(run_id.encode())[:12]}-{number}.tmp"


def content_of(folder: Folder, name: str) -> Content | None:
    """Read a file; None where there is none. Raises OSError."""
    try:
        return folder.read(name)
    except FileNotFoundError:
        return None


@dataclass(slots=True)
class Restorer:
    """Restores the files of one run below a project root; `git` opens the second source of the saved bytes."""

    root: Path
    reserved: Path
    run: RunFolder
    git: Callable[[], GitStore]
    restored: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    pending: list[Conflict] = field(default_factory=list)

    def restore(self) -> RollBack:
        """Go through the files that the run announced to write. May be called again after any interruption."""
        for file in self.run.state.planned:
            saved = self.run.state.saved.get(file)
            if saved is not None:
                self._restore_one(saved)
        return RollBack(self.run.run_id, tuple(self.restored), tuple(self.conflicts), tuple(self.pending))

    def _restore_one(self, saved: Saved) -> None:
        try:
            located = locate(self.root, saved.file, self.reserved)
            if located.file != saved.file:
                raise _LeftAloneError(_REPLACED)
            with folder_of(self.root, located) as folder:
                if self._put_back(folder, located, saved):
                    self.restored.append(saved.file)
        except InputError as error:
            if isinstance(error.__cause__, PermissionError):
                self.pending.append(self._left(saved, "its folder cannot be entered"))
            else:
                self.conflicts.append(self._left(saved, _REMOVED))
        except _LeftAloneError as error:
            self.conflicts.append(self._left(saved, str(error)))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO, errno.ENOTDIR):
                self.conflicts.append(self._left(saved, _REPLACED))
            else:
                self.pending.append(self._left(saved, (error.strerror or str(error)).lower()))

    def _left(self, saved: Saved, reason: str) -> Conflict:
        return Conflict(saved.file, self.run.state.place_of(saved, self.run.path), reason)

    def _put_back(self, folder: Folder, located: Located, saved: Saved) -> bool:
        """Restore one file; False where it needed nothing."""
        temporary = temporary_name(self.run.run_id, saved.number)
        folder.remove(temporary)
        current = content_of(folder, located.name)
        if (digest(current.data) if current else None) == saved.sha:
            return self._redress(folder, located, saved, current)
        ours = self._ours(saved, current)
        if saved.sha is None:
            folder.remove(located.name)
            folder.sync()
        else:
            self._bring(folder, located, saved, ours, temporary)
            folder.sync()
            written = content_of(folder, located.name)
            if written is None or digest(written.data) != saved.sha:
                raise OSError(errno.EIO, "the restored bytes could not be read back")
        return True

    def _redress(self, folder: Folder, located: Located, saved: Saved, current: Content | None) -> bool:
        if current is None:
            return False
        in_place = any(plan.copy for plan in self.run.state.planned[saved.file])
        # A new time alone is someone else's doing, unless a write of ours in place was cut before it gave the old one.
        is_dressed = not in_place or current.mtime_ns == saved.mtime_ns
        if current.traits.mode == saved.mode and is_dressed:
            return False
        folder.dress(located.name, saved.mode, saved.mtime_ns)
        return True

    def _ours(self, saved: Saved, current: Content | None) -> Content:
        """The content itself where the run wrote it. Raises _LeftAloneError."""
        if current is None:
            raise _LeftAloneError(_REMOVED)
        planned = self.run.state.planned[saved.file]
        if digest(current.data) in {plan.sha for plan in planned}:
            return current
        # A write in place that was cut leaves the start of the new bytes before the rest of the old ones.
        copies = [(plan.copy, plan.sha) for plan in planned if plan.copy]
        texts = [data for copy, sha in copies if (data := self.run.saved_bytes(copy, sha)) is not None]
        if not any(_is_torn(current.data, new, old) for new in texts for old in texts):
            raise _LeftAloneError(_CHANGED)
        return current

    def _bring(self, folder: Folder, located: Located, saved: Saved, current: Content, temporary: str) -> None:
        def check() -> None:
            if not folder.is_still(located.name, current):
                raise _LeftAloneError(_CHANGED)

        if self.run.is_inode_intact(saved):
            try:
                folder.take_back(located.name, self.run.folder, self.run.inode_of(saved), temporary, check)
            except CannotReplaceError:
                pass  # what cannot be linked here may still be written
            else:
                return
        data = self._saved_bytes(saved)
        traits = current.traits.with_times(saved.mode, saved.mtime_ns)
        try:
            folder.replace(located.name, data, traits, temporary, check)
        except CannotReplaceError:
            check()
            self.run.announce_overwriting(saved, current.data, data)
            folder.overwrite(located.name, data, traits)

    def _saved_bytes(self, saved: Saved) -> bytes:
        """The bytes from the run's folder, else from the backup, else from git. Raises _LeftAloneError."""
        sha = saved.sha or ""
        data = self.run.saved_bytes(saved.copy or "", sha)
        if data is None and saved.backup:
            data = _intact(Path(saved.backup), sha)
        if data is None and self.run.state.reference is not None:
            try:
                data = self.git().read(self.run.state.reference.commit, saved.file)
            except GitRefusedError:
                data = None
        if data is None or digest(data) != sha:
            raise _LeftAloneError(_LOST)
        return data


def _intact(path: Path, sha: str) -> bytes | None:
    try:
        with Folder.open(path.parent) as folder:
            data = folder.read(path.name).data
    except OSError:
        return None
    return data if digest(data) == sha else None


def _is_torn(content: bytes, new: bytes, old: bytes) -> bool:
    """Whether `content` is what a write of `new` over `old` leaves when it is cut: new up to a point, then old."""
    shorter = min(len(content), len(new))
    common = next((at for at in range(shorter) if content[at] != new[at]), shorter)
    return content[common:] == old[common:]
