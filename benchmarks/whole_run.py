"""What a whole repair costs against the two runs that a person would do anyway: one that fails, and one of all tests.

    python -m benchmarks whole-run [--rounds N] [--seconds S,S] [--candidates K,K] [--beginnings B,B] [--folder PATH]

A suite takes so many seconds; one of its tests crashes, and accepts nothing but the edit that is judged as the Kth. Two
beginnings: without anything (the person's first run is one of all tests) and from a captured log (it is the one test).
`ratio` is of the time that passes, `work` of the processor time of all processes, which a busy machine changes less.
Each repair is set against the person's runs just before and just after it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import command_line, cpu_of_children, session
from selfdebug.config import Settings
from selfdebug.model import Verdict
from selfdebug.repair import repair

SUBJECT = """
import hashlib


def find(catalogue, name):
    return catalogue.get(name)


def label(catalogue, name, unit=None):
    entry = find(catalogue, name)
    text = entry.strip()
    if unit:
        text += " per " + unit
    return text


def work(rounds):
    data = b"x"
    for _ in range(rounds):
        data = hashlib.sha256(data).digest()
    return data
"""
FAILING = """
import hashlib
import inspect
from pathlib import Path

from prices import label


def test_unknown():
    label({}, "b")
    text = "".join(inspect.findsource(label)[0])
    assert hashlib.sha256(text.encode()).hexdigest() == Path(__file__).with_name("wanted.txt").read_text()
"""
WORKING = "\n\ndef test_{number}():\n    assert work({rounds})\n"
NODE = "tests/test_label.py::test_unknown"
LOG = "log"
_TESTS = 100
_FILES = 10
_FIGURES = ("ratio", "lowest", "highest", "work")


@dataclass(frozen=True, slots=True)
class Cost:
    """A whole run, `ratio` times as long as the person's two runs; `judged` is the number of the accepted candidate.

    `work` is the same of the processor time that both took: on a busy machine it says more.
    """

    suite_seconds: float
    beginning: str
    judged: int
    ratio: float
    lowest: float
    highest: float
    work: float


class Spent(NamedTuple):
    """Seconds that passed, and seconds of processor time; or both in times of another way's."""

    seconds: float
    work: float


