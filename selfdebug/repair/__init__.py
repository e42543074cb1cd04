"""A run from its beginning to its end: one patch is kept, or everything put back as it was.

What comes after the first run of the tests is in `loop`, which is imported while that goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from codemods.selfdebug.registry import guards
from selfdebug.config import Settings
from selfdebug.errors import ExitCode, PytestRunError, SelfdebugError
from selfdebug.model import Outcome, ProbeReport, Repair
from selfdebug.pytest_process import Interpreter, adopting
from selfdebug.repair.bench import Bench, Events
from selfdebug.repair.choice import Chooser
from selfdebug.repair.ingest import Ended, ingest
from selfdebug.repair.interruption import interruptible
from selfdebug.repair.outcome import Work, ended, interrupted, not_probed, run_failed
from selfdebug.reports.run_document import document
from selfdebug.trace import mapping as record
from selfdebug.trace.owner import owner_of
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.records import RunStatus
from selfdebug.trace.settings import load as load_trace_settings
from selfdebug.workspace import Recovery, Workspace, new_run_id

__all__ = ["probe_failure", "repair"]

NOTHING_KNOWN: Mapping[str, Outcome] = MappingProxyType({})


def repair(
    settings: Settings,
    log: bytes | None,
    events: Events,
    choose: Chooser | None = None,
    known: Mapping[str, Outcome] = NOTHING_KNOWN,
) -> Repair:
    """Repair what fails, or put everything back.

    `log` is captured output to start from (None: the tests are run); `choose` is asked which plausible patch to keep
    (None: the one that comes first), and what it took stays when other tests still fail; `known` are the outcomes of
    tests, by node id, with the files as they are. Ends with a Repair for everything that the tests and the project can
    do; raises UsageError children for a run that cannot begin, and rolls back before any other exception leaves.
    SIGINT, SIGTERM and SIGHUP roll back and end with exit code 130.
    """
    with open_bench(settings, events) as bench:
        bench.choose = choose
        bench.known.update(known)
        work = Work(is_asked=choose is not None)
        try:
            with interruptible(), _rolled_back_unless_kept(bench):
                done = _begun(bench, log, work)
        except PytestRunError as error:
            done = run_failed(bench, work, error)
        except KeyboardInterrupt:
            done = interrupted(bench, work)
        return _recorded(bench, done)


def _begun(bench: Bench, log: bytes | None, work: Work) -> Repair:
    found = ingest(bench, log)
    if isinstance(found, Ended):
        return ended(bench, found)
    from selfdebug.repair import loop

    work.ingested = found
    return loop.dry(bench, found, work) if found.run is None else loop.repaired(bench, found, work)


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


def _record_other_end(bench: Bench, status: RunStatus, sentence: str) -> None:
    """What a run without a report leaves in the trace: an error ended it, or it only looked (without a sentence)."""
    recorder = bench.recorder
    if not recorder.is_open:
        return
    if bench.originals and not bench.settings.dry_run:
        with recorder.step("rollback", "putting everything back") as step:
            record.rolled_back(step, sentence, tuple(bench.originals))
            record.files_checked(step, tuple(bench.originals), bench.conflicts)
    elif sentence:
        with recorder.step("report", "the end of the run") as step:
            record.ended_early(step, sentence)
    recorder.end(status)


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
            return not_probed(bench, found)
        from selfdebug.repair import loop

        return loop.probed(bench, found)


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
        recorder = Recorder.open(state_dir, run_id, owner, trace_settings, project=settings.root)
        bench = Bench(settings, interpreter, workspace, run_id, events, recorder)
        bench.meanwhile = partial(_load_the_rest, workspace)
        if recovery is not None:
            bench.warnings.append(recovery.sentence)
        status, sentence = RunStatus.CRASHED, "An error of selfdebug itself ended the run."
        try:
            yield bench
            status, sentence = RunStatus.LOOKED, ""
        except SelfdebugError as error:
            status, sentence = RunStatus.FAILED, str(error)
            _note(error, recovery)
            raise
        except KeyboardInterrupt as error:
            status, sentence = RunStatus.INTERRUPTED, "It was interrupted."
            _note(error, recovery)
            raise
        finally:
            bench.side_by_side.close()
            _record_other_end(bench, status, sentence)


def _note(error: BaseException, recovery: Recovery | None) -> None:
    """Let an error carry what was put back before it: there will be no report that says so."""
    if recovery is not None:
        error.add_note(recovery.sentence)


def _load_the_rest(workspace: Workspace) -> None:
    """Import what the run needs after its first run of the tests, and is waiting anyway: libcst, pygit2, the stages."""
    import_module("selfdebug.repair.loop")
    guards()
    workspace.find_repository()


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
