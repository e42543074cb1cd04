"""What tracing costs a failing test, against the plain test: our passes, and other tools that trace beside them.

    python -m benchmarks origin-cost [--python PATH] [--rounds N] [--folder PATH] [--load NAME]

The interpreter needs pytest; coverage, viztracer, hunter and PySnooper are measured where it has them. The clock is
that of the CPU, from the beginning of the test to the end of the process. Tracers that record all calls or print run
fewer turns, and of them only the test itself counts, not what they do when the process ends; viztracer keeps its newest
100,000 events. All times are for one turn, and each ratio is to the plain run of the same session. With one interpreter
and 3 rounds it takes about 8 minutes on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Timing, report
from benchmarks.origin_loads import CLOCK, LOADS, TEST
from codemods.selfdebug.source import Source
from selfdebug.model import Pass, Suspects, Tracing
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.stages.origin import suspects

SECONDS = 2.0  # that the plain test takes
START = 200  # turns from which is found out how many there are to be
FEW = {"coverage": 4, "viztracer": 100, "hunter": 1_000, "pysnooper": 4_000}  # each turn counts for so many
SNOOPED = TEST.replace("import load", "import load\nimport pysnooper").replace(
    "load.work(", "pysnooper.snoop(os.devnull, depth=50)(load.work)("
)


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder with one load, and the interpreter that runs it."""

    root: Path
    interpreter: Interpreter

    def environment(self, turns: int) -> dict[str, str]:
        """The environment of a run of so many turns."""
        ours = {"ORIGIN_COST_TURNS": str(turns), "ORIGIN_COST_CLOCK": str(self.root / "clock")}
        return {**os.environ, **ours, "COVERAGE_FILE": str(self.root / "data"), "PYTHONDONTWRITEBYTECODE": "1"}

    def seconds(self, *, whole: bool = True) -> float:
        """What the clock of the last run says at the end of the process, or at that of the test."""
        of_test, of_process = map(float, (self.root / "clock").read_text().split())
        return of_process if whole else of_test

    def command(self, *before: str, turns: int, whole: bool = True) -> float:
        """Run pytest, perhaps by another tool; return the seconds for one turn."""
        self._run(before, "test_load.py", self.environment(turns))
        return self.seconds(whole=whole) / turns

    def printed(self, turns: int, test: str = "test_load.py", hunter: str = "") -> float:
        """Run the test under a tracer that prints; return the seconds for one turn, without the end of the process."""
        self._run((), test, {**self.environment(turns), **({"PYTHONHUNTER": hunter} if hunter else {})})
        return self.seconds(whole=False) / turns

    def _run(self, before: tuple[str, ...], test: str, environment: dict[str, str]) -> None:
        command = [str(self.interpreter.path), *before, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
        subprocess.run(command, cwd=self.root, env=environment, capture_output=True, check=False)

    def traced(self, trace: Tracing, turns: int) -> float:
        """Run the test under our own tracer; return the seconds for one turn."""
        run = run_pytest(
            PytestRequest(
                self.interpreter, self.root, node_ids=("test_load.py",), trace=trace, env=self.environment(turns)
            )
        )
        if run.failed != ("test_load.py::test_it",):
            raise SystemExit(f"the load did not fail as it should: {run.output}")
        return self.seconds() / turns

    def suspects(self, turns: int) -> Suspects:
        """What the second pass looks at."""
        environment = self.environment(turns)
        run = run_pytest(
            PytestRequest(self.interpreter, self.root, node_ids=("test_load.py",), trace=Pass.CALLS, env=environment)
        )
        (failure,) = run.failures
        return suspects(failure, run.called, lambda file: Source.parse((self.root / file).read_bytes()))


def ways(bench: Bench, turns: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """Each way to run the test, with a function that gives the seconds for one turn; the plain one first."""
    few = {tool: max(1, turns // each) for tool, each in FEW.items()}
    yield "a plain run", lambda: bench.command(turns=turns)
    chosen = bench.suspects(turns)
    yield "our first pass: calls and returns", lambda: bench.traced(Pass.CALLS, turns)
    yield f"our second pass: lines of {len(chosen.functions)} functions", lambda: bench.traced(chosen, turns)
    yield "our only pass: everything", lambda: bench.traced(Pass.EVERYTHING, turns)
    if _has(bench, "coverage"):
        yield "coverage.py", lambda: bench.command("-m", "coverage", "run", turns=few["coverage"])
    if _has(bench, "viztracer"):
        quiet = ("-m", "viztracer", "--quiet", "--tracer_entries", "100000", "-o", str(bench.root / "result.json"))
        yield "viztracer", lambda: bench.command(*quiet, turns=few["viztracer"], whole=False)
    if _has(bench, "hunter"):
        yield "hunter (prints)", lambda: bench.printed(few["hunter"], hunter="module='load',stdlib=False")
    if _has(bench, "pysnooper"):
        yield "PySnooper (prints)", lambda: bench.printed(few["pysnooper"], "test_snooped.py")


def _has(bench: Bench, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([str(bench.interpreter.path), "-c", code], check=False).returncode == 0


def measured(load: str, interpreter: Interpreter, rounds: int) -> list[Timing]:
    """Time all ways of one load, turn by turn; `ratio` is by how much a way takes longer than the plain run."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), interpreter)
        files = {"load.py": LOADS[load], "test_load.py": TEST, "test_snooped.py": SNOOPED, "conftest.py": CLOCK}
        for name, text in files.items():
            (bench.root / name).write_text(text)
        turns = enough(bench)
        chosen = dict(ways(bench, turns))
        seconds: dict[str, list[float]] = {name: [] for name in chosen}
        for _ in range(rounds):
            for name, way in chosen.items():
                seconds[name].append(way())
                print(f"{load}: {name}: {seconds[name][-1] * 1000:.3f} ms a turn", file=sys.stderr)
    base = statistics.median(seconds["a plain run"])
    subject = f"{load}, {interpreter.version}"
    return [
        Timing(subject, name, middle := statistics.median(taken), min(taken), max(taken), middle / base, rounds)
        for name, taken in seconds.items()
    ]


def enough(bench: Bench) -> int:
    """The turns for which the plain test takes SECONDS: by as many that what it takes to end does not count."""
    turns = START
    while (seconds := bench.command(turns=turns)) * turns < SECONDS / 4:
        turns *= 4
    return round(SECONDS / seconds)


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="origin-cost", description=__doc__)
    parser.add_argument("--python", type=Path, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--load", choices=LOADS, action="append")
    options = parser.parse_args(arguments)
    timings: list[Timing] = []
    for python in options.python or [None]:
        interpreter = Interpreter.find(python)
        for load in options.load or LOADS:
            timings += measured(load, interpreter, options.rounds)
    report("origin-cost", timings, options.folder, caption="times as long as a plain run")
    return 0
