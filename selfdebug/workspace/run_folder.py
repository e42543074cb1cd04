"""The folder of one run on disk: its journal, and the saved copies that a roll back is made from."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence

from selfdebug.errors import UsageError
from selfdebug.workspace.backups import short_name
from selfdebug.workspace.closed import add_closed
from selfdebug.workspace.folder import Content, End, Folder
from selfdebug.workspace.journal import Ended, Planned, Record, RunState, Saved, encode, fold
from selfdebug.workspace.run_ids import is_run_id

RUNS_NAME = "runs"
_JOURNAL_NAME = "journal.jsonl"
_COPY_NAME = re.compile(r"[0-9]+-[^/\0]+")


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def checked_run_id(run_id: str) -> str:
    """The id itself. Raises UsageError where it could not be a file and a git reference."""
    if not is_run_id(run_id):
        raise UsageError(f"{run_id!a} is no run id: letters, digits, - and _ only.")
    return run_id


class RunFolder:
    """An open run folder and what its journal says so far; `unsynced` are folders above it that got a new name.

    `above` is the state folder, which lists the runs that are over.
    """

    def __init__(self, folder: Folder, above: Folder, unsynced: Sequence[Folder] = ()) -> None:
        self._folder = folder
        self._above = above
        self._unsynced = list(unsynced)
        self._journal: End | None = None
        self.state = RunState()
        if folder.stat(_JOURNAL_NAME) is not None:
            self.state = fold(folder.read(_JOURNAL_NAME).data.splitlines())

    @property
    def path(self) -> str:
        """Where the folder is, as text for a person."""
        return self._folder.place

    @property
    def run_id(self) -> str:
        """The id of the run, which is the name of the folder, whatever the journal says."""
        return self._folder.name

    @property
    def folder(self) -> Folder:
        """The open folder, which also holds the files that are taken back whole."""
        return self._folder

    def prepare(self, record: Record) -> None:
        """Append to the journal; durable with the next `note`, which has to come before anything is edited."""
        self._opened_journal().append(encode(record))
        self.state.add(record)

    def note(self, record: Record) -> None:
        """Append to the journal; it is durable with all that was prepared and saved when this returns."""
        self.prepare(record)
        self._opened_journal().sync()
        for folder in dict.fromkeys(self._unsynced):
            folder.sync()
        self._unsynced.clear()

    def end(self, record: Ended) -> None:
        """Append the end to the journal, durably, and then list the run as over."""
        self.note(record)
        with contextlib.suppress(OSError):  # whoever does not find it in the list reads the journal
            add_closed(self._above, {self.run_id: self.state.started})

    def _opened_journal(self) -> End:
        if self._journal is None:
            if self._folder.stat(_JOURNAL_NAME) is None:
                self._unsynced.insert(0, self._folder)
            self._journal = self._folder.open_end(_JOURNAL_NAME)
        return self._journal

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def save(self, stem: str, data: bytes, label: str = "bak") -> str:
        """Keep a copy, durable with the next `note`; returns its name in the folder.

        One that a killed process left there is not trusted.
        """
        copy = f"{stem}.{label}"
        self._folder.remove(copy)
        self._folder.create(copy, data)
        self._unsynced.insert(0, self._folder)
        return copy

    def announce_overwriting(self, saved: Saved, current: bytes, data: bytes) -> None:
        """Note that bytes are about to be written over others in place, and keep both.

        Should the write be cut, the file holds the start of the one and the rest of the other, which recovery can
        tell from a change by someone else only if it has both.
        """
        for text in (current, data):
            number = len(self.state.planned.get(saved.file, ()))
            copy = self.save(self.stem_of(saved), text, f"{number}.part")
            self.note(Planned(saved.file, digest(text), copy))

    def saved_bytes(self, copy: str, sha: str) -> bytes | None:
        """The bytes of a copy, or None where it is gone or not what was saved."""
        if not _COPY_NAME.fullmatch(copy):
            return None
        try:
            data = self._folder.read(copy).data
        except OSError:
            return None
        return data if digest(data) == sha else None

    def inode_of(self, saved: Saved) -> str:
        """The name under which the replaced file is held."""
        return f"{saved.number}-held"

    def stem_of(self, saved: Saved) -> str:
        """The start of the names of a file's copies."""
        return f"{saved.number}-{short_name(saved.file.rpartition('/')[2])}"

    def keep_inode(self, saved: Saved, parent: Folder, name: str, current: Content) -> None:
        """Hold on to the very file that an edit is about to replace, where the file system lets us.

        Putting that one back keeps hard links, owner and attributes, and needs no space on a full disk.
        """
        if digest(current.data) != saved.sha or self._folder.stat(self.inode_of(saved)) is not None:
            return
        try:
            parent.link(name, self._folder, self.inode_of(saved))
        except OSError:
            return  # another file system, or one without links: the copy is put back instead

    def is_inode_intact(self, saved: Saved) -> bool:
        """Whether the replaced file is still held and nobody changed it under another name."""
        if self._folder.stat(self.inode_of(saved)) is None:
            return False
        held = self._folder.read(self.inode_of(saved))
        return digest(held.data) == saved.sha and (held.traits.mode, held.mtime_ns) == (saved.mode, saved.mtime_ns)

    def let_inodes_go(self) -> None:
        """Drop the held files, so that the user's ones have their one name again."""
        for saved in self.state.saved.values():
            self._folder.remove(self.inode_of(saved))

    def clear(self) -> None:
        """Remove what the folder holds, its journal last."""
        names = sorted(self._folder.names(), key=lambda name: name == _JOURNAL_NAME)
        for name in names:
            self._folder.remove(name)


@contextlib.contextmanager
def opened_run(state: Folder, run_id: str, *, create: bool = False) -> Iterator[RunFolder]:
    """Open the folder of a run. Raises OSError where it is absent or not a plain folder."""
    with state.enter(RUNS_NAME, create=create) as runs:
        is_new = create and runs.make(run_id)
        unsynced = [runs] if is_new else []
        with runs.enter(run_id) as folder, contextlib.closing(RunFolder(folder, state, unsynced)) as run:
            yield run


def run_ids(state: Folder) -> set[str]:
    """The ids of all runs that have a folder."""
    if state.stat(RUNS_NAME) is None:
        return set()
    with state.enter(RUNS_NAME) as runs:
        return set(filter(is_run_id, runs.names()))
