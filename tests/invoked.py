"""Calling the command line, in this process or as one of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest import mock

from selfdebug.cli import invoke

_ITSELF = """
import os, runpy
for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
    os.environ.pop(name, None)
runpy.run_module("selfdebug", run_name="__main__", alter_sys=True)
"""
"""`python -m selfdebug`, which coverage measures without measuring each pytest that it starts."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


def selfdebug(
    *arguments: str, cwd: Path | None = None, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> Done:
    """Call the command line in this process, with streams of its own."""
    written, said = BytesIO(), BytesIO()
    out, err = TextIOWrapper(written, encoding="utf-8"), TextIOWrapper(said, encoding="utf-8")
    with (
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, environ or {}),
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = invoke(list(arguments))
        for stream in (out, err):
            stream.flush()
    return Done(code, written.getvalue(), said.getvalue())


def command(*arguments: str) -> list[str]:
    """What starts the command line as a process of its own."""
    return [sys.executable, "-c", _ITSELF, *arguments]


def process(
    *arguments: str, cwd: Path | None = None, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> Done:
    """Run the command line as a process of its own."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **(environ or {})},
    )
    return Done(done.returncode, done.stdout, done.stderr)
