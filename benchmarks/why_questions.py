"""Measures the explanations: are the answers right, how quick are the queries, how little of a trace is read.

Makes 30 real runs (kept patches, failures, roll backs, interrupted ones, logs that are not true), asks each of them up
to twelve why-questions, and checks every answer by what the run itself returned: the fact that it must contain, and
step ids that the trace has and that hold that fact. Then the queries are timed on a store of 10,000 runs.

    python benchmarks/why_questions.py [--runs 30] [--stored 10000]
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from selfdebug.config import Settings
from selfdebug.explain import questions
from selfdebug.model import Progress, Repair, Verdict
from selfdebug.repair import repair
from selfdebug.trace.ask import ask, load
from selfdebug.trace.exchange import exported
from selfdebug.trace.owner import Owner
from selfdebug.trace.records import Trace
from selfdebug.trace.store import Store

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
    """A run that was made: what it returned, where its trace lies."""

    kind: str
    done: Repair
    state: Path
    trace: Trace


# ---------------------------------------------------------------- the runs


def recorded(folder: Path, count: int) -> Iterator[Recorded]:
    """Make the runs, the kinds of projects in turn."""
    for number in range(count):
        project = PROJECTS[number % len(PROJECTS)]
        root = folder / f"project-{number:02}"
        _lay_out(root, project, f"v{number // len(PROJECTS)}")
        settings = Settings(root=root, max_candidates=8, max_attempts=2)
        done = repair(settings, project.log.encode() if project.log else None, _events(project))
        state = root / ".selfdebug"
        trace = load(state, Owner())
        if isinstance(trace, Trace):
            yield Recorded(project.kind, done, state, trace)
        else:
            print(f"{project.kind}: not recorded: {trace.text()}")


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
    for verdict in (Verdict.INEFFECTIVE, Verdict.REGRESSED, Verdict.REFUSED):
        of_verdict = [t for turn in done.attempts for t in turn.trials if t.verdict is verdict]
        if of_verdict:
            trial = of_verdict[0]
            word = "did not fit" if verdict is Verdict.REFUSED else verdict.value
            yield Asked(f"why not {trial.candidate.guard}?", (word, trial.detail.rstrip(". ")[:80]))
    yield Asked("why not zebra-guard?", ("never considered zebra-guard",), steps=False)
    yield Asked("how long did it take and why so long?", (f"{len(done.runs)} starts of pytest",))
    if trials:
        yield Asked("what did you try?", (f"I judged {len(trials)} candidates",))
    if done.rollback:
        yield Asked("why did you roll back?", (done.sentence.rstrip(". ")[:80],))
    else:
        yield Asked("why did you roll back?", ("I did not roll back",), steps=False)


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


def bytes_read(run: Recorded) -> list[float]:
    """For each way the share of the whole trace that its answers take."""
    with Store.create(run.state) as store:
        whole = len(exported(store, run.trace.run))
    shares = []
    for way in WAYS.values():
        answers = [ask(run.state, name, dict(arguments), Owner()) for name, arguments in way]
        if all(answer.found for answer in answers):
            shares.append(sum(len(answer.text().encode()) for answer in answers) / whole)
    return shares


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


def main() -> None:
    """Make the runs, ask, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--stored", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = list(recorded(Path(folder), given.runs))
        pairs = [(run, one) for run in runs for one in asked(run)]
        faults = [fault for run, one in pairs if (fault := wrong(run, one))]
        shares = [share for run in runs for share in bytes_read(run)]
        taken = times(Path(folder) / "large", runs[0], given.stored)
    kinds = {question.split(" zebra")[0].rstrip("?") for _, one in pairs for question in [one.question]}
    print(f"runs: {len(runs)} ({', '.join(sorted({run.trace.run.status or '' for run in runs}))})")
    print(f"questions: {len(pairs)} of {len(kinds)} kinds, answered right: {len(pairs) - len(faults)}")
    for fault in faults:
        print(f"  {fault}")
    middle, worst = 1000 * statistics.median(taken), 1000 * max(taken)
    print(f"query time on {given.stored} runs: median {middle:.1f} ms, worst {worst:.1f} ms")
    print(f"share of the trace that is read: median {statistics.median(shares):.1%}, worst {max(shares):.1%}")


if __name__ == "__main__":
    main()