def project(root: Path, seconds: float) -> None:
    """Write a project whose other tests compute for `seconds`."""
    (root / "tests").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (root / "prices.py").write_text(SUBJECT)
    (root / "tests/test_label.py").write_text(FAILING)
    (root / "tests/wanted.txt").write_text("nothing")
    rounds = _rounds_of(seconds / _TESTS)
    for file in range(_FILES):
        tests = (WORKING.format(number=number, rounds=rounds) for number in range(_TESTS // _FILES))
        (root / f"tests/test_work_{file}.py").write_text("from prices import work\n" + "".join(tests))


def _rounds_of(seconds: float) -> int:
    names: dict[str, Callable[[int], bytes]] = {}
    exec(compile(SUBJECT, "prices.py", "exec"), names)
    began, rounds = time.process_time(), 200_000
    names["work"](rounds)
    return max(1, int(rounds * seconds / (time.process_time() - began)))


def accepted_by_number(root: Path, most: int) -> dict[int, str]:
    """What the failing test has to accept so that the candidate of a number is the first to pass, for all that can."""
    done = repair(Settings(root=root, max_candidates=most, max_attempts=1), None, lambda _: None)
    judged = [trial for trial in done.attempts[0].trials if trial.verdict is not Verdict.REFUSED]
    return {
        number: hashlib.sha256(trial.patch.after).hexdigest()
        for number, trial in enumerate(judged, 1)
        if trial.patch is not None and trial.next_failure and trial.next_failure.exception.type == "AssertionError"
    }


def measured(
    root: Path, seconds: float, candidates: Sequence[int], beginnings: Sequence[str], rounds: int
) -> list[Cost]:
    """Time the repairs, in turn with the person's runs."""
    project(root, seconds)
    wanted = accepted_by_number(root, max(candidates) + 40)
    numbers = sorted({min((n for n in wanted if n >= wish), default=max(wanted)) for wish in candidates})
    log = root / "log.txt"
    log.write_bytes(subprocess.run(_pytest(NODE), cwd=root, capture_output=True, check=False).stdout)
    found: list[Cost] = []
    for beginning in beginnings:
        arguments, first = ([str(log)], [NODE]) if beginning == LOG else ([], [])
        person = partial(_by_a_person, root, first)
        repairs = {number: partial(_repaired, root, wanted[number], arguments) for number in numbers}
        ratios = paired(person, repairs, rounds)
        found += [_cost(seconds, beginning, number, ratios[number]) for number in numbers]
    return found


def paired(base: Callable[[], object], ways: Mapping[int, Callable[[], object]], rounds: int) -> dict[int, list[Spent]]:
    """What each way takes in each round, in times of the base as it is just before and just after.

    A machine whose speed changes from minute to minute changes both alike.
    """
    base()  # once for the caches
    ratios: dict[int, list[Spent]] = {number: [] for number in ways}
    before = _spent(base)
    for _ in range(rounds):
        for number, way in ways.items():
            taken, after = _spent(way), _spent(base)
            ratios[number].append(
                Spent(2 * taken.seconds / (before.seconds + after.seconds), 2 * taken.work / (before.work + after.work))
            )
            before = after
    return ratios


def _spent(way: Callable[[], object]) -> Spent:
    """Go that way; the seconds that pass, and the processor time of all processes that ended meanwhile."""
    began, worked = time.perf_counter(), cpu_of_children()
    way()
    return Spent(time.perf_counter() - began, cpu_of_children() - worked)


def _pytest(*tests: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", *tests]


def _by_a_person(root: Path, first: Sequence[str]) -> None:
    for tests in (first, []):
        subprocess.run(_pytest(*tests), cwd=root, capture_output=True, check=False)


def _repaired(root: Path, wanted: str, arguments: Sequence[str]) -> None:
    (root / "prices.py").write_text(SUBJECT)
    (root / "tests/wanted.txt").write_text(wanted)
    command = [sys.executable, "-m", "selfdebug", "run", "--python", sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the repair is of no use here:\n{done.stdout}{done.stderr}")


def _cost(seconds: float, beginning: str, judged: int, ratios: Sequence[Spent]) -> Cost:
    passed = [each.seconds for each in ratios]
    work = statistics.median(each.work for each in ratios)
    return Cost(seconds, beginning, judged, statistics.median(passed), min(passed), max(passed), work)


def drawn(costs: Sequence[Cost]) -> str:
    """The ratio over the number of candidates (evenly spaced, since they grow fourfold), a line for each suite."""
    lines: dict[tuple[float, str], list[Cost]] = {}
    for cost in costs:
        lines.setdefault((cost.suite_seconds, cost.beginning), []).append(cost)
    top = max(2.0, *(cost.highest for cost in costs))
    parts = []
    for row, ((seconds, beginning), points) in enumerate(lines.items()):
        colour = ("#4477aa", "#ee6677", "#228833", "#aa3377")[row % 4]
        places = [(70 + 120 * index, 260 - 220 * cost.ratio / top) for index, cost in enumerate(points)]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<text x="{x:.0f}" y="{y - 6:.0f}" fill="{colour}">{cost.ratio:.2f}</text>'
            for (x, y), cost in zip(places, points, strict=True)
        ]
        parts.append(f'<text x="520" y="{40 + 18 * row}" fill="{colour}">{seconds:g} s, from {beginning}</text>')
    first = next(iter(lines.values()))
    parts += [f'<text x="{70 + 120 * at}" y="280">{cost.judged}</text>' for at, cost in enumerate(first)]
    one = 260 - 220 / top
    parts.append(f'<line x1="60" x2="500" y1="{one:.0f}" y2="{one:.0f}" stroke="#999999" stroke-dasharray="4"/>')
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="320" font-family="sans-serif" font-size="12">'
    title = '<text x="10" y="20" font-weight="bold">a whole repair, in times of the two runs of a person</text>'
    return "\n".join([head, title, *parts, '<text x="200" y="305">candidates judged</text>', "</svg>", ""])


def _row(cost: Cost) -> dict[str, object]:
    figures = {name: round(value, 2) for name, value in asdict(cost).items() if name in _FIGURES}
    return {"": f"{cost.suite_seconds:g} s, from {cost.beginning}", "judged": cost.judged, **figures}


def report(costs: Sequence[Cost], folder: Path | None) -> None:
    """Print a table; write `whole-run.json` and `.svg` into `folder`, if one is given."""
    print(f"{'suite':>7} {'from':8} {'judged':>7} {'ratio':>7} {'lowest':>7} {'highest':>8} {'work':>7}")
    for cost in costs:
        figures = f"{cost.judged:7} {cost.ratio:7.2f} {cost.lowest:7.2f} {cost.highest:8.2f} {cost.work:7.2f}"
        print(f"{cost.suite_seconds:5g} s {cost.beginning:8} {figures}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            "title": "whole-run",
            "command": command_line("whole-run"),
            "session": session(),
            "rows": [_row(cost) for cost in costs],
        }
        (folder / "whole-run.json").write_text(json.dumps(document, indent=1) + "\n")
        (folder / "whole-run.svg").write_text(drawn(costs))


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="whole-run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", default="1,5", help="how long the suites take, with commas")
    parser.add_argument("--candidates", default="1,4,16,64", help="how many are judged, with commas")
    parser.add_argument("--beginnings", default=f"nothing,{LOG}", help="what the repair starts from, with commas")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    candidates = [int(number) for number in options.candidates.split(",")]
    costs: list[Cost] = []
    for seconds in map(float, options.seconds.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            costs += measured(
                Path(folder) / "project", seconds, candidates, options.beginnings.split(","), options.rounds
            )
    report(costs, options.folder)
    return 0
