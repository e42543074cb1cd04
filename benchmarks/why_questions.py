"""Measures the explanations: are the answers right, how quick are the queries, how little of a trace is read.

Makes 30 real runs (kept patches, failures, roll backs, interrupted ones, logs that are not true), asks each of them up
to twelve why-questions, and checks every answer by what the run itself returned: the fact that it must contain, and
step ids that the trace has and that hold that fact. Then the queries are timed on a store of 10,000 runs.

    python -m benchmarks why-questions [--runs 30] [--cases FOLDER] [--stored 10000]

With `--cases` the projects in the folders of FOLDER come after the ten made ones: each a subject with its tests, and
`expected.json` and `*.txt` for whoever checks them. Of three runs the time that is spent in recording is measured too.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from selfdebug.config import Settings
from selfdebug.explain import questions
from selfdebug.model import Progress, Repair, Trial, Verdict
from selfdebug.repair import repair
from selfdebug.terminal import counted
from selfdebug.trace.ask import ask, load
from selfdebug.trace.exchange import exported
from selfdebug.trace.owner import Owner
from selfdebug.trace.records import Trace
from selfdebug.trace.store import Store

AIM = 0.05
TRACE_FOLDER = str(Path("selfdebug") / "trace")
LOG = """\
_________________________________ test_it _________________________________
tests/test_it.py:5: in test_it
    assert use(None) is None
