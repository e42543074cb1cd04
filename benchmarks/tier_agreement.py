"""Do forks say what fresh processes say? Candidates for shared shapes of crashes and for real projects, judged thrice.

    python -m benchmarks tier-agreement [--each N] [--projects NAME ...] [--work PATH] [--folder PATH]

A real project is made to crash by taking one of its own guards away; all guards that are proposed for the place of the
crash are judged by one of the tests that crash. What was judged stays in `WORK/agreement.jsonl`, and is not judged
again. Prints a table and each disagreement that reaches a verdict, of which there should be none.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.guard_removal.environments import NotPreparedError, Prepared, prepare
from benchmarks.guard_removal.projects import PROJECTS
from benchmarks.guard_removal.removals import GUARDABLE, Removal, removals
from benchmarks.measure import session
from benchmarks.subjects import Subject, copied, failing, patches, shape_subject, shapes, spread
from selfdebug.model import Patch, PytestRun, Tier
from selfdebug.pytest_process import ForkServer, Interpreter, PreloadedServer, PytestRequest, WarmServer, run_pytest
from selfdebug.stages.validate import judge

TIMEOUT = 60.0
PROJECT_NAMES = ("xmltodict", "itsdangerous", "texttable", "tabulate", "toolz", "cachetools", "sqlparse", "mistune")
_MOST_TESTS = 5
_SHAPES = "the shared shapes"


@dataclass(frozen=True, slots=True)
class Compared:
    """One candidate judged in three ways; None where a fork says nothing, for the reason that stands beside it.

    An entry without a `guard` says that the subject has no crash with candidates.
    """

    project: str
    subject: str
    guard: str = ""
    family: str = ""
    fresh: str = ""
    warm: str | None = None
    warm_problem: str | None = None
    preloaded: str | None = None
    preloaded_problem: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether each fork says what the fresh process says, or nothing."""
        return {self.warm, self.preloaded} <= {None, self.fresh}


def compared(project: str, subject: Subject, each: int) -> Iterator[Compared]:
    """Judge `each` candidates (as many as there are, at most) of a subject, of all families."""
    chosen = spread(patches(subject), each)
    if not chosen:
        yield Compared(project, subject.name)
        return
    with _server(WarmServer, subject) as warm, _server(PreloadedServer, subject) as preloaded:
        for patch in chosen:
            sources = {**subject.sources, patch.file: patch.after}
            verdicts = [said(patch, subject, server.run(sources, TIMEOUT)) for server in (warm, preloaded)]
            fresh = run_pytest(replace(_request(subject), sources=sources, timeout=TIMEOUT))
            yield Compared(
                project,
                subject.name,
                patch.candidate.guard,
                str(patch.candidate.family),
                said(patch, subject, fresh) or "",
                verdicts[0],
                warm.problem,
                verdicts[1],
                preloaded.problem,
            )


def _server(kind: type[ForkServer], subject: Subject) -> ForkServer:
    return kind(replace(_request(subject), timeout=10 * TIMEOUT))


def _request(subject: Subject) -> PytestRequest:
    return PytestRequest(
        subject.interpreter,
        subject.root,
        node_ids=(subject.node_id,),
        pytest_args=subject.pytest_args,
        sources=subject.sources,
        env=subject.env,
    )


def said(patch: Patch, subject: Subject, run: PytestRun | None) -> str | None:
    """The verdict, and how the test fails now."""
    if run is None:
        return None
    trial = judge(patch, subject.targets, run, Tier.FRESH)
    new = trial.next_failure
    place = new.deepest.place if new is not None and new.deepest is not None else None
    return trial.verdict.value if new is None else f"{trial.verdict.value}: {new.exception.type} at {place}"


# ---------------------------------------------------------------- what is judged


def judged_shapes(known: set[str], python: str, each: int) -> Iterator[Compared]:
    """All shapes whose names are not `known`."""
    interpreter = Interpreter.find(python)
    for shape in shapes():
        if shape.name in known:
            continue
        with tempfile.TemporaryDirectory() as folder:
            subject = shape_subject(copied(shape, Path(folder, shape.name, "project")), interpreter)
            if subject is None:
                yield Compared(_SHAPES, shape.name)
            else:
                yield from compared(_SHAPES, subject, each)


def judged_project(ready: Prepared, known: set[str], each: int, crashes: int) -> Iterator[Compared]:
    """Candidates for guards of a project that were taken away, for so many that crash one of its tests."""
    name = ready.project.name
    for removal in _shuffled(ready):
        if crashes <= 0:
            return
        if removal.id in known:
            continue
        subject = _crashing(ready, removal)
        found = [Compared(name, removal.id)] if subject is None else list(compared(name, subject, each))
        crashes -= any(entry.guard for entry in found)
        yield from found


def _shuffled(ready: Prepared) -> list[Removal]:
    """The removals that some tests can see, in an order that is the same each time."""
    found = [each for file in ready.source_files() for each in removals(file, (ready.tree / file).read_bytes())]
    seen = [removal for removal in found if ready.tests_of.get(f"{removal.file}:{removal.telling}")]
    random.Random(ready.project.name).shuffle(seen)
    return seen


