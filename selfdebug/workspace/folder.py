"""Files as they are read and changed on disk: relative to an open folder, never through a link, synced in order.

Every name is looked up in a folder that is already open, and no component may be a symbolic link. A link that is put
in the way between a check and an edit therefore ends in an error, not in a file outside the project.
Orders of writing follow Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014): the data is synced before
the rename that publishes it, and the folder after it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from selfdebug.workspace.durable import announce

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CHUNK, _SMALLEST_CHUNK = 1 << 20, 1 << 12
# What a file system says that cannot create or rename here, though it may let a file be written:
# a folder without write permission, a file that is itself a mount point, a share without rename-over.
_NO_REPLACING = frozenset(
    {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.ENOSYS, errno.ENOTSUP, errno.EMLINK}
)


@dataclass(frozen=True, slots=True)
class Traits:
    """What a file is besides its bytes; `mtime_ns` None means "now"."""

    mode: int
    uid: int
    gid: int
    mtime_ns: int | None = None
    xattrs: tuple[tuple[str, bytes], ...] = ()

    def with_times(self, mode: int, mtime_ns: int) -> Traits:
        """The same owner and attributes with another mode and time."""
        return replace(self, mode=mode, mtime_ns=mtime_ns)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a regular file and what it is besides them."""

    data: bytes
    traits: Traits
    mtime_ns: int
    identity: tuple[int, ...]


class CannotReplaceError(OSError):
    """The file system lets no file be put in the place of another here; nothing was changed."""


