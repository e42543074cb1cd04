"""Do the quick trials say what fresh processes say? All candidates for the shared shapes of crashes, judged both ways.

    python -m benchmarks tier-agreement [--each N] [--python PATH]

Prints a line a shape and, at the end, each disagreement that reaches a verdict, of which there should be none.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.subjects import copied, patches, shapes, spread
from selfdebug.model import Failure, Patch, PytestRun, Tier
from selfdebug.pytest_process import Interpreter, WarmServer, run_pytest
from selfdebug.stages.validate import judge

TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Compared:
    """One candidate judged both ways; `warm` is None where the quick way says nothing, for the reason `problem`."""

    patch: Patch
    warm: str | None
    fresh: str
    problem: str | None

    @property
    def agrees(self) -> bool:
        """Whether the quick way says the same or nothing."""
        return self.warm in (None, self.fresh)


def compared(interpreter: Interpreter, root: Path, each: int) -> list[Compared]:
    """Judge `each` candidates (as many as there are, at most) for the first failure of a project."""
    before = run_pytest(interpreter, root)
    if not before.failures or before.failures[0].node_id is None:
        return []
    targets = [failure for failure in before.failures if failure.node_id == before.failures[0].node_id]
    node_ids = [before.failures[0].node_id]
    found = []
    with WarmServer(interpreter, root, node_ids=node_ids) as server:
        for patch in spread(patches(root, targets[0]), each):
            sources = {patch.file: patch.after}
            warm = server.run(sources, TIMEOUT)
            problem = server.problem
            fresh = run_pytest(interpreter, root, node_ids=node_ids, sources=sources, timeout=TIMEOUT)
            verdict = None if warm is None else said(patch, targets, warm, Tier.WARM)
            found.append(Compared(patch, verdict, said(patch, targets, fresh, Tier.FRESH), problem))
    return found


def said(patch: Patch, targets: list[Failure], run: PytestRun, tier: Tier) -> str:
    """The verdict, and how the test fails now."""
    trial = judge(patch, targets, run, tier)
    new = trial.next_failure
    return trial.verdict.value if new is None else f"{trial.verdict.value}: {new.exception.type} at {new.deepest}"


def main(arguments: list[str]) -> int:
    """Measure; return 1 when there is a disagreement."""
    parser = argparse.ArgumentParser(prog="tier-agreement", description=__doc__)
    parser.add_argument("--each", type=int, default=100, help="so many candidates a shape")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args(arguments)
    interpreter = Interpreter.find(options.python)
    everything: list[Compared] = []
    for shape in shapes():
        with tempfile.TemporaryDirectory() as folder:
            found = compared(interpreter, copied(shape, Path(folder) / "project"), options.each)
        everything += found
        told = sum(each.warm is not None for each in found)
        reasons = Counter(each.problem for each in found if each.warm is None)
        print(f"{shape.name:32} {len(found):4} candidates, {told:4} judged warm", dict(reasons) or "", flush=True)
    wrong = [each for each in everything if not each.agrees]
    told = sum(each.warm is not None for each in everything)
    print(f"{len(everything)} candidates, {told} judged warm, {len(wrong)} disagreements")
    for each in wrong:
        print(f"  {each.patch.candidate.guard} in {each.patch.file}: warm {each.warm}, fresh {each.fresh}")
    return bool(wrong)