def _crashing(ready: Prepared, removal: Removal) -> Subject | None:
    """The first test that crashes without the guard, if one of a few does."""
    tests = tuple(ready.tests_of[f"{removal.file}:{removal.telling}"])[:_MOST_TESTS]
    sources = {removal.file: removal.after}
    run = ready.run(sources, node_ids=tests)
    own = ready.pytest_args[: len(ready.pytest_args) - len(ready.project.tests)]
    interpreter = Interpreter.find(ready.python)
    whole = Subject(removal.id, ready.tree, interpreter, "", (), sources, own, ready.environment(ready.tree))
    subject = failing(whole, run)
    if subject is None or subject.targets[0].crash.exception.short_type not in GUARDABLE:
        return None
    return subject


# ---------------------------------------------------------------- the command


def main(arguments: list[str]) -> int:
    """Measure; return 1 when there is a disagreement."""
    options = _options(arguments)
    results: Path = options.work / "agreement.jsonl"
    options.work.mkdir(parents=True, exist_ok=True)
    everything = _read(results)
    with results.open("a", encoding="utf-8") as stream:
        for found in _all(options, everything):
            everything.append(found)
            stream.write(json.dumps(asdict(found)) + "\n")
            stream.flush()
    show(everything)
    if options.folder is not None:
        write(everything, options)
    return any(not each.agrees for each in everything)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tier-agreement", description=__doc__)
    default = Path(tempfile.gettempdir(), "tier-agreement")
    parser.add_argument("--each", type=int, default=12, help="so many candidates a crash")
    parser.add_argument("--crashes", type=int, default=4, help="so many crashes a project")
    parser.add_argument("--projects", nargs="*", default=PROJECT_NAMES, help="the real projects")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for the shapes")
    parser.add_argument("--work", type=Path, default=default, help="folder for downloads, environments and results")
    parser.add_argument("--folder", type=Path, help="where to write tier-agreement.json")
    parser.add_argument("--table", action="store_true", help="only print the table of what was judged before")
    return parser.parse_args(arguments)


def _read(results: Path) -> list[Compared]:
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return [Compared(**json.loads(line)) for line in lines]


def _all(options: argparse.Namespace, known: Sequence[Compared]) -> Iterator[Compared]:
    if options.table:
        return
    for project in (each for each in PROJECTS if each.name in options.projects):
        own = [entry for entry in known if entry.project == project.name]
        crashes = options.crashes - len({entry.subject for entry in own if entry.guard})
        try:
            ready = prepare(project, options.work, slowest=600)
        except NotPreparedError as error:
            print(f"{project.name}: not measured: {error}", flush=True)
            continue
        yield from judged_project(ready, {entry.subject for entry in own}, options.each, crashes)
    shared = {entry.subject for entry in known if entry.project == _SHAPES}
    yield from judged_shapes(shared, options.python, options.each)


@dataclass(frozen=True, slots=True)
class Row:
    """A project, or all: how many candidates each tier judged, and how many were judged otherwise than in a process."""

    project: str
    crashes: int
    families: int
    candidates: int
    warm: int
    preloaded: int
    neither: int
    disagreements: int


def rows(everything: Sequence[Compared]) -> list[Row]:
    """A row a project, and one of all."""
    judged = [entry for entry in everything if entry.guard]
    projects = dict.fromkeys(entry.project for entry in judged)
    each = [_row(project, [entry for entry in judged if entry.project == project]) for project in projects]
    return [*each, _row("all", judged)]


def _row(name: str, entries: Sequence[Compared]) -> Row:
    return Row(
        name,
        crashes=len({(entry.project, entry.subject) for entry in entries}),
        families=len({entry.family for entry in entries}),
        candidates=len(entries),
        warm=sum(entry.warm is not None for entry in entries),
        preloaded=sum(entry.preloaded is not None for entry in entries),
        neither=sum(entry.warm is None and entry.preloaded is None for entry in entries),
        disagreements=sum(not entry.agrees for entry in entries),
    )


def show(everything: Sequence[Compared]) -> None:
    """Print the table, why forks said nothing, and each disagreement."""
    print(f"{'':20} crashes families candidates  warm preloaded  neither  disagree")
    for row in rows(everything):
        judged = f"{row.warm:5} {row.preloaded:9} {row.neither:8} {row.disagreements:9}"
        print(f"{row.project:20} {row.crashes:7} {row.families:8} {row.candidates:10} {judged}")
    for tier in ("warm", "preloaded"):
        reasons = Counter(getattr(entry, f"{tier}_problem") for entry in everything if getattr(entry, tier) is None)
        for reason, count in reasons.most_common():
            if reason is not None:
                print(f"{tier} says nothing, {count}: {reason}")
    for each in everything:
        if not each.agrees:
            print(f"  {each.project} {each.subject} {each.guard}: {each.warm} / {each.preloaded} / {each.fresh}")


def write(everything: Sequence[Compared], options: argparse.Namespace) -> None:
    """Write tier-agreement.json: the table; each verdict is in the file of results."""
    options.folder.mkdir(parents=True, exist_ok=True)
    each, crashes = f"--each={options.each}", f"--crashes={options.crashes}"
    document = {
        "title": "tier-agreement",
        "command": shlex.join(["python", "-m", "benchmarks", "tier-agreement", each, crashes]),
        "session": session(),
        "rows": [asdict(row) for row in rows(everything)],
    }
    (options.folder / "tier-agreement.json").write_text(json.dumps(document, indent=1) + "\n")