class Folder:
    """An open folder. Usable as a context manager; raises OSError as the system does."""

    def __init__(self, fd: int, place: str) -> None:
        self._fd = fd
        self._place = place

    @classmethod
    def open(cls, path: Path | str) -> Folder:
        """Open a folder by its path; the path itself may lead through links."""
        return cls(os.open(path, _FOLDER_FLAGS), os.fspath(path))

    @property
    def place(self) -> str:
        """Where it was when it was opened."""
        return self._place

    @property
    def name(self) -> str:
        """The last component of its path."""
        return self._place.rpartition("/")[2]

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; its path stays usable."""
        os.close(self._fd)

    def enter(self, name: str, *, create: bool = False) -> Folder:
        """Open the folder `name` in this one, which must not be a link; `create` makes it first, durably."""
        if create and self.make(name):
            self.sync()
        return Folder(os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=self._fd), f"{self._place}/{name}")

    def make(self, name: str) -> bool:
        """Make the folder `name` where there is nothing; says whether it had to. Its name is durable after `sync`."""
        if self.stat(name) is not None:
            return False
        announce("mkdir", name)
        with contextlib.suppress(FileExistsError):  # another process made it in this moment
            os.mkdir(name, 0o777, dir_fd=self._fd)
        return True

    def names(self) -> list[str]:
        """The names in this folder, in no order."""
        with os.scandir(self._fd) as entries:
            return [entry.name for entry in entries]

    def is_writable(self, name: str) -> bool:
        """Whether this process may write the file."""
        return os.access(name, os.W_OK, dir_fd=self._fd, effective_ids=True)

    def stat(self, name: str) -> os.stat_result | None:
        """What `name` itself is, or None where there is no such entry."""
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str) -> Content:
        """Read a regular file. Raises OSError, also for a link, a pipe or a device."""
        fd = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=self._fd)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", name)
            chunk = min(status.st_size + _SMALLEST_CHUNK, _CHUNK)
            data = b"".join(iter(lambda: os.read(fd, chunk), b""))
            traits = Traits(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, None, _xattrs(fd))
            return Content(data, traits, status.st_mtime_ns, _identity(status))
        finally:
            os.close(fd)

    def is_still(self, name: str, content: Content | None) -> bool:
        """Whether `name` is the file that was read (None: absent), as far as its inode, size and time tell."""
        status = self.stat(name)
        if status is None or content is None:
            return status is None and content is None
        return _identity(status) == content.identity

    def open_lock(self, name: str) -> int:
        """Open or make a small file of our own for reading and writing; the caller closes the descriptor."""
        return os.open(name, os.O_RDWR | os.O_CREAT | _FILE_FLAGS, 0o666, dir_fd=self._fd)

    def create(self, name: str, data: bytes, traits: Traits | None = None, mode: int = 0o600) -> None:
        """Write and sync a new file. Raises FileExistsError; removes what it began when the disk refuses."""
        announce("create", name)
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, mode, dir_fd=self._fd)
        try:
            _write(fd, name, data)
            if traits is not None:
                _dress(fd, traits)
            announce("sync", name)
            os.fsync(fd)
        except BaseException:
            os.unlink(name, dir_fd=self._fd)
            raise
        finally:
            os.close(fd)

    def publish(self, name: str, data: bytes) -> None:
        """Write a new file of our own that is either whole or absent, readable as the user's umask has it."""
        with self._alone():
            self.remove(f"{name}.tmp")
            self.create(f"{name}.tmp", data, mode=0o666)
            announce("rename", name)
            os.rename(f"{name}.tmp", name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self.sync()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes of ours from publishing here; the system drops the lock with its holder."""
        with contextlib.suppress(OSError):  # a file system without locks: then the last of two wins
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def replace(
        self,
        name: str,
        data: bytes,
        traits: Traits | None,
        temporary: str,
        check: Callable[[], None],
    ) -> None:
        """Put a new file in the place of `name`; `check` is called just before and may raise to prevent it.

        Its bytes are synced before, its name is not after: until then a power cut leaves the one file or the other.
        Raises CannotReplaceError where only writing in place may work, else OSError; then `name` is unchanged.
        """
        with self._published(name, temporary, check):
            self.create(temporary, data, traits, 0o600 if traits else 0o666)

    def take_back(self, name: str, source: Folder, link: str, temporary: str, check: Callable[[], None]) -> None:
        """Put the very file that `link` in `source` still names in the place of `name`. Raises as `replace` does."""
        with self._published(name, temporary, check):
            source.link(link, self, temporary)

    @contextlib.contextmanager
    def _published(self, name: str, temporary: str, check: Callable[[], None]) -> Iterator[None]:
        try:
            self.remove(temporary)
            yield
            try:
                check()
                announce("rename", name)
                os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            except BaseException:
                self.remove(temporary)
                raise
        except OSError as error:
            if error.errno in _NO_REPLACING:
                raise CannotReplaceError(error.errno, error.strerror, name) from error
            raise

    def overwrite(self, name: str, data: bytes, traits: Traits) -> None:
        """Write into the file that is there: first the bytes, then its end, so that a cut leaves new before old."""
        announce("open", name)
        with self._writable(name, traits), contextlib.ExitStack() as stack:
            fd = os.open(name, os.O_WRONLY | _FILE_FLAGS, dir_fd=self._fd)
            stack.callback(os.close, fd)
            _write(fd, name, data)
            announce("truncate", name)
            os.ftruncate(fd, len(data))
            with contextlib.suppress(PermissionError):  # of another owner's file only the bytes are ours to set
                os.fchmod(fd, traits.mode)
                if traits.mtime_ns is not None:
                    os.utime(fd, ns=(traits.mtime_ns, traits.mtime_ns))
            announce("sync", name)
            os.fsync(fd)

    @contextlib.contextmanager
    def _writable(self, name: str, traits: Traits) -> Iterator[None]:
        # Tests may take the write permission off the file they were given; it comes back with the mode.
        status = self.stat(name)
        if status is not None and stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IWUSR:
            os.chmod(name, traits.mode | stat.S_IWUSR, dir_fd=self._fd)
        yield

    def dress(self, name: str, mode: int, mtime_ns: int) -> None:
        """Give a file mode and time, where it is ours to do so."""
        announce("dress", name)
        with contextlib.suppress(PermissionError):
            os.chmod(name, mode, dir_fd=self._fd)
            os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=self._fd, follow_symlinks=False)

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, made where it is absent; a torn last line is closed first. Nothing is synced."""
        with self.open_end(name) as end:
            end.append(data)

    def open_end(self, name: str) -> End:
        """Open the end of a file, made where it is absent."""
        fd = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FILE_FLAGS, 0o600, dir_fd=self._fd)
        size = os.fstat(fd).st_size
        return End(fd, name, is_torn=bool(size) and os.pread(fd, 1, size - 1) != b"\n")

    def sync_file(self, name: str) -> None:
        """Make the bytes of a file durable; its name is another matter."""
        fd = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=self._fd)
        try:
            announce("sync", name)
            os.fsync(fd)
        finally:
            os.close(fd)

    def link(self, name: str, target: Folder, new: str) -> None:
        """Give the file `name` a second name in another folder of the same file system."""
        announce("link", new)
        os.link(name, new, src_dir_fd=self._fd, dst_dir_fd=target._fd, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""
        if self.stat(name) is not None:
            announce("unlink", name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._fd)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        announce("rmdir", name)
        os.rmdir(name, dir_fd=self._fd)

    def sync(self) -> None:
        """Make the names in this folder durable; file systems that cannot sync a folder keep their own order."""
        announce("sync-folder", self.name)
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise


class End:
    """The open end of a file of lines. Usable as a context manager; raises OSError as the system does."""

    def __init__(self, fd: int, name: str, *, is_torn: bool) -> None:
        self._fd = fd
        self._name = name
        self._is_torn = is_torn

    def __enter__(self) -> End:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def append(self, line: bytes) -> None:
        """Add a whole line, or several; what a refused one left of itself is closed before the next."""
        torn, self._is_torn = self._is_torn, True
        _write(self._fd, self._name, b"\n" + line if torn else line)
        self._is_torn = False

    def sync(self) -> None:
        """Make all lines durable."""
        announce("sync", self._name)
        os.fsync(self._fd)


def sync_all(top: str, files: Sequence[str]) -> None:
    """Make files durable, named relative to the folder `top`, then their folders, and those above up to `top`.

    Raises OSError. A file that is gone is left out: whoever took it away has put its content elsewhere.
    """
    above: set[str] = set()
    for file in files:
        parent, _, name = file.rpartition("/")
        with contextlib.suppress(FileNotFoundError), Folder.open(f"{top}/{parent}".rstrip("/")) as folder:
            folder.sync_file(name)
            folder.sync()  # also a second time: objects share one by chance, and every run has the same steps
            above |= {parent[:at] for at, sign in enumerate(parent) if sign == "/"} | {""}
    for parent in sorted(above, key=len, reverse=True):
        with Folder.open(f"{top}/{parent}".rstrip("/")) as folder:
            folder.sync()


def _write(fd: int, name: str, data: bytes) -> None:
    announce("write", name, fd, data)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _xattrs(fd: int) -> tuple[tuple[str, bytes], ...]:
    try:
        return tuple((name, os.getxattr(fd, name)) for name in os.listxattr(fd))
    except (OSError, AttributeError):  # a file system or a platform that has none
        return ()


def _dress(fd: int, traits: Traits) -> None:
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) != (traits.uid, traits.gid):
        os.fchown(fd, traits.uid, traits.gid)
    os.fchmod(fd, traits.mode)
    for name, value in traits.xattrs:
        with contextlib.suppress(OSError):  # security attributes are the system's own to set
            os.setxattr(fd, name, value)
    if traits.mtime_ns is not None:
        os.utime(fd, ns=(traits.mtime_ns, traits.mtime_ns))
