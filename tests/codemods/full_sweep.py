"""Whole libraries swept, statements of every kind: probes go in and out without a trace, guards refuse or are right.

    PYTHONPATH=. python tests/codemods/full_sweep.py [--seconds 600] [--kinds 1] [--guards 2] [--tries 12] [--effort 60]
        [--seed 0] [--skip 0] [FOLDER...]

Reads the files of the folders (default: the standard library) until the time is over: `--kinds` statements of each kind
in each file are probed (fewer in long files under `--effort`), and every guard (or `--tries` of them) is put at
`--guards` places of it. The seed and a file's own path alone decide what is tried in it. Prints what was swept, all
that was wrong and, where files are left, the number to `--skip` next time. The tests sweep a sample with the same
functions.
"""

from __future__ import annotations

import argparse
import ast
import random
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guard_sweep import Report, sweep, why_it_does_not_compile

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe import probe
from codemods.selfdebug.probe_removal import remove
from codemods.selfdebug.source import Source

LEAST = 2
"""Statements that are probed in the longest file."""
STEP = 100
"""Files after which the figures so far are printed."""


def sweep_probes(data: bytes, choice: random.Random, count: int, report: Report, most: int | None = None) -> None:
    """Probe `count` statements of each kind in a file, at most `most`; record what does not come out as it went in."""
    chosen = [
        (kind, line)
        for kind, lines in sorted(_lines_by_kind(data).items())
        for line in choice.sample(lines, min(count, len(lines)))
    ]
    if most is not None and most < len(chosen):
        chosen = choice.sample(chosen, most)
    for kind, line in chosen:
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
    if problem := why_it_does_not_compile(probed):
        return problem
    return "nothing was put in" if probed == data else None


def _lines_by_kind(data: bytes) -> dict[str, list[int]]:
    """The first lines of the statements of a file, by their kind; the first line of a file that is refused."""
    found: dict[str, list[int]] = defaultdict(list)
    try:
        tree = Source.parse(data).tree
    except RefusedError:
        return {"refused file": [1]}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            found[type(node).__name__].append(node.lineno)
    return found


def main() -> None:
    """Sweep until the time is over, and print the figures."""
    given = _arguments()
    files = sorted((folder, file) for folder in given.folders for file in folder.rglob("*.py"))
    probes, guards = Report(), Report()
    end = time.monotonic() + given.seconds
    place = given.skip
    for place, (folder, file) in enumerate(files[given.skip :], given.skip + 1):
        data, choice = file.read_bytes(), random.Random(f"{given.seed} {file.relative_to(folder)}")
        with _of(file, probes):
            most = max(LEAST, given.effort * 1000 // (len(data) + 1)) if given.effort else None
            sweep_probes(data, choice, given.kinds, probes, most)
        with _of(file, guards):
            sweep(data, choice, given.guards, guards, given.tries)
        if place % STEP == 0:
            _tell(place - given.skip, len(files), probes, guards)
        if time.monotonic() > end:
            break
    _tell(place - given.skip, len(files), probes, guards)
    print(*(f"  {wrong}" for wrong in (*probes.wrong, *guards.wrong)), sep="\n")
    if place < len(files):
        print(f"--skip {place}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kinds", type=int, default=1, help="statements of each kind in a file")
    parser.add_argument("--effort", type=int, help="kilobytes of a file times its statements at most")
    parser.add_argument("--guards", type=int, default=2, help="places of a file at which every guard is tried")
    parser.add_argument("--tries", type=int, help="guards at each of these places, instead of all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="files that were swept before")
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(sysconfig.get_paths()["stdlib"])])
    return parser.parse_args()


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
