"""The beginning of a run: which tests fail, from a captured log checked against the truth or from pytest itself."""

from __future__ import annotations

from dataclasses import dataclass

from selfdebug.errors import ExitCode, InputError
from selfdebug.model import Failure, FinalStatus, Outcome, PytestRun, When
from selfdebug.pytest_process import PytestStartError
from selfdebug.pytest_process.last_words import last_telling_lines
from selfdebug.repair.bench import Bench
from selfdebug.stages.failures import read_log
from selfdebug.stages.failures.node_ids import node_ids_to_run
from selfdebug.terminal import counted
from selfdebug.trace import mapping as record

_EXIT_USAGE = 4
_EXIT_NO_TESTS = 5


@dataclass(frozen=True, slots=True)
class Ingested:
    """The failures to work on, and the run that showed them (None when a log was only read, on a dry run)."""

    failures: tuple[Failure, ...]
    run: PytestRun | None


@dataclass(frozen=True, slots=True)
class Ended:
    """There is nothing to repair, or nothing that can be: the run ends here, with one sentence."""

    exit_code: ExitCode
    reason: str
    status: FinalStatus
    sentence: str
    failures: tuple[Failure, ...] = ()
    run: PytestRun | None = None


def ingest(bench: Bench, log: bytes | None) -> Ingested | Ended:
    """Find out what fails, as the first step of a run. Raises PytestRunError when pytest gives no usable answer."""
    with bench.step("ingest", "reading what fails") as step:
        found = _failing(bench, log)
        record.ingest(step, found.failures, "pytest" if log is None else "the captured log")
    return found


def _failing(bench: Bench, log: bytes | None) -> Ingested | Ended:
    if log is None:
        bench.say("ingest", "running the tests")
        return _of_run(bench, _first_run(bench, bench.settings.node_ids))
    bench.say("ingest", "reading the captured output")
    read = read_log(log, bench.settings.root, bench.settings.log_root)
    bench.warnings.extend(read.notes)
    if not log.strip():
        raise InputError("The log is empty: give a file that holds the output of a failing test run.")
    if not read.failures:
        return Ended(
            ExitCode.PASS,
            "nothing-failed",
            FinalStatus.PASS,
            "The log holds no failure that selfdebug recognises; nothing was run and nothing was changed.",
        )
    if not any(failure.deepest for failure in read.failures) and not _may_be_named(read.failures):
        return _outside(read.failures, None)
    if bench.settings.dry_run:
        return _without_running(read.failures)
    return _reproduced(bench, read.failures)


def _may_be_named(failures: tuple[Failure, ...]) -> bool:
    """Whether some failures are only named, without a traceback, as `--tb=no` leaves them."""
    return any(failure.node_id and not failure.frames for failure in failures)


def _first_run(bench: Bench, node_ids: tuple[str, ...]) -> PytestRun:
    """The tests as they are. A conftest that cannot be imported is a failure like another; the run then tells it."""
    try:
        return bench.run(node_ids) if node_ids else bench.run_suite(calls=bench.sees_calls_cheaply)
    except PytestStartError as error:
        if any(failure.deepest for failure in error.run.failures):
            return error.run
        raise


def _without_running(failures: tuple[Failure, ...]) -> Ingested | Ended:
    if any(failure.deepest for failure in failures):
        return Ingested(failures, None)
    return _outside(failures, None)


def _reproduced(bench: Bench, failures: tuple[Failure, ...]) -> Ingested | Ended:
    node_ids, unmapped = node_ids_to_run(failures, bench.settings.root)
    bench.warnings.extend(unmapped)
    wanted = bench.settings.node_ids or node_ids
    if not wanted and all(failure.node_id for failure in failures):
        return _elsewhere(failures)
    bench.say("ingest", f"running {counted(len(wanted), 'test')} that the log names" if wanted else "running the tests")
    run = _first_run(bench, wanted)
    if run.exit_code == _EXIT_USAGE and wanted:
        return _elsewhere(failures, run)
    record.compared_with_log(bench.open_steps[-1], wanted, run)
    found = _of_run(bench, run)
    if isinstance(found, Ingested) and not wanted:
        alike = tuple(live for live in found.failures if any(_is_alike(live, logged) for logged in failures))
        found = Ingested(alike, run) if alike else _gone(failures, run)
    if isinstance(found, Ended) and found.reason in ("nothing-failed", "no-tests"):
        return _gone(failures, run)
    return found


