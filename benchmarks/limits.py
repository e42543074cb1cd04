"""The largest inputs that are meant to work: seconds of the CPU and the peak of memory of each command.

    python -m benchmarks limits [--only NAME ...] [--scale 1.0] [--folder PATH]

Names: log (of 100 MB), failures (500 with 20 causes), files (a repository of 100,000), lines (a module of 20,000),
tests (a suite of 10,000). `--scale 0.01` takes a hundredth of each. Every command is a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Timing, report

NOISE = "2025-03-04T09:15:12.{0:07d}Z tests/test_part_{1}.py::test_case[{0}] PASSED                      [ {2:2d}%]\n"
BANNER = "=================================== FAILURES ===================================\n"
ENTRY = """\
________________________________ test_{0} ________________________________

    def test_{0}():
>       assert name_{1}(None) == ""

tests/test_part_{1}.py:{2}:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

user = None

    def name_{1}(user):
>       return user.name.title()
E       AttributeError: 'NoneType' object has no attribute 'name'

part_{1}.py:2: AttributeError
"""
SUMMARY = "FAILED tests/test_part_{1}.py::test_{0} - AttributeError: 'NoneType' object has no attribute 'name'\n"
FUNCTION = """\
def total_{0}(orders, limit=10):
    total = 0
    for order in orders[:limit]:
        if order.is_open and order.lines:
            total += sum(line.price * line.count for line in order.lines)
    return total


"""
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of selfdebug in a project, and what it is called."""

    name: str
    arguments: tuple[str, ...]
    root: Path


def failing_log(causes: int, failures: int) -> str:
    """The report of a suite that fails so often for so many reasons."""
    each = -(-failures // causes)
    numbers = [(number, number // each, 3 * (number % each) + 5) for number in range(failures)]
    entries = "".join(ENTRY.format(*each) for each in numbers)
    summary = "".join(SUMMARY.format(*each) for each in numbers)
    return (
        f"{BANNER}{entries}=========================== short test summary info ============================\n{summary}"
    )


def failing_project(root: Path, causes: int, failures: int) -> None:
    """The project of that report."""
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    each = -(-failures // causes)
    for cause in range(causes):
        (root / f"part_{cause}.py").write_text(f"def name_{cause}(user):\n    return user.name.title()\n")
        tests = [f'def test_{number}():\n    assert name_{cause}(None) == ""\n' for number in range(failures)]
        mine = tests[cause * each : (cause + 1) * each]
        (root / "tests" / f"test_part_{cause}.py").write_text(
            f"from part_{cause} import name_{cause}\n\n\n" + "\n".join(mine)
        )


def in_git(root: Path) -> None:
    """Commit everything."""
    git = ["git", "-c", "user.name=case", "-c", "user.email=case@example.org", "-c", "gc.auto=0"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)


# ---------------------------------------------------------------- subjects


def log(root: Path, scale: float) -> Iterator[Command]:
    """A log of 100 MB, most of which is the noise of passing tests."""
    failing_project(root, 20, 40)
    size = int(100 * MEGABYTE * scale)
    with (root / "ci.log").open("w") as file:
        number = 0
        while file.tell() < size:
            part = range(number, number + 1000)
            file.write("".join(NOISE.format(each, each % 97, each * 100 // (size // 80) % 100) for each in part))
            number += 1000
        file.write("".join(f"2025-03-04T09:15:13.0000000Z {line}\n" for line in failing_log(20, 40).split("\n")))
    yield Command("failures", ("failures", "ci.log", "--json"), root)


def failures(root: Path, scale: float) -> Iterator[Command]:
    """500 failures with 20 causes."""
    count = max(20, int(500 * scale))
    failing_project(root, 20, count)
    in_git(root)
    (root / "ci.log").write_text(failing_log(20, count))
    yield Command("failures", ("failures", "ci.log", "--json"), root)
    yield Command("run LOG --dry-run", ("run", "ci.log", "--dry-run", "--json", "--max-attempts", "20"), root)
    yield Command("batch LOG", ("batch", "ci.log", "--json", "--jobs", "2"), root)


def files(root: Path, scale: float) -> Iterator[Command]:
    """A repository of 100,000 files with one failure, in a log of another machine."""
    failing_project(root, 1, 1)
    for number in range(int(100_000 * scale)):
        folder = root / f"package_{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"module_{number}.py").write_text(f"VALUE = {number}\n")
    in_git(root)
    text = failing_log(1, 1)
    (root / "ci.log").write_text(text)
    (root / "elsewhere.log").write_text(text.replace("\npart_", "\n/home/ann/shop/part_"))
    yield Command("failures", ("failures", "ci.log", "--json"), root)
    yield Command("failures, of another machine", ("failures", "elsewhere.log", "--json"), root)
    yield Command("run LOG --dry-run", ("run", "ci.log", "--dry-run", "--json"), root)
    yield Command("run", ("run", "--module", "tests/test_part_0.py::test_0", "--json"), root)


def lines(root: Path, scale: float) -> Iterator[Command]:
    """A module of 20,000 lines with one failure at its end."""
    failing_project(root, 1, 1)
    count = int(20_000 * scale) // FUNCTION.count("\n")
    name = (root / "part_0.py").read_text()
    (root / "part_0.py").write_text("".join(FUNCTION.format(number) for number in range(count)) + name)
    line = count * FUNCTION.count("\n") + 2
    (root / "ci.log").write_text(failing_log(1, 1).replace("part_0.py:2:", f"part_0.py:{line}:"))
    yield Command("run LOG --dry-run", ("run", "ci.log", "--dry-run", "--json"), root)
    yield Command("run --dry-run", ("run", "--dry-run", "--json"), root)


def tests(root: Path, scale: float) -> Iterator[Command]:
    """A suite of 10,000 tests, one of which fails."""
    failing_project(root, 1, 1)
    for number in range(100):
        names = range(number, int(10_000 * scale), 100)
        text = "".join(f"def test_more_{name}(): assert {name} + 1\n" for name in names)
        (root / "tests" / f"test_more_{number}.py").write_text(text)
    yield Command("run --dry-run", ("run", "--dry-run", "--json"), root)


SUBJECTS: dict[str, tuple[str, Callable[[Path, float], Iterator[Command]]]] = {
    "log": ("a log of 100 MB", log),
    "failures": ("500 failures, 20 causes", failures),
    "files": ("100,000 files", files),
    "lines": ("a module of 20,000 lines", lines),
    "tests": ("a suite of 10,000 tests", tests),
}


def timed(command: Command) -> tuple[float, float]:
    """Run a command once: the seconds of the CPU that it and its children took, and the MB that the process held."""
    with (command.root / "output").open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "selfdebug", *command.arguments], cwd=command.root, stdout=output, stderr=sys.stderr
        )
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except KeyboardInterrupt:
            child.terminate()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(
            f"{command.name} ended with {child.returncode}: {(command.root / 'output').read_text()[-400:]}"
        )
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="limits", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    timings: list[Timing] = []
    peaks: dict[str, float] = {}
    for name in options.only:
        subject, made = SUBJECTS[name]
        with tempfile.TemporaryDirectory() as folder:
            for command in made(Path(folder), options.scale):
                seconds, peak = timed(command)
                timings.append(Timing(subject, command.name, seconds, seconds, seconds, 1.0, 1))
                peaks[f"{subject}: {command.name}"] = round(peak, 1)
                print(f"{subject}: {command.name}: {seconds:.1f} s, {peak:.0f} MB", flush=True)
    report("limits", timings, options.folder, peaks)
    return 0
