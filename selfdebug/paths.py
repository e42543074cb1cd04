"""Which paths belong to the project: files on this disk, and paths that a log of any machine or system writes.

A path in a log is text and untrusted: it is compared, never opened. `ProjectPaths` turns such text into a file name
relative to the root; `inside` is the check on the disk that must come before anything is read or written.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE_SUFFIXES = (".py", ".pyw", ".pyx", ".pxd", ".pyi")
MAX_INDEXED = 200_000

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_LONG_PATH = re.compile(r"\\\\[?.]\\(?:UNC\\)?")
_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:/Users/[^/]+)(?=/|$)")
_LIBRARY = re.compile(r"(?:python|pypy)\d+(?:\.\d+)?t?$", re.IGNORECASE)
_INSTALLED = frozenset(
    [
        "site-packages",
        "dist-packages",
        ".venv",
        ".tox",
        ".nox",
        ".eggs",
        "__pypackages__",
        "node_modules",
        ".pixi",
        ".direnv",
    ]
)
_ENVIRONMENTS = frozenset(["venv", "env", "virtualenv", ".env", ".virtualenv"])
_ENVIRONMENT_PARTS = frozenset(["lib", "lib64", "bin", "scripts", "include"])
_ARCHIVES = (".egg", ".zip", ".whl", ".pex", ".pyz")
_UNINDEXED = frozenset(
    [".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".selfdebug"]
)
_TEST_FOLDERS = frozenset(["test", "tests"])
_TEST_FILES = frozenset(["conftest.py", "tests.py", "test.py"])


def is_generated(path: str) -> bool:
    """Whether the name stands for no file: `<string>`, `<frozen runpy>`, `<doctest a[0]>`, a notebook cell."""
    return path.startswith(("<", "Cell In", "Input In", "In ["))


def is_installed(path: str) -> bool:
    """Whether a path runs through a virtual environment, an installed package, an archive or the standard library."""
    parts = path.replace("\\", "/").split("/")
    for index, part in enumerate(parts):
        name = part.lower()
        if name in _INSTALLED or (index < len(parts) - 1 and name.endswith(_ARCHIVES)):
            return True
        following = parts[index + 1].lower() if index + 1 < len(parts) else ""
        if name in _ENVIRONMENTS and following in _ENVIRONMENT_PARTS:
            return True
        if name in ("lib", "lib64") and _LIBRARY.match(following):
            return True
    return False


def is_source(path: str) -> bool:
    """Whether the file is Python (or Cython) source by its name; templates and documents are not."""
    return path.lower().endswith(SOURCE_SUFFIXES)


def is_test_file(relative: str) -> bool:
    """Whether a file, named relative to the root, belongs to the tests: by its own name or by a `tests` folder."""
    *folders, name = relative.replace("\\", "/").split("/")
    return (
        name in _TEST_FILES
        or (name.startswith("test_") and name.endswith(".py"))
        or name.endswith("_test.py")
        or any(folder in _TEST_FOLDERS for folder in folders)
    )


def module_name(file: str) -> str:
    """The dotted name of a project file, whose packages may lie below `src` or `lib`; empty where it has none."""
    parts = file.removesuffix(".py").split("/")
    parts = parts[1:] if parts[0] in ("src", "lib") else parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else ""


def repository_root(folder: Path) -> Path | None:
    """The nearest folder upwards that git keeps, links followed; None where there is none."""
    folder = folder.resolve()
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def inside(root: Path, relative: str) -> Path | None:
    """The real file that `relative` names below `root`; None when it is missing or, links followed, lies outside."""
    try:
        real_root = root.resolve(strict=True)
        real = (real_root / relative).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return real if real.is_relative_to(real_root) and real.is_file() else None


def is_in_environment(root: Path, relative: str) -> bool:
    """Whether the file below `root` lies in a virtual environment, whatever its folder is called."""
    if is_installed(relative):
        return True
    folder = root
    for part in relative.split("/")[:-1]:
        folder = folder / part
        if (folder / "pyvenv.cfg").is_file():
            return True
    return False


def posix(path: str) -> str:
    """A path of any system with forward slashes and without `.` and, where they can be resolved, `..` components.

    A UNC path keeps two slashes in front; `file://` and the long-path marks of Windows are removed.
    """
    text = path.removeprefix("file://")
    mark = _LONG_PATH.match(text)
    if mark:
        text = ("\\\\" if mark[0].endswith("UNC\\") else "") + text[mark.end() :]
    is_unc = text.startswith(("\\\\", "//")) and not text.startswith("///")
    text = text.replace("\\", "/")
    lead = "//" if is_unc else "/" if text.startswith("/") else ""
    kept: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and kept and kept[-1] != ".." and not kept[-1].endswith(":") and kept[-1] != "~":
            kept.pop()
        elif part != ".." or not lead:
            kept.append(part)
    return lead + "/".join(kept)


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on any system; a home-relative one counts as absolute."""
    return path.startswith(("/", "\\", "~/", "~\\")) or path == "~" or bool(_DRIVE.match(path))


def _key(path: str) -> str:
    """For comparing: without regard to case where the system has none."""
    return path.casefold() if _DRIVE.match(path) or path.startswith("//") else path


def below(root: str, path: str) -> str | None:
    """What `path` is relative to `root`, both absolute and in the form of `posix`; None when it lies elsewhere.

    `~` stands for any home folder.
    """
    if root.startswith("~") != path.startswith("~"):
        root, path = _home_relative(root), _home_relative(path)
    start = root.rstrip("/") + "/"
    if _key(path).startswith(_key(start)):
        return path[len(start) :]
    return None


def _home_relative(path: str) -> str:
    match = _HOME.match(path)
    return "~" + path[match.end() :] if match else path


