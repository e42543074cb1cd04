"""Captured text -> failures. Three steps that know nothing of each other's insides:

`normalise` makes lines of bytes (encoding, prefixes, damage), `forms` recognise what runners and interpreters print,
`assembly` resolves paths, puts the failures in order and keeps each once.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from selfdebug.model import Failure
from selfdebug.paths import ProjectPaths
from selfdebug.stages.failures.assembly import assemble
from selfdebug.stages.failures.node_ids import node_ids_to_run
from selfdebug.stages.failures.normalise import plain_lines, without_prefixes
from selfdebug.stages.failures.recognise import best_reading, likely_repairs, recognise, repaired

__all__ = ["FailureLog", "node_ids_to_run", "read_log", "read_log_stream"]

SAMPLE_LINES = 20_000


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
    """The failures in a log that is read block by block, with memory that does not grow with its length.

    Damage is looked for in the first lines only; repairing the order of lines needs the whole log in memory, so a log
    that is longer than these is not reversed.
    """
    lines = plain_lines(file)
    sample = list(islice(lines, SAMPLE_LINES))
    if len(sample) < SAMPLE_LINES:
        findings, _ = best_reading(sample)
    else:
        repairs = likely_repairs(sample)
        whole = repaired(chain(sample, lines), repairs)
        findings = recognise(without_prefixes(whole, repaired(sample, repairs)))
    failures = assemble(findings, ProjectPaths(root, log_root))
    return FailureLog(failures, tuple(findings.notes))
