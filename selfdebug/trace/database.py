"""The file of the store: its tables and their versions, opening it, and what goes wrong with it in one sentence."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdebug.errors import SelfdebugError, WorkspaceError
from selfdebug.workspace.state import made

FILE_NAME = "trace.sqlite3"
SCHEMA_VERSION = 2
MIGRATIONS = {
    1: """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, session TEXT, shelf TEXT NOT NULL, project TEXT NOT NULL, status TEXT,
        started REAL NOT NULL, ended REAL, dropped INTEGER NOT NULL DEFAULT 0, left_out TEXT NOT NULL DEFAULT '[]',
        version TEXT NOT NULL DEFAULT '', imported INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL
    );
    CREATE INDEX runs_by_owner ON runs (shelf, session, used);
    CREATE INDEX runs_by_use ON runs (used);
    CREATE TABLE events (
        run TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
    CREATE TABLE inner_runs (
        run TEXT NOT NULL, call TEXT NOT NULL, seq INTEGER NOT NULL, is_trial INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (run, call)
    );
    """,
    2: "CREATE TABLE reports (run TEXT PRIMARY KEY, data BLOB NOT NULL)",
}
"""What brings a store to each version from the one before."""


class TraceStoreError(SelfdebugError):
    """The store cannot be opened, read or written; the sentence says why."""

    reason = "trace-store"

    def __init__(self, message: str, is_damage: bool = False) -> None:
        super().__init__(message)
        self.is_damage = is_damage


def connect(folder: Path, root: Path) -> sqlite3.Connection:
    """Open the file for writing, made or migrated where needed. Raises TraceStoreError, sqlite3.Error."""
    _make_folder(folder, root)
    db = sqlite3.connect(folder / FILE_NAME, isolation_level=None, timeout=5, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        _migrate(db, folder)
    except (sqlite3.Error, TraceStoreError):
        db.close()
        raise
    return db


def connect_read_only(file: Path) -> sqlite3.Connection:
    """Open the file for asking only. Raises sqlite3.Error.

    Without write access to the folder SQLite cannot share a WAL, so the last resort takes the file as unchanging.
    """
    for mode in ("mode=ro", "immutable=1"):
        db = sqlite3.connect(f"{file.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
        try:
            db.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            db.close()
        else:
            return db
    raise sqlite3.OperationalError("unable to open database file")


def set_aside(folder: Path) -> Path | None:
    """Rename a store that is no database any more, so that a new one can be made; returns its new name."""
    file = folder / FILE_NAME
    aside = folder / f"trace.damaged-{int(time.time())}.sqlite3"
    try:
        file.rename(aside)
        for suffix in ("-wal", "-shm"):
            file.with_name(FILE_NAME + suffix).unlink(missing_ok=True)
    except OSError:
        return None
    return aside


def _make_folder(folder: Path, root: Path) -> None:
    """Make and mark the state folder."""
    try:
        with made(root, folder):
            pass
    except WorkspaceError as error:
        raise TraceStoreError(f"The trace cannot be kept: {error}") from error


def _migrate(db: sqlite3.Connection, folder: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise TraceStoreError(
            f"The trace in {folder} was written by a newer selfdebug (version {version} of the store); please update."
        )
    for target in range(version + 1, SCHEMA_VERSION + 1):
        # Under one lock, and asked again inside it: two first runs at once must not both make the tables.
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] < target:
            for statement in MIGRATIONS[target].split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {target}")
        db.execute("COMMIT")


@contextmanager
def as_store_errors(folder: Path) -> Iterator[None]:
    """Turn what SQLite raises in the block into TraceStoreError, which says whether the file is damaged."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_damage = code is not None and code & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
        raise TraceStoreError(f"The trace in {folder} cannot be used: {error}.", is_damage) from error
