"""How a run ends: each way to end it makes one Repair, with its exit code, its reason and one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from selfdebug.errors import ExitCode, PytestRunError
from selfdebug.model import (
    Attempt,
    Diagnosis,
    EditedFile,
    Failure,
    FinalStatus,
    Patch,
    ProbeReport,
    PytestRun,
    Repair,
    Trial,
    Verdict,
)
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import Group
from selfdebug.repair.ingest import Ended, Ingested
from selfdebug.stages.validate import is_same_crash
from selfdebug.terminal import counted

_MOST_STEPS = 30


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Failures that are left as they are, and why."""

    group: Group
    sentence: str


@dataclass
class Work:
    """What a run has done so far. `good` holds the bytes of each file after the last patch that the suite accepted.

    `is_asked` says that a person takes the patches.
    """

    ingested: Ingested | None = None
    attempts: list[Attempt] = field(default_factory=list)
    kept: list[Patch] = field(default_factory=list)
    tentative: list[Patch] = field(default_factory=list)
    good: dict[str, bytes] = field(default_factory=dict)
    given_up: list[GivenUp] = field(default_factory=list)
    is_asked: bool = False

    @property
    def tried(self) -> int:
        """How many candidates were run."""
        return sum(trial.verdict is not Verdict.REFUSED for turn in self.attempts for trial in turn.trials)

    @property
    def fruitless(self) -> int:
        """How many turns kept nothing: those that did do not count against the limit.

        Nor do those, up to a number, that only took a guard on to the next place that crashes in the same way.
        """
        steps = sum(turn.leads_on for turn in self.attempts)
        nothing_kept = sum(turn.kept is None and bool(turn.trials) for turn in self.attempts)
        return nothing_kept - min(steps, _MOST_STEPS)

    def give_up(self, group: Group, sentence: str) -> None:
        """Remember that a group of failures is left as it is, and why."""
        self.given_up.append(GivenUp(group, sentence))

    def refuse(self, group: Group, diagnosis: Diagnosis, sentence: str) -> None:
        """Remember that the evidence about a group is against any guard: its diagnosis is all that is told."""
        self.attempts.append(Attempt(len(self.attempts) + 1, diagnosis, (), None))
        self.give_up(group, sentence)

    def solved(self, bench: Bench, patch: Patch) -> None:
        """Remember the accepted state: the patch, and the tentative ones that it stands on."""
        self.kept.extend([*self.tentative, patch])
        self.tentative.clear()
        self.good = dict(bench.edited)

    def forget_solved(self, suite: PytestRun) -> None:
        """Take back having given up on tests that a later patch made pass as well."""
        still_failing = {None, *suite.failed}
        left = (
            replace(each, group=tuple(failure for failure in each.group if failure.node_id in still_failing))
            for each in self.given_up
        )
        self.given_up = [each for each in left if each.group]

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures that the run began with."""
        return self.ingested.failures if self.ingested else ()


@dataclass(frozen=True, slots=True)
class Ending:
    """What is said at the end of a run, whatever was done before."""

    exit_code: ExitCode
    reason: str
    status: FinalStatus
    sentence: str


def ended(bench: Bench, end: Ended) -> Repair:
    """The run had nothing to repair, or nothing that can be."""
    ending = Ending(end.exit_code, end.reason, end.status, end.sentence)
    return replace(_repair(bench, Work(), ending), failures=end.failures)


def passed(bench: Bench, work: Work) -> Repair:
    """Every test of the oracle passes and the patch stays (or, on a dry run, is shown)."""
    where = ", ".join(sorted(bench.changed))
    tests = counted(len({failure.node_id for failure in work.failures}), "failing test")
    bench.warnings.extend(
        f"The default {patch.candidate.default} in {patch.file} is the answer that the failing test expects: "
        "the test passes, but other inputs will get the same answer."
        for patch in work.kept
        if patch.candidate.is_hard_coded
    )
    if bench.settings.dry_run:
        sentence = f"A plausible patch of {where} makes {tests} pass; nothing was written (dry run)."
        return _with_patches(bench, work, Ending(ExitCode.PASS, "dry-run", FinalStatus.PASS, sentence))
    bench.keep(f"selfdebug: {bench.run_id} {where}")
    sentence = f"A plausible patch of {where} makes {tests} pass, and the whole suite shows no regression."
    return _with_patches(bench, work, Ending(ExitCode.PASS, "repaired", FinalStatus.PASS, sentence))


def proposed_only(bench: Bench, work: Work) -> Repair:
    """A dry run over a captured log: what would be tried first, untested."""
    if not bench.changed:
        sentence = work.given_up[0].sentence if work.given_up else "No guard fits the failure in the log."
        return _repair(bench, work, Ending(ExitCode.STILL_FAILING, "no-candidate", FinalStatus.FAIL, sentence))
    sentence = "The first candidate that fits is shown; it is untested, since a dry run over a log runs nothing."
    return _with_patches(bench, work, Ending(ExitCode.PASS, "dry-run-untested", FinalStatus.FAIL, sentence))


def partly_kept(bench: Bench, work: Work) -> Repair:
    """Some failures are repaired and kept (`--keep-partial`), others are not."""
    for file, data in list(bench.edited.items()):
        wanted = work.good.get(file, bench.originals[file])
        if data != wanted:
            bench.write(file, wanted)
    if not bench.settings.dry_run:
        bench.keep(f"selfdebug: {bench.run_id} partial")
    left = sum(len(each.group) for each in work.given_up)
    makes = "it makes" if len(work.kept) == 1 else "each makes"
    sentence = f"Kept: {counted(len(work.kept), 'patch', 'patches')}; {makes} a failing test pass and breaks none. "
    sentence += f"Left: {counted(left, 'failing test')}. {work.given_up[0].sentence}"
    return _with_patches(bench, work, Ending(ExitCode.STILL_FAILING, "partial", FinalStatus.PARTIAL, sentence))


def declined(bench: Bench, work: Work) -> Repair:
    """A person was shown plausible patches and took none of them."""
    _put_back(bench)
    sentence = f"No patch was taken. {work.given_up[0].sentence} Everything is as it was before the run."
    ending = Ending(ExitCode.STILL_FAILING, "declined", FinalStatus.FAIL, sentence)
    return replace(_repair(bench, work, ending), rollback=bool(bench.originals))


def exhausted(bench: Bench, work: Work) -> Repair:
    """Nothing made every test of the oracle pass: all is put back, the best attempt goes on the stash."""
    why = work.given_up[-1].sentence if work.given_up else "No candidate made the failing tests pass."
    if not work.tried:
        ending = Ending(ExitCode.STILL_FAILING, "no-candidate", FinalStatus.FAIL, f"{why} Nothing was changed.")
        return _repair(bench, work, ending)
    wanted = _wanted_of_no_guard(work)
    if wanted is not None:
        return _no_guard_fits(bench, work, wanted)
    backup, refusal = _stashed(bench, work, dict(work.good) or _best(work))
    _put_back(bench)
    tried = counted(work.tried, "candidate")
    sentence = f"None of {tried} is kept. {why} Everything is as it was before the run."
    if work.good:
        sentence += f" {_would_be_kept(bench, work)}"
    if backup:
        sentence += f" The best attempt is kept as {backup[0]}{f' ({refusal})' if refusal else ''}."
    ending = Ending(ExitCode.ROLLED_BACK, "exhausted", FinalStatus.FAIL, sentence)
    return replace(_repair(bench, work, ending), rollback=True, backup=backup)


def _put_back(bench: Bench) -> None:
    if bench.originals and not bench.settings.dry_run:
        bench.roll_back()


def _wanted_of_no_guard(work: Work) -> Failure | None:
    """What a test still complains of when all guards have been tried, and with some of them it no longer crashes."""
    if work.good or not all(turn.is_complete for turn in work.attempts):
        return None
    judged = [trial for turn in work.attempts for trial in turn.trials if trial.verdict is not Verdict.REFUSED]
    complaints = [trial.next_failure for trial in judged if trial.next_failure and _is_complaint(trial.next_failure)]
    is_ineffective = all(trial.verdict is Verdict.INEFFECTIVE for trial in judged)
    return complaints[0] if complaints and is_ineffective else None


def _is_complaint(failure: Failure) -> bool:
    deepest = failure.crash.deepest
    return failure.crash.exception.short_type == "AssertionError" and deepest is not None and deepest.is_test


def _no_guard_fits(bench: Bench, work: Work, wanted: Failure) -> Repair:
    """The evidence is against any guard: the diagnosis is the answer."""
    _put_back(bench)
    said = (wanted.crash.exception.message.splitlines() or [""])[0][:160]
    sentence = (
        f"No guard gives what {wanted.node_id} asserts ({said}): {counted(work.tried, 'candidate')} tried, none kept."
    )
    ending = Ending(ExitCode.STILL_FAILING, "no-guard-fits", FinalStatus.FAIL, sentence)
    return replace(_repair(bench, work, ending), rollback=bool(bench.originals))


def _would_be_kept(bench: Bench, work: Work) -> str:
    """What of a rolled-back run the suite had accepted, which `--keep-partial` keeps."""
    files = ", ".join(sorted(file for file, data in work.good.items() if data != bench.originals[file]))
    repaired = [turn.diagnosis.failure.node_id or "?" for turn in work.attempts if turn.kept is not None]
    more = f" and {len(repaired) - 1} more" if len(repaired) > 1 else ""
    return f"The patch of {files} that makes {repaired[0]}{more} pass would be kept with --keep-partial."


def run_failed(bench: Bench, work: Work, error: PytestRunError) -> Repair:
    """pytest gave no usable answer; what had been written is rolled back already."""
    ending = Ending(ExitCode.STILL_FAILING, error.reason, FinalStatus.FAIL, str(error))
    return replace(_repair(bench, work, ending), rollback=bool(bench.originals))


def interrupted(bench: Bench, work: Work) -> Repair:
    """Ctrl-C, SIGTERM or SIGHUP; what had been written is rolled back already."""
    sentence = "Interrupted: everything is as it was before the run."
    ending = Ending(ExitCode.INTERRUPTED, "interrupted", FinalStatus.FAIL, sentence)
    return replace(_repair(bench, work, ending), rollback=True)


def not_probed(bench: Bench, found: Ended) -> ProbeReport:
    """What `selfdebug probe` reports where there is nothing to look at."""
    return ProbeReport(
        bench.run_id, found.exit_code, found.reason, found.sentence, found.failures, warnings=tuple(bench.warnings)
    )


def _best(work: Work) -> dict[str, bytes]:
    """The file of the trial that came furthest: one that moved the crash, else the most likely one."""
    patches = [(trial, trial.patch) for turn in work.attempts for trial in turn.trials if trial.patch is not None]
    best = min(patches, key=lambda entry: _distance(work, entry[0]), default=None)
    return {best[1].file: best[1].after} if best is not None else {}


def _distance(work: Work, trial: Trial) -> int:
    order = (Verdict.PLAUSIBLE, Verdict.REGRESSED, Verdict.INEFFECTIVE, Verdict.INCONCLUSIVE, Verdict.BROKEN)
    left = trial.next_failure
    has_moved = left is not None and not any(is_same_crash(failure, left) for failure in work.failures)
    return 10 * order.index(trial.verdict) - has_moved


def _stashed(bench: Bench, work: Work, best: dict[str, bytes]) -> tuple[tuple[str, ...], str | None]:
    """The places of the attempt, and why git has none for it."""
    if not best or bench.settings.dry_run:
        return (), None
    left = [failure.node_id or "?" for each in work.given_up for failure in each.group]
    failing = ", ".join(dict.fromkeys(left))
    message = f"selfdebug: {bench.run_id} attempt {len(work.attempts)}, still fails: {failing[:200]}"
    snapshot = bench.workspace.snapshot(tuple(best), bench.run_id)
    places = bench.workspace.stash_attempt(best, message)
    return places, snapshot.git_refusal


def _with_patches(bench: Bench, work: Work, ending: Ending) -> Repair:
    changed = sorted(bench.changed.items())
    return replace(
        _repair(bench, work, ending),
        patches=tuple(work.kept) or tuple(turn.kept for turn in work.attempts if turn.kept),
        diffs=tuple(EditedFile(file, bench.originals[file], data) for file, data in changed),
        files_patched=() if bench.settings.dry_run else tuple(file for file, _ in changed),
    )


def _repair(bench: Bench, work: Work, ending: Ending) -> Repair:
    return Repair(
        run_id=bench.run_id,
        exit_code=int(ending.exit_code),
        exit_reason=ending.reason,
        final_status=ending.status,
        sentence=ending.sentence,
        failures=work.failures,
        attempts=tuple(work.attempts),
        dry_run=bench.settings.dry_run,
        pytest_exit_code=bench.last_suite.exit_code if bench.runs else None,
        runs=tuple(bench.runs),
        timings=tuple(bench.timings.items()),
        warnings=tuple(bench.warnings),
    )
