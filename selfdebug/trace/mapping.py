"""From the records of the stages to the keys of the trace: the loop hands a record over whole, and one plain sentence
of the step comes with it.

Each function fills one open step: what the stage read, what it wrote, what its narrative line says.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from codemods.selfdebug.spans import split_lines
from selfdebug.model import (
    Alternative,
    Candidate,
    Caught,
    Diagnosis,
    Failure,
    FaultLocation,
    Firing,
    Frame,
    Link,
    Observation,
    Patch,
    Pin,
    PytestRun,
    Repair,
    Trial,
    Verdict,
)
from selfdebug.terminal import counted
from selfdebug.trace import calls, integrity, plain
from selfdebug.trace.recorder import StepWriter
from selfdebug.trace.redaction import Seen

MAX_FAILURES = 50
MAX_VALUES = 50
"""Members of one list that a step writes; the sentence of the step tells the true number."""


def ingest(step: StepWriter, failures: Sequence[Failure], source: str = "pytest") -> None:
    """What failed. `source` is `pytest`, or the name of the captured log; the first failure is the one worked on."""
    if source != "pytest":
        step.untracked("the captured log")
    step.set("failures.count", len(failures))
    for failure in failures[:MAX_FAILURES]:
        step.append("failures", _failure_line(failure))
    if not failures:
        step.describe(f"Nothing failed, says {source}.")
        return
    _failure(step, failures[0])
    read = f"Read from {source}: {counted(len(failures), 'failure')}; the first is"
    step.describe(f"{read} {_failure_line(failures[0])}.", f"{read} {failures[0].node_id}.")


def reproduced(step: StepWriter, failures: Sequence[Failure], missing: Sequence[str] = ()) -> None:
    """The live failures of the tests that a log named, and the node ids whose failure did not come again."""
    step.read("failures")
    step.set("failures.live", [_failure_line(failure) for failure in failures[:MAX_FAILURES]])
    step.set("failures.missing", list(missing))
    if failures:
        _failure(step, failures[0])
    again = f"{len(failures)} failed again" if failures else "none failed again"
    gone = f"; {len(missing)} did not fail: {', '.join(missing[:3])}" if missing else ""
    step.describe(f"The tests were run again: {again}{gone}.")


def selected(step: StepWriter, failure: Failure, frame: Frame | None) -> None:
    """The frame that was chosen as the place to look at."""
    step.read("failure.frames", "failure.exception")
    step.set("failure.node_id", failure.node_id)
    if frame is None:
        step.set("frame", None)
        step.describe("No frame of the traceback lies inside the project.")
        return
    step.set("frame", plain.frame(frame))
    skipped = len(failure.frames) - failure.frames.index(frame) - 1 if frame in failure.frames else 0
    deeper = f"; the deeper ones ({skipped}) are outside the project or its tests" if skipped else ""
    step.describe(f"The deepest frame to look at is {frame.file}:{frame.line} in {frame.function}{deeper}.")


def located(step: StepWriter, location: FaultLocation) -> None:
    """The statement that raised and the receivers that can have raised it."""
    step.led_by("the deepest frame inside the project that may be edited", "keep", "ingest")
    step.read("failure.exception", "failure.frames")
    step.read_written("frame")
    step.untracked("the source file on disk")
    step.set("location.file", location.file)
    step.set("location.line", location.line)
    step.set("location.function", location.function)
    step.set("location.kind", location.kind.value)
    step.set("location.statement", location.statement_code)
    step.set("location.receivers", [plain.receiver(receiver) for receiver in location.receivers])
    where = f"{location.file}:{location.line}" + (f" in {location.function}" if location.function else "")
    if location.receivers:
        first = location.receivers[0]
        step.set("location.receiver", first.code)
        step.set("location.evidence", first.evidence)
        others = f", {counted(len(location.receivers) - 1, 'other')} possible" if len(location.receivers) > 1 else ""
        step.describe(f"{where}: {location.kind.value}, receiver {first.code} (by {first.evidence}{others}).")
    else:
        step.describe(f"{where}: {location.kind.value}, no receiver could be named.")


def observed(
    step: StepWriter, observations: Sequence[Observation], caught: Sequence[Caught] = (), refused: Sequence[str] = ()
) -> None:
    """What the probe saw at the failing statement; `refused` says what could not be probed and why."""
    step.led_by("what the receivers held is not in the traceback, so look at them", "locate")
    step.read("location.file", "location.line", "location.receivers")
    by_expression: dict[str, list[Observation]] = {}
    for observation in observations:
        by_expression.setdefault(observation.expression, []).append(observation)
    for expression, seen in by_expression.items():
        failing_first = sorted(seen, key=lambda item: not item.in_failure)
        step.set(f"observation.{expression}", [plain.observation(item) for item in failing_first[:MAX_VALUES]])
    for item in caught[:MAX_VALUES]:
        step.append(
            "observation.caught",
            {
                "test": item.node_id,
                "place": str(item.place),
                "exception": plain.exception(item.exception),
                "locals": {name: plain.value(value) for name, value in item.locals},
            },
        )
    step.add_history(history(observations))
    for reason in refused:
        step.append("observation.refused", reason)
    bad = [item for item in observations if item.in_failure]
    values = "; ".join(f"{item.expression} was {item.value.type}" for item in _distinct(bad)[:4])
    seen_of = f"Seen: {counted(len(observations), 'value')} of {counted(len(by_expression), 'expression')}"
    step.describe(f"{seen_of}; when it raised, {values}." if values else f"{seen_of}, none when it raised.")


def history(observations: Sequence[Observation]) -> list[dict[str, Any]]:
    """The probed values as assignments of an inner run, so that a variable can be asked for by its name there."""
    return [
        {
            "variable": item.expression,
            "value": plain.value(item.value),
            "place": f"{item.file}:{item.span.start_line}",
            "function": "the probed statement, when it raised" if item.in_failure else "the probed statement",
            "code": "evaluated",
            "test": item.node_id,
        }
        for item in observations
    ]


def origin(step: StepWriter, chain: Sequence[Link], untracked: Sequence[str] = ()) -> None:
    """Where the value came from, from the receiver back to its birth; `untracked` names sources nobody could see."""
    step.led_by("the receiver held the wrong value, so follow it back", "probe", "locate")
    step.read("location.receiver", "location.file", "location.line")
    step.read_written("observation")
    step.untracked(*untracked)
    step.set("origin.chain", [plain.link(link) for link in chain])
    if not chain:
        step.describe("Where the value came from could not be followed.")
        return
    birth = chain[-1]
    step.set("origin.birth", f"{birth.file}:{birth.line}")
    way = f"The value was followed over {counted(len(chain), 'step')} to {birth.file}:{birth.line}"
    step.describe(f"{way}: {birth.sentence.rstrip('.')}.", f"{way}.")


def diagnosed(step: StepWriter, diagnosis: Diagnosis) -> None:
    """What went wrong, in one sentence; whether probe and traceback agree is checked here."""
    step.led_by("the evidence is in, so name the fault", "probe", "locate")
    step.check(integrity.probe_agrees(diagnosis.failure, diagnosis.location, diagnosis.observations, diagnosis.caught))
    step.read("failure.exception", "location")
    step.read_written("observation", "origin.chain")
    step.set("diagnosis.kind", diagnosis.location.kind.value)
    step.set("diagnosis.sentence", Seen(diagnosis.sentence))
    step.describe(diagnosis.sentence, f"The failure is of the kind {diagnosis.location.kind.value}.")


def proposed(step: StepWriter, candidates: Sequence[Candidate], refused: Iterable[tuple[str, str]] = ()) -> None:
    """The candidates in the order in which they are tried, and the guards that did not fit, each with its reason."""
    step.led_by("the diagnosed kind chooses the guards", "diagnose", "locate")
    step.read("diagnosis", "location")
    step.read_written("observation", "origin.chain")
    for candidate in candidates:
        step.append("candidates", plain.candidate(candidate))
    reasons = list(dict.fromkeys(refused))
    for guard, reason in reasons:
        step.append("refusals", {"guard": guard, "reason": reason})
    no_fit = f"; not fitting: {counted(len(reasons), 'guard')}" if reasons else ""
    if candidates:
        first = candidates[0]
        number = counted(len(candidates), "candidate")
        step.describe(f"Proposed: {number}, first {_named(first)}: {first.reason}{no_fit}.")
    else:
        step.describe(f"No candidate was found{no_fit}.")


def trial(step: StepWriter, judged: Trial) -> None:
    """One candidate and what the tests said of it, under `trial.<number of the step>`."""
    step.read("candidates")
    prefix = f"trial.{step.number}"
    candidate = judged.candidate
    step.set(f"{prefix}.candidate", plain.candidate(candidate))
    step.set(f"{prefix}.verdict", judged.verdict.value)
    step.set(f"{prefix}.detail", Seen(judged.detail))
    step.set(f"{prefix}.tier", judged.tier.value)
    step.set(f"{prefix}.seconds", round(judged.seconds, 4))
    if judged.next_failure is not None:
        step.set(f"{prefix}.next_failure", _failure_line(judged.next_failure))
    if judged.patch is not None and judged.verdict is Verdict.PLAUSIBLE:
        step.set(f"{prefix}.diff", diff_of(judged.patch.file, judged.patch.before, judged.patch.after))
    step.led_by(f"{candidate.guard} proposed: {candidate.reason}", "propose")
    verdict = f"{_named(candidate)} was {judged.verdict.value}"
    step.describe(f"{verdict}: {judged.detail.rstrip('.')}.", f"{verdict}.")


def kept(step: StepWriter, patch: Patch, trial_step: str | None = None) -> None:
    """The patch that stays, and the step whose trial decided for it."""
    candidate = patch.candidate
    number = trial_step.rpartition("#")[2] if trial_step else None
    step.read(f"trial.{number}" if number else "candidates")
    step.set("patch.file", patch.file)
    step.set("patch.guard", candidate.guard)
    step.set("patch.candidate", plain.candidate(candidate))
    step.set("patch.default", candidate.default)
    step.set("patch.reason", candidate.reason)
    step.set("patch.diff", diff_of(patch.file, patch.before, patch.after))
    step.decided("plausible, so kept", trial_step)
    size = counted(patch.lines_touched, "line")
    step.describe(f"{_named(candidate)} is kept in {patch.file} ({size}): {candidate.reason}.")


def compared(step: StepWriter, ranked: Sequence[Patch], others: Sequence[Alternative]) -> None:
    """The plausible patches in the order in which they are to be kept, and in what the others differ from the first."""
    step.led_by("the failing tests pass with these patches, so compare what they do", "try")
    step.read_written("trial")
    step.set("comparison.order", [plain.candidate(patch.candidate) for patch in ranked])
    differences = [
        {"candidate": plain.candidate(other.patch.candidate), "same": other.is_same, "sentence": Seen(other.sentence)}
        for other in others
    ]
    step.set("comparison.others", differences)
    differing = sum(not other.is_same for other in others)
    first = _named(ranked[0].candidate)
    if others:
        rest = counted(len(others), "other plausible patch", "other plausible patches")
        step.describe(f"{first} comes first; with another behaviour: {differing} of {rest}.")
    else:
        step.describe(f"{first} is the only plausible patch of the candidates that were looked at.")


def pinned(
    step: StepWriter, pins: Sequence[Pin], firings: Sequence[Firing] | None = None, targets: Sequence[str] = ()
) -> None:
    """What the tests hold of the patch, and how often its guard acted in which tests (None: not counted).

    Parts that no test holds, and a guard that never acted in one of the `targets`, are findings.
    """
    fired = None if firings is None else {firing.node_id: firing.acted for firing in firings}
    step.led_by("the patch is kept, so see what the tests hold of it", "keep")
    step.read("patch.diff")
    step.check(integrity.pins(pins), integrity.guard_fired(fired, targets))
    step.set("patch.pins", [plain.pin(pin) for pin in pins])
    if firings is not None:
        step.set("patch.fired", fired)
        step.set("patch.reached", {firing.node_id: firing.reached for firing in firings})
    loose = [pin for pin in pins if not pin.pinned]
    acting = [count for count in (fired or {}).values() if count]
    acted = ""
    if fired is not None:
        tests = f"{len(acting)} of {counted(len(fired), 'test')}"
        acted = f" The guard acted {counted(sum(acting), 'time')} in {tests}."
    if loose:
        step.describe("Not pinned by any test: " + "; ".join(pin.part for pin in loose) + "." + acted)
    else:
        step.describe(f"Every part of the patch that was looked at ({len(pins)}) is pinned by a test.{acted}")


def verified(step: StepWriter, run: PytestRun, broken: Sequence[str] = ()) -> None:
    """A run over the files on disk; `broken` are tests that passed before and do not any more."""
    step.led_by("the failing tests pass with the candidate, so the whole suite judges it", "try")
    step.read_written("candidates", "patch.diff")
    step.untracked("the project's files on disk")
    step.set("verify.outcome", calls.outcome(run))
    step.set("verify.failed", list(run.failed))
    step.set("verify.broken", list(broken))
    worse = f" No longer passing: {counted(len(broken), 'test')}, {', '.join(broken[:3])}." if broken else ""
    step.describe(f"The suite over the files on disk: {calls.outcome(run)}{worse}")


def rolled_back(step: StepWriter, reason: str, files: Sequence[str] = (), backup: Sequence[str] = ()) -> None:
    """Why everything was put back, which files that were, and what can bring the best attempt back."""
    step.read_written("trial", "verify", "failure")
    step.set("rollback.reason", reason)
    step.set("rollback.files", list(files))
    step.set("rollback.backup", list(backup))
    step.led_by(reason, "verify", "try", "propose", "diagnose")
    where = f" The best attempt is kept as {', '.join(backup)}." if backup else ""
    step.describe(f"Rolled back: {reason.rstrip('.')}.{where}")


def reported(step: StepWriter, repair: Repair) -> None:
    """How the run ended."""
    step.led_by(repair.exit_reason, "rollback", "keep", "try", "diagnose", "ingest")
    step.read_written("failures", "patch.diff", "rollback.reason", "verify.outcome")
    step.set("result.status", repair.final_status.value)
    step.set("result.exit_code", repair.exit_code)
    step.set("result.exit_reason", repair.exit_reason)
    step.set("result.sentence", Seen(repair.sentence))
    step.set("result.files", list(repair.files_patched))
    step.set("result.timings", {name: round(seconds, 3) for name, seconds in repair.timings})
    if repair.warnings:
        step.set("result.warnings", list(repair.warnings))
    step.describe(repair.sentence, f"The run ended: {repair.exit_reason}.")


def ended_early(step: StepWriter, sentence: str) -> None:
    """Why a run ended without a report, and with every file as it was."""
    step.set("result.sentence", Seen(sentence))
    step.describe(sentence, "The run ended early.")


def confirmed(step: StepWriter, judged: Trial, run: PytestRun, targets: Sequence[str]) -> None:
    """Check a plausible trial against a plain run from disk in a fresh process; a disagreement is a finding."""
    step.check(integrity.verdict_confirmed(judged, run, targets))


def unpatched(step: StepWriter, targets: Sequence[str], without: PytestRun | None) -> None:
    """Check that the repaired tests fail again without the patch; None says that they were not run without it."""
    step.check(integrity.needs_patch(targets, without))


def compared_with_log(step: StepWriter, named: Sequence[str], run: PytestRun | None) -> None:
    """Check that the tests which a log names as failed fail here; a test that does not is a finding."""
    step.check(integrity.reproduced(named, run))


def files_checked(step: StepWriter, touched: Sequence[str], changed: Sequence[str]) -> None:
    """Check that nobody else changed the files of the run; one that somebody did change is a finding."""
    step.check(integrity.files_unchanged(touched, changed))


def diff_of(file: str, before: bytes, after: bytes) -> str:
    """A unified diff of two versions of a file, as text; a missing final newline is marked as diff does."""
    old, new = (split_lines(data.decode("utf-8", "backslashreplace")) for data in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{file}", f"b/{file}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


# ---------------------------------------------------------------- parts


def _failure(step: StepWriter, failure: Failure) -> None:
    step.set("failure.node_id", failure.node_id)
    step.set("failure.when", failure.when.value)
    step.set("failure.exception", plain.exception(failure.exception))
    step.set("failure.frames", [plain.frame(frame) for frame in failure.frames])
    if failure.causes:
        step.set("failure.causes", [plain.failure(cause) for cause in failure.causes])


def _failure_line(failure: Failure) -> Seen:
    where = failure.deepest_source or failure.deepest
    place = f" at {where.file}:{where.line}" if where else ""
    test = failure.node_id or "a test without a name"
    return Seen(f"{test} ({failure.exception.short_type}: {failure.exception.message[:200]}{place})")


def _distinct(observations: Sequence[Observation]) -> list[Observation]:
    return list({(item.expression, item.value.type): item for item in observations}.values())


def _named(candidate: Candidate) -> str:
    default = f" with default {candidate.default}" if candidate.default is not None else ""
    return f"{candidate.guard} on {candidate.receiver_code} ({candidate.id}){default}"
