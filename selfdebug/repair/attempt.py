"""One turn of the loop: the candidates for one crash site, and the first that the tests accept."""

from __future__ import annotations

from selfdebug.model import Attempt, Trial, Verdict
from selfdebug.repair.bench import Bench
from selfdebug.repair.candidates import rounds
from selfdebug.repair.diagnosing import Case
from selfdebug.repair.grouping import MAX_SCREENED, node_ids
from selfdebug.repair.pins import pinned
from selfdebug.repair.progress import progress
from selfdebug.repair.trials import judged, without
from selfdebug.trace import mapping as record


def attempt(bench: Bench, number: int, case: Case, budget: int) -> Attempt:
    """Try the candidates for a diagnosis, most likely first, and keep the first that the whole suite accepts.

    At most `budget` candidates are run. The kept patch is on disk (in memory on a dry run) when this returns.
    """
    group, diagnosis = case.group, case.diagnosis
    bench.prepare_screening(group[:MAX_SCREENED], node_ids(group))
    trials: list[Trial] = []
    tried = 0
    for patches in rounds(bench, case, trials):
        for patch in patches:
            if tried == budget:
                bench.warnings.append(f"The limit of {bench.settings.max_candidates} candidates was reached.")
                return Attempt(number, diagnosis, tuple(trials), None)
            if patch.candidate.is_hard_coded and progress(trials, group) is not None:
                return Attempt(
                    number, diagnosis, tuple(trials), None
                )  # a second guard is better than the answer itself
            tried += 1
            trial = judged(bench, patch, group, f"candidate {tried}")
            trials.append(trial)
            if trial.verdict is Verdict.PLAUSIBLE:
                with bench.step("keep", f"keeping {patch.candidate.guard}") as step:
                    record.kept(step, patch, bench.recorder.last("try"))
                    record.unpatched(step, node_ids(group), without(bench, patch, group))
                with bench.step("pin", "looking at what the tests hold of the patch") as step:
                    pins = pinned(bench, patch, group)
                    record.pinned(step, pins)
                return Attempt(number, diagnosis, tuple(trials), patch, pins)
    return Attempt(number, diagnosis, tuple(trials), None)
