"""The store: runs and their events in one SQLite file (WAL) of the project's state folder.

A run is filed when it starts and becomes evidence when it ends. The run's own process holds a lock file as long as it
lives, so that a run that was killed is noticed by whoever comes next and closed as crashed, with all it had recorded.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from selfdebug.trace.database import (
    FILE_NAME,
    SCHEMA_VERSION,
    TraceStoreError,
    as_store_errors,
    connect,
    connect_read_only,
)
from selfdebug.trace.records import DamagedRecordError, Event, InnerRun, Run, RunStatus, event_kind, from_data, to_data
from selfdebug.trace.run_locks import RunLocks

__all__ = ["FILE_NAME", "Store", "TraceStoreError"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_RUN_COLUMNS = "id, session, shelf, project, status, started, ended, dropped, left_out, version, imported"


class Store:
    """One open store. All methods raise TraceStoreError when SQLite or the disk refuses.

    Not safe for use by two threads at once: the recorder guards it with a lock, queries open one of their own.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection, writable: bool) -> None:
        self.folder = folder
        self.writable = writable
        self._db = connection
        self._locks = RunLocks(folder)

    # ------------------------------------------------------------ opening

    @classmethod
    def create(cls, folder: Path, root: Path | None = None) -> Store:
        """Open the store in the state folder of the project at `root` for writing, making or migrating it.

        Raises TraceStoreError.
        """
        with as_store_errors(folder):
            db = connect(folder, root or folder.parent)
        return cls(folder, db, writable=True)

    @classmethod
    def open(cls, folder: Path) -> Store | None:
        """Open an existing store for asking, None when nothing was ever recorded here. Raises TraceStoreError."""
        file = folder / FILE_NAME
        if not file.is_file():
            return None
        try:
            return cls.create(folder)
        except TraceStoreError:
            with as_store_errors(folder):
                db = connect_read_only(file)
                version = db.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA_VERSION:
                db.close()
                raise
            return cls(folder, db, writable=False)

    def close(self) -> None:
        """Close the file and give back the locks of runs that this process had started."""
        self._locks.release_all()
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ runs

    def file_run(self, run: Run) -> None:
        """File a run that starts now, and hold its lock as long as this process lives."""
        with as_store_errors(self.folder):
            self._hold(run.id)  # before the row: whoever sees the row must see that its process lives
            self._insert_run(run)

    def _insert_run(self, run: Run) -> None:
        values = (
            run.id, run.session, run.shelf, run.project, run.status, run.started, run.ended, run.dropped,
            json.dumps(list(run.left_out)), run.version, int(run.imported),
        )  # fmt: skip
        self._db.execute(
            f"INSERT INTO runs ({_RUN_COLUMNS}, used)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?, (SELECT ifnull(max(used), 0) + 1 FROM runs))",
            values,
        )

    def end_run(self, run_id: str, status: str, ended: float) -> None:
        """Make a run evidence."""
        with as_store_errors(self.folder):
            self._db.execute("UPDATE runs SET status = ?, ended = ? WHERE id = ?", (status, ended, run_id))
        self._locks.release(run_id)

    def runs(self) -> list[Run]:
        """All runs, the least recently used first; a row that cannot be read is left out."""
        with as_store_errors(self.folder):
            rows = self._db.execute(f"SELECT {_RUN_COLUMNS} FROM runs ORDER BY used, id").fetchall()
        return [run for run in map(_run, rows) if run is not None]

    def find(self, run_id: str) -> Run | None:
        """The run of this id, whoever owns it."""
        with as_store_errors(self.folder):
            row = self._db.execute(f"SELECT {_RUN_COLUMNS} FROM runs WHERE id = ?", (run_id,)).fetchone()
        return _run(row) if row else None

    def completed(self, session: str | None, shelf: str = "session", limit: int = 1) -> list[Run]:
        """The completed runs of one owner, the one that ended last first, behind them those that only looked."""
        with as_store_errors(self.folder):
            rows = self._db.execute(
                f"SELECT {_RUN_COLUMNS} FROM runs WHERE shelf = ? AND session IS ? AND status IS NOT NULL"
                " ORDER BY status = ?, ended DESC, started DESC, id DESC LIMIT ?",
                (shelf, session, RunStatus.LOOKED, limit),
            ).fetchall()
        return [run for run in map(_run, rows) if run is not None]

    def touch(self, run_id: str) -> None:
        """Count a use of the run; a store that cannot be written just does not count it."""
        if not self.writable:
            return
        with as_store_errors(self.folder):
            newest = self._db.execute("SELECT id FROM runs ORDER BY used DESC LIMIT 1").fetchone()
            if newest != (run_id,):
                self._db.execute("UPDATE runs SET used = (SELECT max(used) + 1 FROM runs) WHERE id = ?", (run_id,))

    def delete(self, run_id: str) -> None:
        """Forget a run and all that was recorded of it."""
        with self.transaction():
            for table, column in (("events", "run"), ("inner_runs", "run"), ("reports", "run"), ("runs", "id")):
                self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (run_id,))

    def close_abandoned(self) -> list[str]:
        """Close the runs whose process is gone as crashed, and name them: what they recorded is evidence now."""
        if not self.writable:
            return []
        with as_store_errors(self.folder):
            rows = self._db.execute("SELECT id, started FROM runs WHERE status IS NULL").fetchall()
        gone = [(run_id, started) for run_id, started in rows if not self._locks.is_alive(run_id)]
        for run_id, started in gone:
            last = started
            for _, event in self.events(run_id)[0]:
                last = max(last, started + (getattr(event, "ended", None) or getattr(event, "started", 0.0)))
            self.end_run(run_id, RunStatus.CRASHED, last)
            self._locks.forget(run_id)
        return [run_id for run_id, _ in gone]

    # ------------------------------------------------------------ events

    def put(self, run_id: str, seq: int, event: Event) -> None:
        """Write an event, in place of what the run has under this number."""
        data = _encode(to_data(event))
        with as_store_errors(self.folder):
            self._db.execute(
                "INSERT OR REPLACE INTO events (run, seq, kind, data) VALUES (?,?,?,?)",
                (run_id, seq, event_kind(event), data.encode("utf-8", "backslashreplace").decode("utf-8")),
            )

    def append(self, run_id: str, event: Event) -> None:
        """Write an event after all that the run has."""
        with self.transaction():
            last = self._db.execute("SELECT max(seq) FROM events WHERE run = ?", (run_id,)).fetchone()[0]
            self.put(run_id, 0 if last is None else last + 1, event)

    def drop_oldest(self, run_id: str, keep: int) -> int:
        """Delete all but the newest `keep` events of a run; returns how many went."""
        with self.transaction():
            dropped = self._db.execute(
                "DELETE FROM events WHERE run = ? AND seq NOT IN"
                " (SELECT seq FROM events WHERE run = ? ORDER BY seq DESC LIMIT ?)",
                (run_id, run_id, keep),
            ).rowcount
            self._db.execute("UPDATE runs SET dropped = dropped + ? WHERE id = ?", (dropped, run_id))
        return dropped

    def events(self, run_id: str) -> tuple[list[tuple[int, Event]], list[str]]:
        """The events of a run in order, and a sentence for each row that cannot be read."""
        found: list[tuple[int, Event]] = []
        notes: list[str] = []
        with as_store_errors(self.folder):
            for seq, kind, data in self._db.execute(
                "SELECT seq, kind, data FROM events WHERE run = ? ORDER BY seq", (run_id,)
            ):
                try:
                    found.append((seq, from_data(kind, json.loads(data))))
                except (ValueError, TypeError, RecursionError, DamagedRecordError) as error:
                    notes.append(f"Event {seq} of the store is damaged and left out: {error}.")
        return found, notes

    def put_inner(self, run_id: str, inner: InnerRun, keep: int) -> None:
        """Keep what one start of pytest saw inside; beyond `keep` of them the oldest trial goes, then the oldest."""
        packed = _packed(inner.data)
        with self.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO inner_runs (run, call, seq, is_trial, data) VALUES (?,?,?,?,?)",
                (run_id, inner.call, inner.seq, int(inner.is_trial), packed),
            )
            self._db.execute(
                "DELETE FROM inner_runs WHERE run = ? AND call NOT IN"
                " (SELECT call FROM inner_runs WHERE run = ? ORDER BY is_trial, seq DESC LIMIT ?)",
                (run_id, run_id, keep),
            )

    def inner(self, run_id: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """The kept inner runs by call id, and a sentence for each that cannot be read."""
        kept: dict[str, dict[str, Any]] = {}
        notes: list[str] = []
        with as_store_errors(self.folder):
            for call, packed in self._db.execute(
                "SELECT call, data FROM inner_runs WHERE run = ? ORDER BY seq", (run_id,)
            ):
                try:
                    data = json.loads(zlib.decompress(packed))
                except (ValueError, TypeError, zlib.error) as error:
                    notes.append(f"The inner run of {call} is damaged and left out: {error}.")
                    continue
                if isinstance(data, dict):
                    kept[call] = data
        return kept, notes

    def put_report(self, run_id: str, document: dict[str, Any]) -> None:
        """Keep the JSON document that a run ended with."""
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO reports (run, data) VALUES (?,?)", (run_id, _packed(document)))

    def report(self, run_id: str) -> dict[str, Any] | None:
        """The JSON document that a run ended with, or None. Raises TraceStoreError where it is damaged."""
        with as_store_errors(self.folder):
            row = self._db.execute("SELECT data FROM reports WHERE run = ?", (run_id,)).fetchone()
        if row is None:
            return None
        try:
            document = json.loads(zlib.decompress(row[0]))
        except (ValueError, TypeError, zlib.error) as error:
            raise TraceStoreError(f"The report of run {run_id} is damaged ({error}).", is_damage=True) from error
        return document if isinstance(document, dict) else None

    # ------------------------------------------------------------ the file

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is done inside; may be nested."""
        with as_store_errors(self.folder):
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def import_run(self, run: Run, events: list[Event], inner: dict[str, dict[str, Any]]) -> None:
        """File a finished run from elsewhere with all its events."""
        with self.transaction():
            self._insert_run(run)
            for seq, event in enumerate(events):
                self.put(run.id, seq, event)
            for seq, (call, data) in enumerate(inner.items()):
                self.put_inner(run.id, InnerRun(call, seq, data), keep=len(inner))

    def size(self) -> int:
        """Bytes that the store's pages in use take."""
        with as_store_errors(self.folder):
            pages, free, page = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * page)

    def compact(self) -> None:
        """Give the space of deleted runs back to the disk."""
        with as_store_errors(self.folder):
            self._db.execute("VACUUM")

    def _hold(self, run_id: str) -> None:
        try:
            self._locks.hold(run_id)
        except OSError as error:
            raise TraceStoreError(f"The trace cannot be kept in {self.folder}: {error.strerror or error}.") from error


def _packed(data: dict[str, Any]) -> bytes:
    return zlib.compress(_encode(data).encode("utf-8", "backslashreplace"), 1)


def _run(row: tuple[Any, ...]) -> Run | None:
    try:
        run_id, session, shelf, project, status, started, ended, dropped, left_out, version, imported = row
        return Run(
            str(run_id), session, shelf, project, status, float(started), None if ended is None else float(ended),
            int(dropped), tuple(json.loads(left_out)), version, bool(imported),
        )  # fmt: skip
    except (ValueError, TypeError):
        return None
