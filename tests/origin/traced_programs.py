"""Small programs that fail, run by a real pytest under a trace, and their chains as short lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

from codemods.selfdebug.source import Source
from selfdebug.model import Link, PytestRun
from selfdebug.pytest_process import Interpreter, run_pytest
from selfdebug.stages.locate import Unlocated, locate
from selfdebug.stages.origin import chain_of_fault

TEST = """
import app


def test_it():
    app.main()
"""


def write(root: Path, name: str, text: str) -> None:
    """Write a file of the project."""
    (root / name).write_text(dedent(text).lstrip("\n"), encoding="utf-8")


def chains(root: Path, run: PytestRun) -> dict[str, Sequence[Link]]:
    """The chain of the faulty value of each failing test, by node id."""
    found: dict[str, Sequence[Link]] = {}
    for failure in run.failures:
        frame = failure.crash.deepest
        assert failure.node_id is not None
        assert frame is not None
        assert frame.file is not None
        location = locate(frame, failure.crash.exception, source(root, frame.file))
        assert not isinstance(location, Unlocated), location
        trace = run.trace_of(failure.node_id)
        assert trace is not None, run.output
        assert trace.gap == ""
        found[failure.node_id] = chain_of_fault(location, trace, lambda file: source(root, file))
    return found


def follow(root: Path, app: str, test: str = TEST, **others: str) -> Sequence[Link]:
    """Write `app.py`, `test_app.py` and other files, run the test, and give the chain of the faulty value."""
    for name, text in {"app": app, "test_app": test, **others}.items():
        write(root, f"{name}.py", text)
    (links,) = chains(root, traced(root)).values()
    return links


def traced(root: Path) -> PytestRun:
    """Run the tests of a folder under a trace, with another interpreter where the environment names one."""
    python = os.environ.get("SELFDEBUG_TRACED_PYTHON")
    return run_pytest(Interpreter.find(Path(python) if python else None), root, trace=True)


def source(root: Path, file: str) -> Source:
    """A parsed file."""
    return Source.parse((root / file).read_bytes())


def short(links: Sequence[Link]) -> list[str]:
    """Each link as `file:line kind`, with a question mark where it is inferred."""
    return [
        f"{link.file.removesuffix('.py')}:{link.line} {link.kind}{'?' * (link.evidence == 'inferred')}"
        for link in links
    ]
