"""Small programs that fail, run by a real pytest under a trace, and their chains as short lines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from codemods.selfdebug.source import Source
from selfdebug.model import Link, Pass, PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
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
    """Run the tests of a folder under a trace."""
    return run_pytest(PytestRequest(interpreter(), root, trace=Pass.EVERYTHING))


def interpreter() -> Interpreter:
    """The interpreter that runs the programs: this one, unless the environment names another."""
    python = os.environ.get("SELFDEBUG_TRACED_PYTHON")
    return Interpreter.find(Path(python) if python else None)


def has_monitoring(run: PytestRun) -> bool:
    """Whether the interpreter of a run has `sys.monitoring`."""
    return tuple(map(int, run.python.split(".")[:2])) >= (3, 12)


@dataclass(frozen=True)
class Case:
    """A program with its chain; `test` is the file of its test, `settings` a module of that name, where it has one."""

    app: str
    chain: tuple[str, ...]
    test: str = TEST
    settings: str | None = None


class Table(dict[str, Case]):
    """Cases by name."""

    def case(self, name: str, app: str, *chain: str, test: str = TEST, settings: str | None = None) -> None:
        """Add one."""
        assert name not in self
        self[name] = Case(app, chain, test, settings)

    def followed(self, root: Path) -> dict[str, Sequence[Link]]:
        """The chain of each; all are run by one pytest, each in a file of its own."""
        for number, case in enumerate(self.values()):
            module, app = f"app_{number}", case.app
            if case.settings is not None:
                write(root, f"settings_{number}.py", case.settings)
                app = app.replace("settings", f"settings_{number}")
            write(root, f"{module}.py", app)
            test = case.test.replace("import app", f"import {module} as app").replace('"app.', f'"{module}.')
            write(root, f"test_app_{number}.py", test)
        found = {node.partition("::")[0]: links for node, links in chains(root, traced(root)).items()}
        return {name: found[f"test_app_{number}.py"] for number, name in enumerate(self)}


def check_chain(links: Sequence[Link], case: Case) -> None:
    """Hold a chain to the one of its case, which writes the names of files without their numbers."""
    lines = tuple(re.sub(r"_\d+:", ":", line) for line in short(links))
    assert lines == case.chain, [(line, link.sentence) for line, link in zip(lines, links, strict=True)]
    assert all(link.sentence.endswith(".") and link.code and link.function for link in links)


def source(root: Path, file: str) -> Source:
    """A parsed file."""
    return Source.parse((root / file).read_bytes())


def short(links: Sequence[Link]) -> list[str]:
    """Each link as `file:line kind`, with a question mark where it is inferred."""
    return [
        f"{link.file.removesuffix('.py')}:{link.line} {link.kind}{'?' * (link.evidence == 'inferred')}"
        for link in links
    ]
