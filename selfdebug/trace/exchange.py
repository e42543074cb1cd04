"""A run as one JSON file: exported here, opened elsewhere with the same queries."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from selfdebug.errors import InputError
from selfdebug.trace.owner import Owner
from selfdebug.trace.records import DamagedRecordError, Event, Run, RunStatus, event_kind, from_data, to_data
from selfdebug.trace.redaction import Redactor
from selfdebug.trace.store import Store

FORMAT = "selfdebug-trace"
FORMAT_VERSION = 1
MAX_FILE = 100_000_000
"""Bytes of a file that is read as an exported run."""


def exported(store: Store, run: Run) -> bytes:
    """The run as a JSON document. Raises TraceStoreError."""
    events, notes = store.events(run.id)
    inner, more = store.inner(run.id)
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "run": {**asdict(run), "session": None, "left_out": list(run.left_out)},  # whose it was is nobody's business
        "events": [[event_kind(event), to_data(event)] for _, event in events],
        "inner": inner,
        "notes": [*notes, *more],
        "report": store.report(run.id),
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"


def imported(store: Store, data: bytes, owner: Owner, redactor: Redactor) -> tuple[Run, int]:
    """File an exported run as the caller's; returns it and how many damaged events were left out.

    What it holds is redacted again, with the rules of this project. Raises InputError for what is no exported run, is
    of a newer version, or is here already.
    """
    document = _document(data)
    run = _run(document, owner)
    if store.find(run.id) is not None:
        raise InputError(f"The run {run.id} is here already.")
    events: list[Event] = []
    damaged = 0
    for item in document["events"]:
        try:
            kind, fields = item
            events.append(from_data(kind, _redacted(fields, redactor)))
        except (DamagedRecordError, TypeError, ValueError, IndexError, RecursionError):
            damaged += 1
    inner, lost = _inner(document.get("inner"), redactor)
    store.import_run(run, events, inner)
    if isinstance(document.get("report"), dict):
        store.put_report(run.id, redactor.data(document["report"]))
    return run, damaged + lost


def _inner(given: Any, redactor: Redactor) -> tuple[dict[str, dict[str, Any]], int]:
    """The inner runs, redacted, and how many were of no shape."""
    inner: dict[str, dict[str, Any]] = {}
    items = given.items() if isinstance(given, dict) else ()
    for call, kept in items:
        try:
            inner[call] = redactor.data(dict(kept))
        except (TypeError, ValueError, RecursionError):
            continue
    return inner, len(items) - len(inner)


def read_file(file: Path) -> bytes:
    """The bytes of an exported run. Raises InputError when it cannot be read or is too large."""
    try:
        if file.stat().st_size > MAX_FILE:
            raise InputError(f"{file} is larger than {MAX_FILE // 1_000_000} MB, which no exported run is.")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {file}: {error.strerror or error}.") from error


def _redacted(fields: Any, redactor: Redactor) -> Any:
    """The fields of an event, redacted; a write is a list whose value stands under its key."""
    clean = redactor.data(fields)
    if isinstance(fields, dict) and isinstance(fields.get("writes"), list):
        clean["writes"] = [
            [
                write[0],
                write[1],
                next(iter(redactor.data({str(write[0]).rsplit(".", 1)[-1]: write[2]}).values())),
                *write[3:],
            ]
            for write in fields["writes"]
        ]
    return clean


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This is no exported run: it is not JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("This is no exported run of selfdebug.")
    if document.get("version") != FORMAT_VERSION:
        raise InputError(f"This run was exported in version {document.get('version')!r}; known is {FORMAT_VERSION}.")
    if not isinstance(document.get("events"), list) or not isinstance(document.get("run"), dict):
        raise InputError("This exported run is incomplete.")
    return document


def _run(document: dict[str, Any], owner: Owner) -> Run:
    fields = document["run"]
    try:
        status = RunStatus(fields["status"]).value
        run = Run(
            str(fields["id"])[:100], None, "session", str(fields["project"]), status, float(fields["started"]),
            float(fields["ended"]), int(fields["dropped"]), tuple(map(str, fields["left_out"])), str(fields["version"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"This exported run cannot be used: {error}.") from error
    if not re.fullmatch(r"[\w.\-]+", run.id):  # it stands in the marks around what is data
        raise InputError(f"This exported run has no usable id: {run.id!r}.")
    return replace(run, session=owner.session, shelf=owner.shelf, imported=True)
