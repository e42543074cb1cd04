"""Whole libraries swept, statements of every kind: probes go in and out without a trace, guards refuse or are right.

    PYTHONPATH=. python tests/codemods/full_sweep.py [--seconds 600] [--kinds 1] [--guards 2] [--seed 0] [FOLDER...]

Reads the files of the folders (default: the standard library) in random order until the time is over, `--kinds`
statements of each kind in each file and guards at `--guards` places of it, and prints what was swept and all that was
wrong. The tests sweep a sample with the same functions.
"""

from __future__ import annotations

import argparse
import ast
import random
import sysconfig
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guard_sweep import Report, sweep

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe import probe, remove

STEP = 500
"""Files after which the figures so far are printed."""


def sweep_probes(data: bytes, choice: random.Random, count: int, report: Report) -> None:
    """Probe `count` statements of each kind in a file and record what does not come out as it went in."""
    for kind, lines in sorted(_lines_by_kind(data).items()):
        for line in choice.sample(lines, min(count, len(lines))):
            report.tried += 1
            try:
                probed = probe(data, line).source
                problem = what_is_wrong_with_probe(data, probed)
            except (RefusedError, TargetNotFoundError):
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what the sweep looks for
                problem = f"{type(error).__name__}: {error}"
            report.made[kind] += 1
            if problem:
                report.wrong.append(f"probe at {kind} of line {line}: {problem}")


def what_is_wrong_with_probe(data: bytes, probed: bytes) -> str | None:
    """Why the probed file is not what every probed file must be."""
    if remove(probed) != data:
        return "the bytes do not come back"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(probed, "probed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"does not compile: {error}"
    return "nothing was put in" if probed == data else None


def _lines_by_kind(data: bytes) -> dict[str, list[int]]:
    """The first lines of the statements of a file, by their kind; nothing for a file that does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[int]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            found[type(node).__name__].append(node.lineno)
    return found


def main() -> None:
    """Sweep until the time is over, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kinds", type=int, default=1)
    parser.add_argument("--guards", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(sysconfig.get_paths()["stdlib"])])
    given = parser.parse_args()
    choice = random.Random(given.seed)
    files = sorted(file for folder in given.folders for file in folder.rglob("*.py"))
    choice.shuffle(files)
    probes, guards = Report(), Report()
    end = time.monotonic() + given.seconds
    swept = 0
    for file in files:
        if time.monotonic() > end:
            break
        data = file.read_bytes()
        with _of(file, probes):
            sweep_probes(data, choice, given.kinds, probes)
        with _of(file, guards):
            sweep(data, choice, given.guards, guards)
        swept += 1
        if swept % STEP == 0:
            _tell(swept, len(files), probes, guards)
    _tell(swept, len(files), probes, guards)
    print(*(f"  {wrong}" for wrong in (*probes.wrong, *guards.wrong)), sep="\n")


@contextmanager
def _of(file: Path, report: Report) -> Iterator[None]:
    """What is found wrong in the block is of this file."""
    known = len(report.wrong)
    yield
    report.wrong[known:] = [f"{file}: {one}" for one in report.wrong[known:]]


def _tell(swept: int, total: int, probes: Report, guards: Report) -> None:
    print(
        f"{swept} of {total} files; probes: {probes.tried} statements of {len(probes.made)} kinds, "
        f"{probes.made.total()} probed, {len(probes.wrong)} wrong; guards: {guards.tried} tried, "
        f"{guards.made.total()} made by {len(guards.made)} guards, {len(guards.wrong)} wrong",
        flush=True,
    )


if __name__ == "__main__":
    main()
