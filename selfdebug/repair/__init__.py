"""The loop: calls the stages in order, lets the tests judge, and keeps one patch or puts everything back as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from selfdebug.config import Settings
from selfdebug.errors import ExitCode, PytestRunError
from selfdebug.model import Attempt, Declined, ProbeReport, Repair
from selfdebug.pytest_process import Interpreter, adopting
from selfdebug.repair.attempt import attempt
from selfdebug.repair.bench import Bench, Events
from selfdebug.repair.candidates import untested
from selfdebug.repair.choice import Chooser
from selfdebug.repair.diagnosing import NotDiagnosed, diagnosed
from selfdebug.repair.grouping import Group, groups
from selfdebug.repair.ingest import Ended, Ingested, ingest
from selfdebug.repair.interruption import interruptible
from selfdebug.repair.outcome import (
    Work,
    declined,
    ended,
    exhausted,
    interrupted,
    partly_kept,
    passed,
    probed,
    proposed_only,
    run_failed,
)
from selfdebug.repair.progress import progress
from selfdebug.repair.refusing import contradiction
from selfdebug.reports.run_document import document
from selfdebug.trace import mapping as record
from selfdebug.trace.owner import owner_of
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import RunStatus
from selfdebug.trace.settings import load as load_trace_settings
from selfdebug.workspace import Workspace, new_run_id

__all__ = ["probe_failure", "repair"]


def repair(settings: Settings, log: bytes | None, events: Events, choose: Chooser | None = None) -> Repair:
    """Repair what fails, or put everything back.

    `log` is captured output to start from (None: the tests are run); `choose` is asked which plausible patch to keep
    (None: the one that comes first), and what it took stays when other tests still fail. Ends with a Repair for
    everything that the tests and the project can do; raises UsageError children for a run that cannot begin, and rolls
    back before any other exception leaves. SIGINT, SIGTERM and SIGHUP roll back and end with exit code 130.
    """
    with open_bench(settings, events) as bench:
        bench.choose = choose
        work = Work(is_asked=choose is not None)
        try:
            with interruptible(), _rolled_back_unless_kept(bench):
                done = _repaired(bench, log, work)
        except PytestRunError as error:
            done = run_failed(bench, work, error)
        except KeyboardInterrupt:
            done = interrupted(bench, work)
        return _recorded(bench, done)


def _recorded(bench: Bench, done: Repair) -> Repair:
    if done.rollback:
        with bench.step("rollback", "putting everything back") as step:
            record.rolled_back(step, done.sentence, tuple(bench.originals), done.backup)
            record.files_checked(step, tuple(bench.originals), bench.conflicts)
    with bench.step("report", "the end of the run") as step:
        record.reported(step, done)
        bench.recorder.report(document(done))
    bench.recorder.end(_STATUS.get(ExitCode(done.exit_code), RunStatus.FAILED))
    return replace(done, warnings=(*done.warnings, *bench.recorder.warnings))


def _record_early_end(bench: Bench) -> None:
    """What a run that an error ended leaves in the trace; nothing where the run has ended in order."""
    recorder = bench.recorder
    if recorder.is_open and bench.originals and not bench.settings.dry_run:
        with recorder.step("rollback", "putting everything back") as step:
            record.rolled_back(step, "an error ended the run", tuple(bench.originals))
            record.files_checked(step, tuple(bench.originals), bench.conflicts)
    recorder.end(RunStatus.CRASHED)


_STATUS = {
    ExitCode.PASS: RunStatus.PASSED,
    ExitCode.ROLLED_BACK: RunStatus.ROLLED_BACK,
    ExitCode.INTERRUPTED: RunStatus.INTERRUPTED,
}


def probe_failure(settings: Settings, log: bytes | None, events: Events) -> ProbeReport:
    """Look at the failing statements with probes, without proposing anything. Nothing is written."""
    with open_bench(settings, events) as bench:
        found = ingest(bench, log)
        if isinstance(found, Ended):
            return probed(bench, found, ())
        diagnoses = [diagnosed(bench, group) for group in groups(found.failures)]
        return probed(bench, found, diagnoses)


# ---------------------------------------------------------------- the loop


def _repaired(bench: Bench, log: bytes | None, work: Work) -> Repair:
    with bench.step("ingest", "reading what fails") as step:
        found = ingest(bench, log)
        record.ingest(step, found.failures, "pytest" if log is None else "the captured log")
    if isinstance(found, Ended):
        return ended(bench, found)
    work.ingested = found
    if found.run is None:
        return _dry(bench, found, work)
    pending = groups(found.failures)
    while pending and work.fruitless < bench.settings.max_attempts:
        group = pending.pop(0)
        case = diagnosed(bench, group)
        if isinstance(case, NotDiagnosed):
            work.give_up(group, case.sentence)
            continue
        bench.remember(case.diagnosis)
        against = contradiction(bench, case)
        if against is not None:
            work.refuse(group, case.diagnosis, against)
            continue
        turn = attempt(bench, len(work.attempts) + 1, case, bench.settings.max_candidates)
        work.attempts.append(turn)
        if turn.kept is not None:
            work.solved(bench, turn.kept)
            pending = _left(bench, [*pending, *_set_aside(work)])
            work.forget_solved(bench.last_suite)
        elif turn.declined is not None:
            pending = _declined(work, turn.declined, group, pending)
        else:
            pending = _moved_on(bench, work, turn, group) + pending
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
        work.give_up(group, "No candidate made it pass.")
        return []
    bench.say("keep", f"{step.candidate.guard} moved the crash; going on from there")
    bench.write(step.patch.file, step.patch.after)
    work.tentative.append(step.patch)
    return [(step.next_failure,)]


def _set_aside(work: Work) -> list[Group]:
    """The tests that failed at first and were not given up: where a crash moved, only the first of a group went on."""
    given_up = {failure.node_id for group, _ in work.given_up for failure in group}
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


def _dry(bench: Bench, found: Ingested, work: Work) -> Repair:
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


# ---------------------------------------------------------------- safety


@contextmanager
def open_bench(settings: Settings, events: Events) -> Iterator[Bench]:
    """The place of work: an interrupted run is finished first, then the project is ours until the end."""
    run_id = new_run_id()
    owner = owner_of(settings.session, os.environ)
    workspace = Workspace.open(settings.root, settings.backup_dir)
    interpreter = Interpreter.find(settings.python).limited(settings.memory_limit)
    with _claimed(workspace, settings.dry_run, run_id) as state_dir, adopting():
        recovery = workspace.recover()
        trace_settings = load_trace_settings(settings.root / "pyproject.toml")
        recorder = Recorder.open(
            state_dir, run_id, owner.session, trace_settings, one_shot=owner.one_shot, project=settings.root
        )
        bench = Bench(settings, interpreter, workspace, run_id, events, recorder)
        if recovery is not None:
            bench.warnings.append(recovery.sentence)
        try:
            yield bench
        finally:
            bench.side_by_side.close()
            _record_early_end(bench)


@contextmanager
def _claimed(workspace: Workspace, is_dry: bool, run_id: str) -> Iterator[Path]:
    """Hold the project, and name the folder for the trace.

    A dry run writes nothing into a project where no run has been before: its trace is kept with the user's state.
    """
    if is_dry and not workspace.state_dir.exists():
        with workspace.dry_trace() as folder:
            yield folder
        return
    with workspace.lock(run_id):
        yield workspace.state_dir


@contextmanager
def _rolled_back_unless_kept(bench: Bench) -> Iterator[None]:
    try:
        yield
    finally:
        if bench.originals and not bench.settings.dry_run and not bench.is_settled:
            bench.roll_back()