@dataclass(frozen=True, slots=True)
class RootGuess:
    """What matching path ends found: the root as the log writes it, or the candidates that fit equally well."""

    log_root: str | None
    candidates: tuple[str, ...] = ()

    @property
    def sentence(self) -> str | None:
        """What a person should know about the guess."""
        if self.log_root is None and len(self.candidates) > 1:
            named = ", ".join(self.candidates[:4])
            return f"The log fits the files here under several roots ({named}); name the right one with --log-root."
        return None


class ProjectPaths:
    """Maps paths as a log writes them to files of the project, relative and with POSIX slashes.

    With `log_root` the mapping is by text alone, so it works for a log of another machine. Without it paths below
    `root` are taken as they are, and others by `guess`.
    """

    def __init__(self, root: Path | None, log_root: str | None = None) -> None:
        self.root = root
        self._given = posix(log_root) if log_root else None
        self._log_root = self._given

    @property
    def log_root(self) -> str | None:
        """The root as the log writes it, when it is known."""
        return self._log_root

    def is_foreign(self, folder: str) -> bool:
        """Whether an absolute folder, as the log writes it, neither contains the root nor lies below it."""
        text, root = posix(folder), self._log_root
        if root is None or not is_absolute(text) or not is_absolute(root) or _key(text) == _key(root):
            return False
        return below(root, text) is None and below(text, root) is None

    def guess(self, paths: Iterable[str], rootdirs: Iterable[str] = ()) -> RootGuess:
        """Find the log's root from the paths in it, unless it was given; later calls of `relative` use it."""
        if self._given is not None:
            return RootGuess(self._given)
        absolute = {text for text in map(posix, paths) if is_absolute(text) and not is_installed(text)}
        if self.root is None:
            known = [posix(text) for text in rootdirs if is_absolute(text)]
            self._log_root = known[0] if known else None
            return RootGuess(self._log_root)
        local = posix(str(self.root))
        if any(below(local, path) is not None for path in absolute):
            self._log_root = local
            return RootGuess(local)
        guess = self._by_path_ends(absolute, [posix(text) for text in rootdirs])
        self._log_root = guess.log_root
        return guess

    def relative(self, path: str, bases: Iterable[str] = ()) -> str | None:
        """The project file that `path` names, or None: outside the root, installed, generated, or not source.

        A relative path is tried below each of `bases` (absolute folders as the log writes them), then below the root.
        """
        if is_generated(path) or not is_source(path) or "\0" in path:
            return None
        text = posix(path)
        for candidate in self._absolute(text, bases):
            found = self._in_project(candidate)
            if found:
                return found
        return None

    def _absolute(self, text: str, bases: Iterable[str]) -> Iterator[str]:
        if is_absolute(text):
            yield text
            return
        roots = [root for root in (self._log_root, posix(str(self.root)) if self.root else None) if root]
        for base in [*(posix(base) for base in bases), *roots]:
            yield posix(f"{base}/{text}")
        if not roots:
            yield text

    def _in_project(self, text: str) -> str | None:
        if self._log_root is None and not is_absolute(text):
            relative: str | None = None if text.startswith("..") else text
        else:
            relative = self._below_any_root(text)
        if not relative or is_installed(relative) or relative.startswith("../"):
            return None
        if self._is_local and self.root and is_in_environment(self.root, relative):
            return None
        return relative

    @property
    def _is_local(self) -> bool:
        return self.root is not None and self._log_root == posix(str(self.root))

    def _below_any_root(self, text: str) -> str | None:
        for root in (self._log_root, posix(str(self.root)) if self.root and self._given is None else None):
            found = below(root, text) if root else None
            if found:
                return found
        return None

    def _by_path_ends(self, paths: set[str], rootdirs: list[str]) -> RootGuess:
        """Let each path vote for the roots under which it would be a file of the project here."""
        votes: Counter[str] = Counter()
        for path in sorted(paths):
            votes.update(set(self._implied_roots(path)))
        if not votes:
            return RootGuess(next((root for root in rootdirs if root), None) if not paths else None)
        most = max(votes.values())
        best = sorted(root for root, count in votes.items() if count == most)
        if len(best) > 1:
            best = [root for root in best if root in rootdirs] or best
        return RootGuess(best[0]) if len(best) == 1 else RootGuess(None, tuple(best))

    def _implied_roots(self, path: str) -> Iterator[str]:
        parts = path.split("/")
        for known in self._files_by_name.get(_key(parts[-1]), ()):
            wanted = known.split("/")
            if len(wanted) < len(parts) and parts[-len(wanted) :] == wanted:
                yield "/".join(parts[: -len(wanted)]) or "/"

    @cached_property
    def _files_by_name(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for number, relative in enumerate(source_files(self.root) if self.root else ()):
            if number >= MAX_INDEXED:
                break
            index.setdefault(relative.rsplit("/", 1)[-1], []).append(relative)
        return index


def source_files(root: Path) -> Iterator[str]:
    """The Python files below `root`, relative and with POSIX slashes, without environments and version control."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not _is_foreign_folder(Path(folder, name)))
        for name in sorted(files):
            if is_source(name):
                yield Path(folder, name).relative_to(root).as_posix()


def _is_foreign_folder(folder: Path) -> bool:
    return is_cache_folder(folder.name) or is_environment_folder(folder)


def is_cache_folder(name: str) -> bool:
    """Whether a folder of that name holds nothing but what version control or a tool keeps for itself."""
    return name in _UNINDEXED


def is_environment_folder(folder: Path) -> bool:
    """Whether a folder holds installed packages, by its name or because it is a virtual environment."""
    return folder.name.lower() in _INSTALLED or (folder / "pyvenv.cfg").is_file()
