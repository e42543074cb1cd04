"""How often a guard that was removed from a real project is found again, and how often something else is.

    python -m benchmarks guard-removal [--projects NAME ...] [--each N] [--limit SECONDS] [--document FILE]

Measures removals until each project has its number, or the time is over, and prints the table.

Results are appended to a file of JSON lines, one removal a line; what is in it is not measured again.
[What was measured](guard-removal.md) is a page of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.guard_removal.document import document, tables
from benchmarks.guard_removal.environments import NotPreparedError, Prepared, prepare
from benchmarks.guard_removal.projects import PROJECTS, Project, Split
from benchmarks.guard_removal.removals import KINDS, Removal, removals
from benchmarks.guard_removal.trials import Measured, Result, from_line, measured

_RESULTS = Path(__file__).parent / "results.jsonl"
"""The measurements that the documentation tells of."""
_READINGS = Path(__file__).parent / "readings.json"
"""How they were made, and by removal what a reader found wrong with a patch."""


def main(arguments: list[str]) -> int:
    """Measure and print, or write the documentation of what was measured."""
    options = _options(arguments)
    if options.document:
        told = json.loads(_READINGS.read_text(encoding="utf-8"))
        page = document(_read(_RESULTS), told["about"], told["removals"])
        options.document.write_text(page, encoding="utf-8")
        return 0
    results: Path = options.work / f"{options.results}.jsonl"
    options.work.mkdir(parents=True, exist_ok=True)
    done = _read(results)
    deadline = time.monotonic() + options.minutes * 60
    for project in _chosen(options):
        if time.monotonic() > deadline or options.table:
            break
        try:
            ready = prepare(project, options.work, options.slowest)
        except NotPreparedError as error:
            print(f"{project.name}: not measured: {error}", flush=True)
            continue
        print(f"{project.name}: the suite takes {ready.seconds:.1f} s", flush=True)
        for entry in _measurements(ready, done, options, deadline):
            done.append(entry)
            with results.open("a", encoding="utf-8") as file:
                file.write(entry.line() + "\n")
            _show(entry)
    print("\n" + tables(done))
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks guard-removal", description=__doc__)
    default = Path(tempfile.gettempdir(), "guard-removal")
    parser.add_argument("--work", type=Path, default=default, help="folder for downloads, environments and results")
    parser.add_argument("--results", default="results", help="name of the file of results in that folder")
    parser.add_argument("--projects", nargs="*", default=[], help="only these projects")
    parser.add_argument("--split", choices=[split.value for split in Split], help="only the projects of this split")
    parser.add_argument(
        "--what",
        nargs="*",
        choices=KINDS,
        default=KINDS[:6],
        help="only guards of these kinds",
    )
    parser.add_argument("--each", type=int, default=7, help="removals that crash, for each project")
    parser.add_argument("--screened", type=int, default=60, help="removals to look for them among, for each project")
    parser.add_argument("--limit", type=float, default=180, help="seconds for selfdebug on one removal")
    parser.add_argument("--slowest", type=float, default=30, help="seconds that a suite may take")
    parser.add_argument("--minutes", type=float, default=600, help="begin no removal after this time")
    parser.add_argument("--seed", type=int, default=1, help="of the order of removals")
    parser.add_argument("--document", type=Path, help="only write the kept results as Markdown to this file")
    parser.add_argument("--table", action="store_true", help="only print the table of what was measured before")
    return parser.parse_args(arguments)


def _chosen(options: argparse.Namespace) -> list[Project]:
    return [
        project
        for project in PROJECTS
        if (not options.projects or project.name in options.projects)
        and (not options.split or project.split.value == options.split)
    ]


def _read(results: Path) -> list[Measured]:
    return [from_line(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []


def _measurements(
    ready: Prepared, done: Sequence[Measured], options: argparse.Namespace, deadline: float
) -> Iterator[Measured]:
    """New measurements of a project, until it has enough."""
    known = {entry.removal: entry for entry in done if entry.project == ready.project.name}
    kinds = _by_kind(ready, options.seed, options.what)
    found = dict.fromkeys(kinds, 0)
    screened = 0
    while sum(found.values()) < options.each and screened < options.screened and time.monotonic() < deadline:
        waiting = [kind for kind in kinds if kinds[kind]]
        if not waiting:
            return
        # The kind with the fewest crashes so far: each has its share, however seldom its removals crash.
        kind = min(waiting, key=lambda kind: (found[kind], -len(kinds[kind])))
        removal = kinds[kind].pop()
        entry = known.get(removal.id) or measured(
            ready, removal, options.work / f"copy-{options.results}", options.limit
        )
        screened += not entry.detail.startswith("no test")
        found[kind] += entry.result is not Result.NO_CRASH
        if removal.id not in known:
            yield entry


def _by_kind(ready: Prepared, seed: int, what: Sequence[str]) -> dict[str, list[Removal]]:
    """The removals of a project by the kind of guard, each list shuffled."""
    found = [removal for file in ready.source_files() for removal in removals(file, (ready.tree / file).read_bytes())]
    random.Random(f"{seed} {ready.project.name}").shuffle(found)
    kinds: dict[str, list[Removal]] = {}
    for removal in sorted(found, key=lambda removal: removal.what):
        if removal.what in what:
            kinds.setdefault(removal.what, []).append(removal)
    return kinds


def _show(entry: Measured) -> None:
    if entry.result is Result.NO_CRASH:
        return
    print(f"  {entry.result}: {entry.removal}\n    {entry.crash}; {entry.failing} failing tests", flush=True)
    print(f"    {entry.seconds:.0f} s, {entry.tried} candidates tried, {entry.guard or entry.detail}", flush=True)
