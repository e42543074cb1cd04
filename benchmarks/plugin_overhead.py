"""What the plugin that reports a test run costs, against bare pytest over the same tests.

    python -m benchmarks plugin-overhead [--rounds N] [--tests 10000] [--folder PATH]

Both run in a process of its own with the same interpreter and options; all tests pass and do next to nothing, so that
this is the most that the plugin can cost. Seconds are those of the CPU. The aim is a ratio of 0.91 or more, which is at
most 1.10 times the time of bare pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import cpu_of_children, interleaved, report
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

FILES = 20


def suite(root: Path, tests: int) -> None:
    """A project of so many tests in some files."""
    for number in range(FILES):
        names = range(number, tests, FILES)
        (root / f"test_part_{number}.py").write_text(
            "".join(f"def test_{name}(): assert {name} + 1\n" for name in names)
        )


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="plugin-overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    interpreter = Interpreter.find(sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        suite(root, options.tests)
        bare = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={root / 'cache'}"]
        env = {**os.environ, "PYTHONPYCACHEPREFIX": str(root / "bytecode")}

        def reported() -> None:
            run = run_pytest(PytestRequest(interpreter, root, pytest_args=("-q",)))
            if len(run.passed) != options.tests or not run.ended:
                raise SystemExit(f"{len(run.passed)} of {options.tests} tests were reported")

        ways = {
            "bare pytest": lambda: subprocess.run(bare, cwd=root, env=env, capture_output=True, check=True),
            "with the reporting plugin": reported,
        }
        timings = interleaved(f"{options.tests} tests", ways, options.rounds, cpu_of_children)
    report("plugin-overhead", timings, options.folder)
    return 0
