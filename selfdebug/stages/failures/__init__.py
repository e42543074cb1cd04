"""Captured text -> failures. Three steps that know nothing of each other's insides:

`normalise` makes lines of bytes (encoding, prefixes, damage), `forms` recognise what runners and interpreters print,
`assembly` resolves paths, puts the failures in order and keeps each once.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from selfdebug.model import Failure
from selfdebug.paths import ProjectPaths
from selfdebug.stages.failures.assembly import assemble
from selfdebug.stages.failures.normalise import normalised
from selfdebug.stages.failures.recognise import recognise

__all__ = ["FailureLog", "read_log", "read_log_stream"]


@dataclass(frozen=True, slots=True)
class FailureLog:
    """What was read out of one log: its failures in order, and sentences about what could not be decided."""

    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()


def read_log(data: bytes, root: Path | None = None, log_root: str | None = None) -> FailureLog:
    """The failures in the bytes of a log; never raises, whatever the bytes are.

    `root` is the project on this disk, `log_root` the same root as the log writes it.
    """
    return read_log_stream(io.BytesIO(data), root, log_root)


def read_log_stream(file: BinaryIO, root: Path | None = None, log_root: str | None = None) -> FailureLog:
    """The failures in a log that is read block by block, with memory that does not grow with its length."""
    findings = recognise(normalised(file))
    failures = assemble(findings, ProjectPaths(root, log_root))
    return FailureLog(failures, tuple(findings.notes))
