"""The files of the run that is going on: saved before the first edit, edited, then put back or kept.

The order that makes every instant safe: the saved bytes are synced to disk, then the journal with all that was saved
and with the announcement of the write, then it happens. Whoever finds an unfinished journal without an owner can put
everything back.

A run waits for the disk seven times, where one file has one edit, and each of them is needed:
1. the copy, before the journal names it; 2. the objects, before a reference leads to them (else git finds its
repository broken); 3. the reference, which is promised; 4. the journal, before the edit; 5. the new bytes, before the
rename (else a cut leaves an empty file); 6. the restored name, before the journal calls the run ended; 7. that end
(else recovery, after a cut, would take back what the user has brought back from the stash since).
What happens between two of them waits for none: the lines of the journal before its last, the names of an edit until
its roll back or `keep`, the list of closed runs, the reference's end. A folder is synced after its file, which finds
nothing left to do on a file system that orders its names (ext4, XFS, btrfs), and is needed on the others.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Mapping, Sequence

from selfdebug.errors import InputError, WorkspaceError
from selfdebug.workspace.errors import ChangedMeanwhileError, GitRefusedError, ReadOnlyError, shown
from selfdebug.workspace.folder import CannotReplaceError, Content, Folder
from selfdebug.workspace.journal import Begun, Ended, Final, LeftAlone, Planned, Saved, Snapshotted, Stashed
from selfdebug.workspace.objects import GitFile
from selfdebug.workspace.places import Located, folder_of
from selfdebug.workspace.project import Project, explained
from selfdebug.workspace.records import Kept, RollBack, RunStatus
from selfdebug.workspace.repository import StashEntry
from selfdebug.workspace.restore import Restorer, content_of, temporary_name
from selfdebug.workspace.run_folder import RunFolder, digest


def end_restored(project: Project, run: RunFolder, status: RunStatus, *, by_recovery: bool) -> RollBack:
    """Put the files of a run back and close its journal; where the disk refuses, it stays open for the next command."""
    result = Restorer(project.root, project.state_dir, run, project.git).restore()
    if result.pending:
        return result
    for conflict in result.conflicts:
        run.note(LeftAlone(conflict.file, conflict.reason))
    run.let_inodes_go()
    if not result.conflicts and run.state.reference is not None:
        _release(project, run.run_id)
    run.end(Ended(status.value, time.time(), "", by_recovery))
    return result


def _release(project: Project, run_id: str) -> None:
    try:
        project.git().release(run_id)
    except GitRefusedError:
        return  # a reference that stays holds a few objects and harms nobody


class OpenRun:
    """One run's edits. Its methods raise WorkspaceError or InputError, each with one sentence."""

    def __init__(self, project: Project, run: RunFolder) -> None:
        self._project = project
        self._run = run
        self._on_disk: dict[str, str | None] = {}
        self.git_refusal: str | None = None
        if not run.state.run_id:
            run.prepare(Begun(run.run_id, time.time(), os.getpid(), socket.gethostname()))

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._run.run_id

    @property
    def files(self) -> tuple[str, ...]:
        """The real paths of the saved files."""
        return tuple(self._run.state.saved)

    @property
    def reference(self) -> str | None:
        """The git reference that holds the saved files, where git does."""
        return self._run.state.reference.reference if self._run.state.reference else None

    @property
    def copies(self) -> tuple[str, ...]:
        """Where a person finds the saved files."""
        return tuple(self._place_of(saved) for saved in self._run.state.saved.values() if saved.copy)

    # ------------------------------------------------------------ saving

    def save(self, files: Sequence[str]) -> None:
        """Save files that may be edited; those saved already stay as they are. Nothing in the tree is touched."""
        self._refuse_ended()
        located = {place.file: place for place in map(self._project.locate, files)}
        new = [place for place in located.values() if place.file not in self._run.state.saved]
        contents = {place.file: self._content(place) for place in new}
        with explained("The files cannot be saved, so they are not edited"):
            for place in new:
                self._save_one(place, contents[place.file])
        if (new and not self._save_in_git(contents)) or self._project.backups.is_chosen:
            self._back_up(contents)

    def _content(self, place: Located) -> Content | None:
        try:
            with folder_of(self._project.root, place) as folder:
                return content_of(folder, place.name)
        except OSError as error:
            raise InputError(
                f"{shown(place.file)} cannot be read: {(error.strerror or 'unknown error').lower()}."
            ) from error

    def _save_one(self, place: Located, content: Content | None) -> None:
        number = len(self._run.state.saved)
        saved = Saved(place.file, number, None, 0, 0, None, None)
        if content is not None:
            copy = self._run.save(self._run.stem_of(saved), content.data)
            mode, mtime = content.traits.mode, content.mtime_ns
            saved = Saved(place.file, number, digest(content.data), mode, mtime, copy, None)
        self._run.prepare(saved)
        self._on_disk[place.file] = saved.sha

    def _save_in_git(self, contents: Mapping[str, Content | None]) -> bool:
        """Save the files of `contents`, which was just read, beside those that were saved before."""
        known = {file: content.data if content else None for file, content in contents.items()}
        try:
            files = [
                self._git_file(saved, known[file] if file in known else self._bytes_before(saved))
                for file, saved in self._run.state.saved.items()
            ]
            reference, commit = self._project.git().snapshot(self.run_id, files)
        except GitRefusedError as error:
            self.git_refusal = str(error)
            return False
        with explained("The snapshot cannot be recorded, so the files are not edited"):
            self._run.prepare(Snapshotted(reference, commit))
        return True

    def _back_up(self, contents: Mapping[str, Content | None]) -> None:
        for file, content in contents.items():
            if content is not None:
                saved = self._run.state.saved[file]
                path = self._project.backups.save(_name(file), content.data)
                with explained("The backup cannot be recorded, so the files are not edited"):
                    self._run.prepare(
                        Saved(file, saved.number, saved.sha, saved.mode, saved.mtime_ns, saved.copy, path)
                    )

    # ------------------------------------------------------------ writing

    def write(self, file: str, data: bytes) -> None:
        """Replace the bytes of a saved file atomically, or in place where the file system knows no other way.

        Raises ChangedMeanwhileError where the file is no longer what the run left there, ReadOnlyError for a file
        without write permission, WorkspaceError for one that is not saved.
        """
        self._refuse_ended()
        place = self._project.locate(file)
        saved = self._run.state.saved.get(place.file)
        if saved is None:
            raise WorkspaceError(f"{shown(file)} is not in the snapshot, so it is not edited.")
        with explained(f"{shown(file)} cannot be written"), folder_of(self._project.root, place) as folder:
            current = content_of(folder, place.name)
            if (digest(current.data) if current else None) != self._on_disk[place.file]:
                raise self._changed(saved)
            if current is not None and current.data == data:
                return
            _refuse_read_only(file, folder, place.name)
            planned = Planned(place.file, digest(data), None)
            self._run.note(planned)
            self._publish(folder, place, saved, current, data)
            self._on_disk[place.file] = planned.sha

    def _publish(self, folder: Folder, place: Located, saved: Saved, current: Content | None, data: bytes) -> None:
        def check() -> None:
            if not folder.is_still(place.name, current):
                raise self._changed(saved)

        if current is not None:
            self._run.keep_inode(saved, folder, place.name, current)
        try:
            temporary = temporary_name(self.run_id, saved.number)
            folder.replace(place.name, data, current.traits if current else None, temporary, check)
        except CannotReplaceError:
            if current is None:
                raise
            check()
            self._run.announce_overwriting(saved, current.data, data)
            folder.overwrite(place.name, data, current.traits)

    def _changed(self, saved: Saved) -> ChangedMeanwhileError:
        copy = self._place_of(saved)
        return ChangedMeanwhileError(
            f"{shown(saved.file)} was changed by someone else during the run, so it is left as it is; "
            f"the bytes from before the run are in {copy}.",
            (copy,),
        )

    # ------------------------------------------------------------ the end

    def roll_back(self) -> RollBack:
        """Put every file back that the run wrote. A second call finds nothing left to do."""
        if not self._run.state.status.is_unfinished:
            return RollBack(self.run_id, (), self._run.state.conflicts(self._run.path))
        with explained("The roll back cannot be finished; the next selfdebug command tries again"):
            result = end_restored(self._project, self._run, RunStatus.ROLLED_BACK, by_recovery=False)
        self._on_disk.clear()
        return result

    def keep(self, message: str) -> Kept:
        """End the run with what it wrote, so that it can be undone later."""
        self._refuse_ended()
        state = self._run.state
        changed = [file for file in state.planned if self._on_disk[file] != state.saved[file].sha]
        with explained("The patch cannot be recorded"):
            self._sync_folders_of(changed)
            for file in changed:
                self._run.prepare(Final(file, self._on_disk[file] or ""))
            self._run.end(Ended(RunStatus.KEPT.value, time.time(), message, False))
        copies = tuple(self._place_of(state.saved[file]) for file in changed if state.saved[file].copy)
        return Kept(self.run_id, tuple(changed), copies)

    def _sync_folders_of(self, files: Sequence[str]) -> None:
        located = {place.file.rpartition("/")[0]: place for place in map(self._project.locate, files)}
        for place in located.values():
            with folder_of(self._project.root, place) as folder:
                folder.sync()

    def stash(self, files: Mapping[str, bytes], message: str) -> tuple[str, ...]:
        """Put an attempt where it can be brought back from: an entry on refs/stash, else copies beside the backups."""
        before, after = [], []
        for file, data in files.items():
            place = self._project.locate(file)
            saved = self._run.state.saved.get(place.file)
            old = self._git_file(saved, self._bytes_before(saved)) if saved else self._git_file_on_disk(file)
            before.append(old)
            after.append(GitFile(place.file, data, old.is_executable))
        entry = self._stashed(before, after, message)
        rest = [file for file in after if entry is None or file.file in entry.left_out]
        copies = [self._project.backups.save(_name(file.file), file.data or b"", "attempt") for file in rest]
        with explained("The attempt cannot be recorded"):
            self._run.note(Stashed(entry.commit if entry else copies[0]))
        return (*([entry.place] if entry else []), *copies)

    def _stashed(self, before: Sequence[GitFile], after: Sequence[GitFile], message: str) -> StashEntry | None:
        try:
            return self._project.git().stash(before, after, message)
        except GitRefusedError as error:
            self.git_refusal = str(error)
            return None

    # ------------------------------------------------------------ small things

    def _place_of(self, saved: Saved) -> str:
        return self._run.state.place_of(saved, self._run.path)

    def _bytes_before(self, saved: Saved) -> bytes | None:
        return self._run.saved_bytes(saved.copy, saved.sha) if saved.copy and saved.sha else None

    @staticmethod
    def _git_file(saved: Saved, data: bytes | None) -> GitFile:
        return GitFile(saved.file, data, bool(saved.mode & stat.S_IXUSR))

    def _git_file_on_disk(self, file: str) -> GitFile:
        place, content = self._project.read(file)
        return GitFile(place.file, content.data, bool(content.traits.mode & stat.S_IXUSR))

    def _refuse_ended(self) -> None:
        if self._run.state.status is not RunStatus.OPEN:
            raise WorkspaceError(f"Run {self.run_id} has ended; its files are not edited any more.")


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _refuse_read_only(file: str, folder: Folder, name: str) -> None:
    """Asks the system, not the mode: a superuser may write what an ordinary user may not."""
    if folder.stat(name) is not None and not folder.is_writable(name):
        raise ReadOnlyError(f"{shown(file)} is read-only, so it is not edited.")
