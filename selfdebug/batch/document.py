"""A batch as one JSON document, and back: what `batch --json` writes, `merge` reads and an interrupted batch leaves.

Patches are in it twice: as a diff to read, and as edits of bytes (base64) against files whose content is there, too,
so that the reports of many machines can be merged without a checkout.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from codemods.selfdebug.base import Edit
from selfdebug.batch.records import (
    BatchResult,
    Check,
    FileChange,
    Job,
    JobResult,
    JobState,
    ProjectResult,
    Shard,
)
from selfdebug.errors import InputError
from selfdebug.reports.evidence import readable_diff

SCHEMA_VERSION = 1
Originals = Mapping[tuple[str, str], bytes]
"""The content that edits refer to, by project and file."""


def document(batch: BatchResult, originals: Originals) -> dict[str, Any]:
    """The whole batch as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exit_code": batch.exit_code,
        "exit_reason": batch.exit_reason,
        "message": batch.sentence,
        "seconds": round(batch.seconds, 3),
        "shard": None if batch.shard is None else {"index": batch.shard.index, "count": batch.shard.count},
        "planned": list(batch.planned),
        "jobs": [job_document(result) for result in batch.results],
        "projects": [_project(project) for project in batch.projects],
        "originals": packed_originals(originals),
        "warnings": list(batch.warnings),
    }


def packed_originals(originals: Originals) -> list[dict[str, str]]:
    """Contents as a document carries them."""
    return [
        {"project": project, "file": file, "content": base64.b64encode(zlib.compress(data)).decode("ascii")}
        for (project, file), data in sorted(originals.items())
    ]


def job_document(result: JobResult) -> dict[str, Any]:
    """One job and what came of it."""
    return {
        "id": result.job.id,
        "project": result.job.project,
        "node_ids": list(result.job.node_ids),
        "cause": result.job.cause,
        "state": result.state.value,
        "message": result.sentence,
        "seconds": round(result.seconds, 3),
        "tries": result.tries,
        "changes": [_change(change) for change in result.changes],
        "still_failing": list(result.still_failing),
        "report": result.report,
    }


def _change(change: FileChange) -> dict[str, Any]:
    edits = [
        {"start": edit.start, "end": edit.end, "replacement": base64.b64encode(edit.replacement).decode("ascii")}
        for edit in change.edits
    ]
    return {"file": change.file, "sha256": change.sha256, "edits": edits}


def _project(project: ProjectResult) -> dict[str, Any]:
    return {
        "project": project.project,
        "files": [each.file for each in project.files],
        "diff": readable_diff(project.files),
        "overlaps": [asdict(overlap) for overlap in project.overlaps],
        "check": None if project.check is None else _check(project.check),
        "applied": project.applied or None,
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "sound": check.is_sound,
        "message": check.sentence,
        "broken": list(check.broken),
        "still_failing": list(check.still_failing),
    }


# ---------------------------------------------------------------- reading


def read(path: Path) -> tuple[BatchResult, Originals]:
    """The batch of a file; its projects are left out, since they are combined anew.

    Raises InputError where the file cannot be read or holds something else.
    """
    try:
        data = json.loads(path.read_bytes())
        return _batch(data)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, zlib.error) as error:
        raise InputError(f"{path} is no report of selfdebug batch --json.") from error


def _batch(data: Mapping[str, Any]) -> tuple[BatchResult, Originals]:
    if data["schema_version"] != SCHEMA_VERSION:
        raise ValueError
    shard = Shard(int(data["shard"]["index"]), int(data["shard"]["count"])) if data["shard"] is not None else None
    batch = BatchResult(
        exit_code=int(data["exit_code"]),
        exit_reason=str(data["exit_reason"]),
        sentence=str(data["message"]),
        planned=_texts(data["planned"]),
        results=tuple(map(job_result, data["jobs"])),
        projects=(),
        shard=shard,
        warnings=_texts(data["warnings"]),
        seconds=float(data["seconds"]),
    )
    return batch, read_originals(data["originals"])


def job_result(data: Mapping[str, Any]) -> JobResult:
    """What `job_document` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return JobResult(
        job=Job(str(data["id"]), str(data["project"]), _texts(data["node_ids"]), str(data["cause"])),
        state=JobState(data["state"]),
        sentence=str(data["message"]),
        seconds=float(data["seconds"]),
        tries=int(data["tries"]),
        changes=tuple(map(_file_change, data["changes"])),
        still_failing=_texts(data["still_failing"]),
        report=data["report"],
    )


def _file_change(data: Mapping[str, Any]) -> FileChange:
    edits = tuple(
        Edit(int(edit["start"]), int(edit["end"]), base64.b64decode(edit["replacement"], validate=True))
        for edit in data["edits"]
    )
    return FileChange(str(data["file"]), str(data["sha256"]), edits)


def read_originals(data: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], bytes]:
    """The contents that a document carries."""
    return {(str(each["project"]), str(each["file"])): _unpacked(each["content"]) for each in data}


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text, validate=True))
