"""The inside of a job's process: one task in a copy of the project, which is removed at its end."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from selfdebug.batch.causes import cause_of
from selfdebug.batch.combine import change_of
from selfdebug.batch.orders import Answer, Causes, FindCauses, Order, Refused, Repaired, RepairTests, RunSuite, SuiteRun
from selfdebug.config import Settings
from selfdebug.errors import ExitCode, PytestRunError, SelfdebugError
from selfdebug.model import Outcome
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.repair import open_bench, repair
from selfdebug.repair.grouping import groups
from selfdebug.repair.ingest import Ended, ingest
from selfdebug.repair.interruption import interruptible
from selfdebug.reports.run_document import document
from selfdebug.workspace.frozen import FrozenTree

_LOOK_SECONDS = 0.5


def main(order: str, answer: str) -> None:
    """Carry out the pickled order, and leave the pickled answer."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with interruptible():
        given = carried_out(pickle.loads(Path(order).read_bytes()))  # our own file, in a folder that is only ours
    if isinstance(given, Repaired) and given.report["exit_code"] == ExitCode.INTERRUPTED:
        sys.exit(int(ExitCode.INTERRUPTED))  # by whomever: this is no result of the repair
    part = Path(f"{answer}.part")
    part.write_bytes(pickle.dumps(given))
    part.rename(answer)


def _end_with(parent: int) -> None:
    """Go down with the process that waits for the answer, when that is killed."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def carried_out(order: Order) -> Answer:
    """The answer to one order; what a run refuses is an answer, too."""
    changed = order.task.changed if isinstance(order.task, RunSuite) else {}
    try:
        frozen = FrozenTree.reopen(order.folder)
        with frozen.copy(order.name, changed) as root:
            _import_from([frozen.place_of_copy(order.name) / folder for folder in order.sources])
            return _answer(order, replace(order.settings, root=root, backup_dir=None, dry_run=False))
    except SelfdebugError as error:
        return Refused(str(error))


def _answer(order: Order, settings: Settings) -> Answer:
    match order.task:
        case FindCauses():
            return _causes(settings, order.settings.root)
        case RepairTests(known=known):
            return _repaired(settings, known)
        case RunSuite():
            return _suite(settings)


def _import_from(folders: list[Path]) -> None:
    """Let the tests import the copied modules, also where the original is installed in an editable way."""
    former = os.environ.get("PYTHONPATH")
    if folders:
        os.environ["PYTHONPATH"] = os.pathsep.join([*map(str, folders), *([former] if former else [])])


def _causes(settings: Settings, project: Path) -> Causes:
    """What fails; nobody knows or finds the copy any more, so a sentence names the project instead."""
    with open_bench(replace(settings, dry_run=True), lambda _event: None) as bench:
        found = ingest(bench, None)
    if isinstance(found, Ended):
        sentence = found.sentence.replace(str(settings.root), str(project))
        return Causes((), {}, sentence, nothing_failed=found.reason == "nothing-failed")
    return Causes(tuple(map(cause_of, groups(found.failures))), bench.known)


def _repaired(settings: Settings, known: Mapping[str, Outcome]) -> Repaired:
    done = repair(settings, None, lambda _event: None, known=known)
    kept = [each for each in done.diffs if each.file in done.files_patched]
    suite = next((run for run in reversed(done.runs) if not run.proposed), None)
    return Repaired(
        report=document(done),
        changes=tuple(map(change_of, kept)),
        originals={each.file: each.before for each in kept},
        still_failing=suite.failed if suite is not None else (),
        is_passing=done.exit_code == ExitCode.PASS,
    )


def _suite(settings: Settings) -> SuiteRun:
    interpreter = Interpreter.find(settings.python)
    try:
        request = PytestRequest(interpreter, settings.root, pytest_args=settings.pytest_args, timeout=settings.timeout)
        run = run_pytest(request, run_id="together")
    except PytestRunError as error:
        return SuiteRun((), str(error))
    if not run.ended:
        return SuiteRun(run.failed, "the run of the whole suite did not come to its end")
    return SuiteRun(run.failed)
