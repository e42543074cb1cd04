"""What one candidate costs in each tier, against a plain run of the one test that it is judged by.

    python -m benchmarks candidate-cost [--rounds N] [--folder PATH]

Three projects: a bare one, one with five plugins of its own, one whose tests import a lot. The plain run is that of a
developer who has run the test before: all bytecode is there, also that of the project.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.measure import Timing, interleaved, report
from selfdebug.pytest_process import ForkServer, Interpreter, PreloadedServer, PytestRequest, WarmServer, run_pytest

SUBJECT = "def name(user):\n    return user.name.title()\n"
FIXED = SUBJECT.replace("user.name.title()", "user.name.title() if user is not None else ''")
TESTS = "from subject import name\n\n\ndef test_name():\n    assert name(None) == ''\n"
HEAVY = "import asyncio, email.mime.text, http.server, libcst, sqlite3, unittest.mock, xml.dom.minidom\n"
PLUGIN = "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    return (yield)\n"
SETTLED_SECONDS = 3  # after which the bytecode of a file is shared between runs
NODE_IDS = ("test_subject.py::test_name",)


def projects() -> dict[str, Mapping[str, str]]:
    """The files of each project."""
    bare = {"subject.py": SUBJECT, "test_subject.py": TESTS}
    plugins = {f"plugin_{number}.py": PLUGIN for number in range(5)}
    named = f"pytest_plugins = {[name.removesuffix('.py') for name in plugins]}\n"
    return {
        "bare": bare,
        "five plugins": {**bare, **plugins, "conftest.py": named},
        "a heavy import": {**bare, "conftest.py": HEAVY},
    }


def measured(root: Path, subject: str, rounds: int) -> list[Timing]:
    """Time a plain run and a trial in each tier."""
    interpreter = Interpreter.find(sys.executable)
    sources = {"subject.py": FIXED.encode()}
    plain = [sys.executable, "-m", "pytest", "-q", *NODE_IDS]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(root / "bytecode")
    with (
        WarmServer(PytestRequest(interpreter, root, node_ids=NODE_IDS)) as warm,
        PreloadedServer(PytestRequest(interpreter, root, node_ids=NODE_IDS)) as preloaded,
    ):
        ways: dict[str, Callable[[], object]] = {
            "a plain run": lambda: subprocess.run(plain, cwd=root, env=env, capture_output=True, check=False),
            "a trial in a fresh process": lambda: run_pytest(
                PytestRequest(interpreter, root, node_ids=NODE_IDS, sources=sources)
            ),
            "a trial in a preloaded fork": lambda: passed(preloaded, sources),
            "a trial in a warm fork": lambda: passed(warm, sources),
        }
        return interleaved(subject, ways, rounds)


def passed(server: ForkServer, sources: Mapping[str, bytes]) -> None:
    """One trial. Raises SystemExit when it does not say that the test passes."""
    run = server.run(sources, 60)
    if run is None or run.failures:
        raise SystemExit(f"the trial in a {server.tier} fork is of no use: {server.problem}")


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="candidate-cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    timings: list[Timing] = []
    for subject, files in projects().items():
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                Path(folder, name).write_text(text)
            time.sleep(SETTLED_SECONDS)
            timings += measured(Path(folder), subject, options.rounds)
    report("candidate-cost", timings, options.folder)
    return 0
