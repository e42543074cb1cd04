"""The loop: calls the stages in order, lets the tests judge, and says how the run ends."""

from __future__ import annotations

from selfdebug.errors import ExitCode
from selfdebug.model import Attempt, Declined, ProbeReport, Repair
from selfdebug.repair.alike import model_for
from selfdebug.repair.attempt import attempt
from selfdebug.repair.bench import Bench
from selfdebug.repair.candidates import untested
from selfdebug.repair.diagnosing import Case, NotDiagnosed, diagnosed
from selfdebug.repair.grouping import Group, groups
from selfdebug.repair.ingest import Ingested
from selfdebug.repair.outcome import Work, declined, exhausted, partly_kept, passed, proposed_only
from selfdebug.repair.progress import progress
from selfdebug.repair.refusing import contradiction
from selfdebug.stages.diagnose import untaken


def repaired(bench: Bench, found: Ingested, work: Work) -> Repair:
    """Attempt by attempt, until nothing fails any more or nothing is left to try."""
    pending = groups(found.failures)
    while pending and work.fruitless < bench.settings.max_attempts:
        group, *others = pending
        pending = _after_a_turn(bench, work, group, others)
    return _ended(bench, work, pending)


def _after_a_turn(bench: Bench, work: Work, group: Group, others: list[Group]) -> list[Group]:
    """What is left to do when a group was attempted and `others` wait."""
    case = diagnosed(bench, group)
    if isinstance(case, NotDiagnosed):
        work.give_up(group, case.sentence)
        return others
    bench.remember(case.diagnosis)
    against = contradiction(bench, case)
    if against is not None:
        work.refuse(group, case.diagnosis, against)
        return others
    budget, model = bench.settings.max_candidates, model_for(work, case)
    turn = attempt(bench, len(work.attempts) + 1, case, budget, model)
    work.attempts.append(turn)
    if turn.kept is not None:
        work.solved(bench, turn.kept)
        left = _left(bench, [*others, *_set_aside(work)])
        work.forget_solved(bench.last_suite)
        return left
    if turn.declined is not None:
        return _declined(work, turn.declined, group, others)
    return _moved_on(bench, work, turn, group) + others


def _ended(bench: Bench, work: Work, pending: list[Group]) -> Repair:
    """The end of the run; `pending` are the groups that no turn was left for."""
    if work.kept and not pending and not work.given_up and not work.tentative:
        return passed(bench, work)
    for group in pending:
        work.give_up(group, f"The limit of {bench.settings.max_attempts} attempts was reached.")
    if work.good and (bench.settings.keep_partial or work.is_asked):
        return partly_kept(bench, work)
    if any(turn.declined for turn in work.attempts):
        return declined(bench, work)
    return exhausted(bench, work)


def _declined(work: Work, said: Declined, group: Group, pending: list[Group]) -> list[Group]:
    """What is left to do when a person took no patch for a group."""
    if said is Declined.SKIPPED:
        work.give_up(group, "It was skipped.")
        return pending
    for left in (group, *pending):
        work.give_up(left, "The run was stopped before it was repaired.")
    return []


def _moved_on(bench: Bench, work: Work, turn: Attempt, group: Group) -> list[Group]:
    """What to try next after an attempt without a plausible patch: the crash that its best trial uncovered, if any."""
    step = progress(turn.trials, group)
    if step is None or step.patch is None or step.next_failure is None:
        work.give_up(group, f"No candidate made it pass{untaken(turn.diagnosis)}.")
        return []
    bench.say("keep", f"{step.candidate.guard} moved the crash; going on from there")
    bench.write(step.patch.file, step.patch.after)
    work.tentative.append(step.patch)
    return [(step.next_failure,)]


def _set_aside(work: Work) -> list[Group]:
    """The tests that failed at first and were not given up: where a crash moved, only the first of a group went on."""
    given_up = {failure.node_id for each in work.given_up for failure in each.group}
    return [(failure,) for failure in work.failures if failure.node_id and failure.node_id not in given_up]


def _left(bench: Bench, pending: list[Group]) -> list[Group]:
    """The waiting failures as they are with the patch that was just kept: lines have moved, some crash elsewhere."""
    waiting = [failure for group in pending for failure in group]
    names = {failure.node_id: None for failure in waiting if failure.node_id}
    runs = [bench.last_suite]
    seen = {name for node, _ in runs[0].outcomes for name in _names(node)}
    unseen = [name for name in names if name not in seen]
    if unseen:  # tests that the suite does not contain
        runs.append(bench.run(unseen))
    live = [failure for run in runs for failure in run.failures if names.keys() & set(_names(failure.node_id or ""))]
    return groups([*live, *(failure for failure in waiting if not failure.node_id)])


def _names(node_id: str) -> tuple[str, str]:
    """What a test may have been called: by the name of its file, when that could not be collected."""
    return node_id, node_id.partition("::")[0]


def dry(bench: Bench, found: Ingested, work: Work) -> Repair:
    """A dry run over a captured log: nothing runs, so the proposal is the first that fits, and is called untested."""
    for group in groups(found.failures):
        case = diagnosed(bench, group, run_tests=False)
        if isinstance(case, NotDiagnosed):
            work.give_up(group, case.sentence)
            continue
        patch = untested(bench, case)
        work.attempts.append(Attempt(len(work.attempts) + 1, case.diagnosis, (), patch))
        if patch is not None:
            bench.write(patch.file, patch.after)
    return proposed_only(bench, work)


def probed(bench: Bench, found: Ingested) -> ProbeReport:
    """What `selfdebug probe` reports of the failures."""
    cases = [diagnosed(bench, group) for group in groups(found.failures)]
    seen = tuple(case.diagnosis for case in cases if isinstance(case, Case))
    sentence = " ".join(case.diagnosis.sentence if isinstance(case, Case) else case.sentence for case in cases)
    reason = "probed" if seen else "not-probed"
    warnings = tuple(bench.warnings)
    return ProbeReport(bench.run_id, ExitCode.STILL_FAILING, reason, sentence, found.failures, seen, warnings)
