"""Where the journal, the lock and the trace of a project live, and the folder itself.

In the project as `.selfdebug`, which ignores itself as pytest's cache does; elsewhere where the environment variable
SELFDEBUG_DIR says so; in the user's own state folder where the project cannot be written, or where nothing but dry
runs has happened so far: these write nothing into the project.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from selfdebug.errors import WorkspaceError
from selfdebug.workspace.folder import Folder

STATE_NAME = ".selfdebug"
ENVIRONMENT_NAME = "SELFDEBUG_DIR"
_MARKS = {
    ".gitignore": b"*\n",
    "CACHEDIR.TAG": (
        b"Signature: 8a477f597d28d172789f06886806bc55\n"
        b"# This folder belongs to selfdebug. See https://bford.info/cachedir/ for what this file means.\n"
    ),
}


def find_state_dir(root: Path, environ: Mapping[str, str]) -> Path:
    """Choose the state folder of a project; nothing is created."""
    chosen = environ.get(ENVIRONMENT_NAME, "")
    if chosen:
        path = Path(chosen).expanduser()
        # One absolute folder may serve many projects, so each gets its own in it.
        return path / _project_name(root) if path.is_absolute() else root / path
    inside = root / STATE_NAME
    effective = os.access in os.supports_effective_ids
    if os.access(inside if inside.is_dir() else root, os.W_OK | os.X_OK, effective_ids=effective):
        return inside
    return _apart(root, environ)


def dry_trace_dir(root: Path, environ: Mapping[str, str]) -> Path:
    """Where a dry run may record itself: in the state folder if there is one, else outside the project."""
    state = find_state_dir(root, environ)
    return _apart(root, environ) if state.is_relative_to(root) and not state.exists() else state


def find_trace_dir(root: Path, environ: Mapping[str, str]) -> Path:
    """Where to ask for past runs: the state folder, or, as long as there is none, where dry runs record themselves."""
    apart = dry_trace_dir(root, environ)
    return apart if apart.is_dir() else find_state_dir(root, environ)


def _apart(root: Path, environ: Mapping[str, str]) -> Path:
    """The folder of a project among the state of the user."""
    home = environ.get("XDG_STATE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path("~/.local/state").expanduser()
    return base / "selfdebug" / _project_name(root)


def _project_name(root: Path) -> str:
    return f"{root.name or 'root'}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


@contextmanager
def made(root: Path, state_dir: Path) -> Iterator[Folder]:
    """Open the state folder, made and marked where it is not. Raises WorkspaceError, also for a link on the way.

    Inside the project no component may be a link: a cloned repository must not choose where our files go.
    """
    with ExitStack() as stack:
        with _refusals(state_dir):
            start, names = _way(root, state_dir)
            folder = stack.enter_context(Folder.open(start))
            for name in names:
                folder = stack.enter_context(folder.enter(name, create=True))
            _mark(folder)
        yield folder


@contextmanager
def opened(root: Path, state_dir: Path) -> Iterator[Folder | None]:
    """Open the state folder for reading; None where it is not there. Raises WorkspaceError as `made` does."""
    with ExitStack() as stack:
        with _refusals(state_dir):
            start, names = _way(root, state_dir)
            folder: Folder | None = stack.enter_context(Folder.open(start))
            for name in names:
                if folder is not None:
                    folder = stack.enter_context(folder.enter(name)) if folder.stat(name) else None
        yield folder


def repair_marks(root: Path, state_dir: Path) -> None:
    """Write the marks that a killed run had no time for, so that the state folder ignores itself again."""
    with opened(root, state_dir) as folder:
        if folder is not None:
            with contextlib.suppress(OSError):  # a folder that cannot be written has no half-written marks
                _mark(folder)


def _mark(folder: Folder) -> None:
    for mark, text in _MARKS.items():
        if folder.stat(mark) is None:
            folder.publish(mark, text)


def _way(root: Path, state_dir: Path) -> tuple[Path, tuple[str, ...]]:
    if state_dir.parent == root:
        return root, (state_dir.name,)
    if state_dir.is_relative_to(root):
        return root, state_dir.relative_to(root).parts
    start = next(path for path in (state_dir, *state_dir.parents) if path.is_dir())
    return start, state_dir.relative_to(start).parts


@contextmanager
def _refusals(state_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        plain = error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EEXIST)
        cause = "it is not a plain folder" if plain else (error.strerror or "unknown error").lower()
        message = f"{state_dir} cannot be used: {cause}; repair it, or set {ENVIRONMENT_NAME} to another place."
        raise WorkspaceError(message) from error