code_root/code.py:2: AttributeError
E   AttributeError: 'NoneType' object has no attribute 'size'
=========================== short test summary info ============================
FAILED tests/test_it.py::test_it - AttributeError: 'NoneType' object has no attribute 'size'
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A tiny project: its code, its one failing expectation, and what is done to its run."""

    kind: str
    code: str
    test: str
    interrupt: bool = False
    log: str | None = None


def _code(body: str) -> str:
    return "def find(table, name):\n    return table.get(name)\n\n\n" + body


PROJECTS = (
    Project(
        "condition",
        _code("def use(item):\n    if item.size > 3:\n        return True\n    return False\n"),
        "use(None) is False",
    ),
    Project("expression", _code("def use(item):\n    return item.size\n"), "use(None) is None"),
    Project(
        "call",
        _code("def use(table):\n    item = find(table, 'a')\n    return 'x' + item.upper()\n"),
        "use({}) == 'x'",
    ),
    Project(
        "loop",
        _code("def use(items):\n    total = 0\n    for item in items:\n        total += 1\n    return total\n"),
        "use(None) == 0",
    ),
    Project("subscript", _code("def use(item):\n    return item['a']\n"), "use(None) is None"),
    Project("missing key", _code("def use(item):\n    return item['a']\n"), "use({}) is None"),
    Project("rolled back", _code("def use(item):\n    return item.size + 1\n"), "use(None) == 'no guard gives this'"),
    Project("rolled back, deep", _code("def use(item):\n    return item.size.width\n"), "use(None) == 4711"),
    Project("interrupted", _code("def use(item):\n    return item.size\n"), "use(None) == 4711", interrupt=True),
    Project("a log that is not true", _code("def use(item):\n    return None\n"), "use(None) is None", log=LOG),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the facts that the answer must contain; `steps` says whether it must cite a step."""

    question: str
    facts: tuple[str, ...]
    steps: bool = True


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run that was made: what it returned, where its trace lies, the share of its time that recording took."""

    kind: str
    done: Repair
    state: Path
    trace: Trace
    recording: float | None = None


# ---------------------------------------------------------------- the runs

PROFILED = 3
"""Runs that are profiled: the profile itself takes time, so that the share of recording comes out too high."""


def recorded(folder: Path, count: int, cases: Sequence[Path] = ()) -> Iterator[Recorded]:
    """Make the runs: the made projects once, then the cases, then the made ones again in other words."""
    for number in range(count):
        root = folder / f"project-{number:02}"
        case = number - len(PROJECTS)
        if 0 <= case < len(cases):
            kind, log, events = cases[case].name, None, _events(PROJECTS[0])
            shutil.copytree(cases[case], root, ignore=shutil.ignore_patterns("*.txt", "expected.json", "__pycache__"))
        else:
            project = PROJECTS[number % len(PROJECTS)]
            kind, log, events = project.kind, project.log.encode() if project.log else None, _events(project)
            _lay_out(root, project, f"v{number // len(PROJECTS)}")
        profile = cProfile.Profile() if number < PROFILED else None
        begun = time.perf_counter()
        with profile or nullcontext():
            done = repair(Settings(root=root, max_candidates=8, max_attempts=2), log, events)
        seconds = time.perf_counter() - begun
        trace = load(root / ".selfdebug", Owner())
        if isinstance(trace, Trace):
            share = _in_recording(profile) / seconds if profile else None
            yield Recorded(kind, done, root / ".selfdebug", trace, share)
        else:
            print(f"{kind}: not recorded: {trace.text()}")


def _in_recording(profile: cProfile.Profile) -> float:
    """Seconds that were spent in what other code called of the trace."""
    seconds = 0.0
    calls = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # the one attribute that holds them all
    for (file, _, _), (_, _, _, _, callers) in calls.items():
        if TRACE_FOLDER in file:
            seconds += sum(spent[3] for (caller, _, _), spent in callers.items() if TRACE_FOLDER not in caller)
    return seconds


def _lay_out(root: Path, project: Project, variant: str) -> None:
    (root / "code_root").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "code_root" / "__init__.py").write_text("")
    (root / "code_root" / "code.py").write_text(project.code.replace("item", f"item_{variant}"))
    (root / "tests" / "test_it.py").write_text(
        f"from code_root.code import use\n\n\ndef test_it():\n    assert {project.test}\n"
    )
    (root / "conftest.py").write_text("")
    (root / "pyproject.toml").write_text("")


def _events(project: Project) -> Callable[[Progress], None]:
    def show(event: Progress) -> None:
        if project.interrupt and event.stage == "try":
            raise KeyboardInterrupt

    return show


# ---------------------------------------------------------------- the questions


def asked(run: Recorded) -> Iterator[Asked]:
    """The questions that fit the run, their facts taken from what the run returned and not from its trace."""
    done = run.done
    trials = [trial for turn in done.attempts for trial in turn.trials if trial.verdict is not Verdict.REFUSED]
    if done.failures:
        exception = done.failures[0].exception
        yield Asked("what failed?", (exception.short_type, exception.message))
    if done.attempts:
        location = done.attempts[0].diagnosis.location
        yield Asked("why this file?", (f"{location.file}:{location.line}",))
        yield Asked("where did it come from?", (location.receivers[0].code,) if location.receivers else (), steps=False)
    if done.patches:
        patch = done.patches[-1]
        added = [line for line in patch.after.decode().splitlines() if line not in patch.before.decode().splitlines()]
        yield Asked("why this patch?", (patch.candidate.guard, patch.candidate.reason))
        yield Asked("what changed?", (patch.file, *added))
        yield Asked("is it safe?", ("plausible, not proven correct",))
    else:
        yield Asked("why this patch?", ("I kept no patch",), steps=False)
        yield Asked("what changed?", ("no file changed",) if not done.rollback else ("I rolled back",), steps=False)
        yield Asked("is it safe?", ("nothing to trust",))
        yield Asked("why did you stop?", (_start(done.sentence),))
    yield from _about_trials(done, trials)
    if done.exit_reason == "not-reproduced":
        yield Asked("why this file?", ("I located no file",))
        yield Asked("where did it come from?", ("not in the trace",), steps=False)
    yield Asked("what happened?", (_start(done.sentence),))
    if done.rollback:
        yield Asked("why did you roll back?", (_start(done.sentence),))
    else:
        yield Asked("why did you roll back?", ("I did not roll back",), steps=False)


def _about_trials(done: Repair, trials: Sequence[Trial]) -> Iterator[Asked]:
    for verdict in (Verdict.INEFFECTIVE, Verdict.REGRESSED, Verdict.REFUSED):
        trial = next((each for turn in done.attempts for each in turn.trials if each.verdict is verdict), None)
        if trial is not None:
            word = "did not fit" if verdict is Verdict.REFUSED else verdict.value
            yield Asked(f"why not {trial.candidate.guard}?", (word, trial.detail.rstrip(". ")[:80]))
    yield Asked("why not zebra-guard?", ("never considered zebra-guard",), steps=False)
    yield Asked("how long did it take and why so long?", (f"{counted(len(done.runs), 'start')} of pytest",))
    if trials:
        yield Asked("what did you try?", (f"I judged {counted(len(trials), 'candidate')}",))
    else:
        yield Asked("what did you try?", ("I tried nothing",), steps=False)


def _start(sentence: str) -> str:
    """As much of a sentence as an answer keeps of it for sure."""
    return sentence.rstrip(". ")[:80]


def wrong(run: Recorded, one: Asked) -> str | None:
    """What is wrong with the answer to a question, or None."""
    answer = questions.answer(run.trace, one.question)
    text = " ".join(answer.text().split())
    missing = [fact for fact in one.facts if " ".join(fact.split()) not in text]
    if missing:
        return f"{run.kind}: {one.question} lacks {missing[0]!r}"
    cited = re.findall(r"\b[a-z_]+#\d+", text)
    unknown = [step for step in cited if run.trace.step(step) is None]
    if unknown:
        return f"{run.kind}: {one.question} cites {unknown[0]}, which the run does not have"
    if one.steps and not cited:
        return f"{run.kind}: {one.question} cites no step"
    return None


# ---------------------------------------------------------------- time and bytes


WAYS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "why this patch": (("run_overview", {}), ("who_wrote", {"key": "patch.diff"})),
    "why rolled back": (("run_overview", {}), ("who_wrote", {"key": "rollback.reason"})),
    "where from": (("run_overview", {}), ("backtrack", {"variable": "location.receiver"})),
    "is it safe": (("run_overview", {}), ("find_context_errors", {})),
}
"""What an agent asks to answer such a question, as the skill teaches it."""


@dataclass(frozen=True, slots=True)
class Read:
    """What one way to an answer reads: bytes of the answers, and of the whole trace as it is exported."""

    kind: str
    way: str
    answers: int
    whole: int

    @property
    def share(self) -> float:
        """The part of the trace."""
        return self.answers / self.whole


def bytes_read(run: Recorded) -> list[Read]:
    """For each way what its answers take."""
    with Store.create(run.state) as store:
        whole = len(exported(store, run.trace.run))
    found = []
    for way, queries in WAYS.items():
        answers = [ask(run.state, name, dict(arguments), Owner()) for name, arguments in queries]
        if all(answer.found for answer in answers):
            found.append(Read(run.kind, way, sum(len(answer.text().encode()) for answer in answers), whole))
    return found


def times(folder: Path, run: Recorded, stored: int) -> list[float]:
    """Seconds of every query on a store that holds the run `stored` times, in 60 sessions."""
    events, inner = [], {}
    with Store.create(run.state) as source:
        events = [event for _, event in source.events(run.trace.run.id)[0]]
        inner = source.inner(run.trace.run.id)[0]
    with Store.create(folder) as store, store.transaction():
        for number in range(stored):
            copy = replace(run.trace.run, id=f"copy-{number}", session=f"session-{number % 60}")
            store.import_run(copy, events, inner if number % 100 == 0 else {})
    taken = []
    step = run.trace.steps[-1].id
    for number in range(60):
        owner = Owner(f"session-{number}")
        for name, arguments in (
            ("run_overview", {}),
            ("find_context_errors", {}),
            ("find_in_trace", {"query": "None"}),
            ("trace_node", {"step": step}),
            ("trace_slice", {"step": step}),
            ("backtrack", {"variable": "location.receiver"}),
            ("who_wrote", {"key": "location.file"}),
            ("get_value", {"step": step, "key": "location.file"}),
            ("inspect_tool_call", {"id": "pytest-1"}),
            ("read_narrative", {}),
        ):
            begun = time.perf_counter()
            ask(folder, name, dict(arguments), owner)
            taken.append(time.perf_counter() - begun)
    return taken


def main(arguments: list[str]) -> int:
    """Make the runs, ask, and print what was measured; return 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(prog="why-questions", description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--stored", type=int, default=10_000)
    parser.add_argument("--cases", type=Path)
    given = parser.parse_args(arguments)
    cases = sorted(path.parent for path in given.cases.glob("*/expected.json")) if given.cases else []
    with tempfile.TemporaryDirectory() as folder:
        runs = list(recorded(Path(folder), given.runs, cases))
        pairs = [(run, one) for run in runs for one in asked(run)]
        faults = [fault for run, one in pairs if (fault := wrong(run, one))]
        read = [one for run in runs for one in bytes_read(run)]
        taken = times(Path(folder) / "large", runs[0], given.stored)
    kinds = {question.split(" zebra")[0].rstrip("?") for _, one in pairs for question in [one.question]}
    print(f"runs: {len(runs)} ({', '.join(sorted({run.trace.run.status or '' for run in runs}))})")
    fewest = min(sum(run is one for one, _ in pairs) for run in runs)
    print(
        f"questions: {len(pairs)} of {len(kinds)} kinds, at least {fewest} a run, "
        f"answered right: {len(pairs) - len(faults)}"
    )
    for fault in faults:
        print(f"  {fault}")
    middle, worst = 1000 * statistics.median(taken), 1000 * max(taken)
    print(f"query time on {given.stored} runs: median {middle:.1f} ms, worst {worst:.1f} ms")
    _tell_of_bytes(read)
    shares = [run.recording for run in runs if run.recording is not None]
    print(f"share of a run that is spent in recording, profiled: {', '.join(f'{share:.1%}' for share in shares)}")
    return bool(faults)


def _tell_of_bytes(read: list[Read]) -> None:
    shares = [one.share for one in read]
    whole = sum(one.answers for one in read) / sum(one.whole for one in read)
    over = sum(share >= AIM for share in shares)
    print(
        f"share of the trace that is read: median {statistics.median(shares):.1%}, of all bytes {whole:.1%}, "
        f"worst {max(shares):.1%}; {over} of {len(shares)} ways at {AIM:.0%} or more"
    )
    for one in sorted(read, key=lambda one: -one.share)[:5]:
        print(f"  {one.share:.1%}: {one.way} of {one.kind}: {one.answers} of {one.whole} bytes")