def _is_alike(live: Failure, logged: Failure) -> bool:
    """Whether a failure here may be the one of a log that names no test: the same exception in the same function."""
    one, other = live.crash, logged.crash
    if one.deepest is None or other.deepest is None:
        return False
    place = (one.deepest.file, one.deepest.function)
    return one.exception.short_type == other.exception.short_type and place == (
        other.deepest.file,
        other.deepest.function,
    )


def _still_failing(reason: str, sentence: str, failures: tuple[Failure, ...], run: PytestRun | None) -> Ended:
    return Ended(ExitCode.STILL_FAILING, reason, FinalStatus.FAIL, sentence, failures, run)


def _gone(failures: tuple[Failure, ...], run: PytestRun) -> Ended:
    sentence = (
        f"The failure in the log ({_named(failures[0])}) does not happen here. "
        "Nothing was changed; check that the log belongs to this state of the project."
    )
    return _still_failing("not-reproduced", sentence, failures, run)


def _elsewhere(failures: tuple[Failure, ...], run: PytestRun | None = None) -> Ended:
    sentence = (
        f"The tests that the log names do not exist here ({_named(failures[0])}). "
        "Nothing was changed; check --root, and that the log belongs to this project."
    )
    return _still_failing("not-reproduced", sentence, failures, run)


def _of_cut_run(bench: Bench, run: PytestRun) -> Ended | None:
    """What is said of a run that did not come to its end; None for one that did."""
    if run.timed_out:
        reason = "timeout"
        sentence = (
            f"The tests did not end within {bench.settings.timeout:g} s; raise --timeout or name tests with --module."
        )
    elif run.out_of_memory:
        reason = "out-of-memory"
        sentence = (
            f"The tests need more than the {bench.settings.memory_limit} MB that memory-limit allows each process; "
            "raise it, or name tests with --module."
        )
    elif not run.ended and not any(failure.when is When.COLLECT for failure in run.failures):
        reason = "not-ended"
        sentence = (
            "pytest was ended from within before its session was over (os._exit, a crash of the interpreter); "
            "its results prove nothing, so nothing was changed."
        )
    else:
        return None
    return _still_failing(reason, sentence, run.failures, run)


def _of_run(bench: Bench, run: PytestRun) -> Ingested | Ended:
    bench.known.update(run.outcomes)
    cut = _of_cut_run(bench, run)
    if cut is not None:
        return cut
    if run.failures:
        if any(failure.deepest for failure in run.failures):
            return Ingested(run.failures, run)
        return _outside(run.failures, run)
    if run.exit_code == _EXIT_NO_TESTS or not run.outcomes:
        said = f" ({last_telling_lines(run.output)})" if run.exit_code == _EXIT_USAGE else ""
        where = bench.settings.root
        sentence = f"pytest collected no tests under {where}{said}; check --root, --module and --pytest-args."
        return _still_failing("no-tests", sentence, (), run)
    passed = sum(1 for _, outcome in run.outcomes if outcome is Outcome.PASSED)
    return Ended(
        ExitCode.PASS, "nothing-failed", FinalStatus.PASS, f"Nothing failed: {counted(passed, 'test')} passed.", (), run
    )


def _outside(failures: tuple[Failure, ...], run: PytestRun | None) -> Ended:
    return Ended(
        ExitCode.NO_PROJECT_FRAME,
        "no-project-frame",
        FinalStatus.FAIL,
        f"FATAL: no frame of {_named(failures[0])} lies inside the project, so there is nothing to repair here.",
        failures,
        run,
    )


def _named(failure: Failure) -> str:
    what = f"{failure.exception.short_type}: {failure.exception.message}".splitlines()[0][:120]
    return f"{failure.node_id}: {what}" if failure.node_id else what
