"""`run_overview`, `find_context_errors` and `read_narrative`: the whole of a run, its doubts, its story."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from selfdebug.terminal import counted
from selfdebug.trace.queries.base import Answer, Arguments, Parameter, Query, cut, left_out, nearest, value_at
from selfdebug.trace.records import Check, Finding, Step, Trace

MAX_STAGES, MAX_KEYS, MAX_ERRORS = 40, 40, 10
MAX_SENTENCE = 300
NEXT_QUERY = {
    "guard-never-fired": "get_value(step={step}, key=patch.fired)",
    "verdict-not-confirmed": "trace_node(step={step})",
    "passes-without-patch": "trace_node(step={step})",
    "default-not-pinned": "get_value(step={step}, key=patch.pins)",
    "file-changed-meanwhile": "trace_node(step={step})",
    "probe-disagrees": "trace_node(step={step})",
    "not-reproduced": "trace_node(step={step})",
}


# ---------------------------------------------------------------- run_overview


def overview(trace: Trace, _arguments: Arguments) -> Answer:
    """Status, stages, keys, errors, cost and what is to be doubted."""
    stages = list(_stages(trace.steps))
    keys = list(_keys(trace))
    errors = [(step.id, error) for step in trace.steps for error in step.errors]
    cost, doubts = _cost(trace), honesty(trace)
    shown_stages = "; ".join(_stage_line(stage) for stage in stages[:MAX_STAGES])
    lines = [_headline(trace), f"stages: {shown_stages}{_more(stages, MAX_STAGES, 'read_narrative')}"]
    if "include_events" not in trace.run.left_out:
        lines.append(_keys_line(keys))
    lines.extend(_error_lines(errors))
    pytest = f"{counted(cost['pytest_starts'], 'start')} of pytest, {cost['pytest_seconds']:.2f} s in them"
    lines.append(f"cost: {pytest}, {cost['seconds']:.2f} s in all")
    lines.extend(f"doubt: {note}" for note in doubts)
    data = {
        "status": trace.run.status,
        "stages": stages[:MAX_STAGES],
        "keys": [{"key": key, "step": step} for key, step in keys[:MAX_KEYS]],
        "errors": [{"step": step, "error": error} for step, error in errors[:MAX_ERRORS]],
        "attempts": sum(1 for step in trace.steps if step.stage == "diagnose"),
        "cost": cost,
        "honesty": doubts,
    }
    return Answer(tuple(lines), data)


def _headline(trace: Trace) -> str:
    run = trace.run
    when = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    attempts = counted(sum(step.stage == "diagnose" for step in trace.steps), "attempt")
    trials = counted(sum(step.stage == "try" for step in trace.steps), "trial")
    origin = ", imported" if run.imported else ""
    steps = counted(len(trace.steps), "step")
    return f"{run.id}: {run.status}, began {when}{origin}; {steps}, {attempts}, {trials}"


def _stages(steps: tuple[Step, ...]) -> Iterator[dict[str, Any]]:
    for stage, members in groupby(steps, key=lambda step: step.stage):
        group = list(members)
        yield {
            "stage": stage,
            "first": group[0].id,
            "last": group[-1].id,
            "count": len(group),
            "verdicts": dict(Counter(verdict for step in group if (verdict := _verdict(step)))),
        }


def _verdict(step: Step) -> str | None:
    return next((str(w.value) for w in step.writes if w.key.startswith("trial.") and w.key.endswith(".verdict")), None)


def _stage_line(stage: dict[str, Any]) -> str:
    if stage["count"] == 1 and not stage["verdicts"]:
        return str(stage["first"])
    span = stage["first"] if stage["count"] == 1 else f"{stage['first']}..{stage['last']} ×{stage['count']}"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in stage["verdicts"].items())
    return span + (f" ({verdicts})" if verdicts else "")


def _keys(trace: Trace) -> Iterator[tuple[str, str]]:
    """Each key with its last writer, the keys of all trials as one."""
    last: dict[str, str] = {}
    for step in trace.steps:
        for write in step.writes:
            key = re.sub(r"^trial\.\d+\..*", "trial.<n>.*", write.key)
            last.pop(key, None)
            last[key] = step.id
    yield from last.items()


def _keys_line(keys: list[tuple[str, str]]) -> str:
    written: dict[str, list[str]] = {}
    for key, step in keys[:MAX_KEYS]:
        written.setdefault(step, []).append(key)
    named = "; ".join(f"{step}: {', '.join(_together(of_step))}" for step, of_step in written.items())
    return f"keys by last writer: {named or 'none'}{_more(keys, MAX_KEYS, 'find_in_trace')}"


def _error_lines(errors: list[tuple[str, str]]) -> Iterator[str]:
    for step, error in errors[:MAX_ERRORS]:
        yield f"error in {step}: {cut(error, 200, f'trace_node(step={step})')}"
    if len(errors) > MAX_ERRORS:
        yield f"… {len(errors) - MAX_ERRORS} more errors; find_in_trace finds them by their text"


def _cost(trace: Trace) -> dict[str, Any]:
    ended = [step.ended for step in trace.steps if step.ended is not None]
    whole = trace.run.ended - trace.run.started if trace.run.ended else max(ended, default=0.0)
    starts = [call for call in trace.calls if call.kind == "pytest"]
    return {
        "pytest_starts": len(starts),
        "pytest_seconds": round(sum(call.seconds for call in starts), 3),
        "seconds": round(whole, 3),
    }


def honesty(trace: Trace) -> list[str]:
    """What a reader has to know before believing the trace: findings, gaps, settings, damage."""
    notes = []
    if trace.findings:
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(f.kind for f in trace.findings).items())
        notes.append(f"the run caught contradictions in itself ({kinds}); ask find_context_errors")
    if trace.run.dropped:
        notes.append(f"the oldest {trace.run.dropped} events were dropped, the bound of a run was reached")
    notes.extend(f"{name} is false, so that part was not recorded" for name in trace.run.left_out)
    unended = [step.id for step in trace.steps if step.ended is None]
    if unended:
        notes.append(f"{', '.join(unended)} never ended: the run was killed there, or it runs in another thread")
    redacted = sum(write.redacted for step in trace.steps for write in step.writes)
    if redacted:
        notes.append(f"{redacted} values hold redacted secrets")
    untracked = sorted({source for step in trace.steps for source in step.untracked})
    if untracked:
        notes.append(f"not tracked: {', '.join(untracked)}")
    return [*notes, *trace.notes]


def _together(keys: list[str]) -> Iterator[str]:
    """The keys in few characters: `patch.{file, guard, diff}`."""
    for head, members in groupby(keys, key=lambda key: key.partition(".")[0]):
        group = list(members)
        tails = [key.partition(".")[2] for key in group]
        yield f"{head}.{{{', '.join(tails)}}}" if len(group) > 1 and all(tails) else ", ".join(group)


def _more(items: list[Any], bound: int, how: str) -> str:
    return f"; … {len(items) - bound} more, see {how}" if len(items) > bound else ""


# ---------------------------------------------------------------- find_context_errors


def context_errors(trace: Trace, arguments: Arguments) -> Answer:
    """The integrity findings, then one line a check."""
    kind, limit = arguments["kind"], arguments["limit"]
    known = list(dict.fromkeys([check.kind for check in trace.checks] + [finding.kind for finding in trace.findings]))
    if kind and kind not in known:
        near = nearest(kind, [*known, *NEXT_QUERY])
        sentence = f"No check of the kind {kind!r} ran in this run. Checks that ran: {', '.join(known) or 'none'}."
        return Answer((sentence,), {"nearest": near, "findings": [], "checks": []}, found=False)
    findings = [finding for finding in trace.findings if kind in (None, finding.kind)]
    checks = [check for check in trace.checks if kind in (None, check.kind)]
    lines = [_finding_line(finding) for finding in findings[:limit]]
    if len(findings) > limit:
        lines.append(f"… {len(findings) - limit} more findings; raise limit or name a kind")
    if not findings:
        lines.append("Nothing was found." if checks else "Nothing was checked, so nothing could be found.")
    lines.extend(_check_line(check, findings) for check in checks)
    data = {
        "findings": [_finding_data(finding) for finding in findings[:limit]],
        "checks": [
            {"kind": check.kind, "times": check.times, "looked_at": check.looked_at, "unseen": check.unseen}
            for check in checks
        ],
    }
    return Answer(tuple(lines), data)


def _next(finding: Finding) -> str:
    return NEXT_QUERY.get(finding.kind, "trace_node(step={step})").format(step=finding.step)


def _finding_line(finding: Finding) -> str:
    witnesses = (
        f" Witnesses: {', '.join(cut(witness, 120) for witness in finding.witnesses)}." if finding.witnesses else ""
    )
    return f"{finding.kind} at {finding.step}: {cut(finding.sentence, MAX_SENTENCE)}{witnesses} Next: {_next(finding)}"


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "sentence": finding.sentence,
        "step": finding.step,
        "witnesses": list(finding.witnesses),
        "next": _next(finding),
    }


def _check_line(check: Check, findings: list[Finding]) -> str:
    found = sum(1 for finding in findings if finding.kind == check.kind)
    if check.looked_at == 0:
        said = f"ran {check.times} times, nothing to look at"
    else:
        said = f"ran {check.times} times over {check.looked_at} things, {found} found"
    return f"check {check.kind}: {said}" + (f"; could not see {check.unseen}" if check.unseen else "")


# ---------------------------------------------------------------- read_narrative


def narrative(trace: Trace, arguments: Arguments) -> Answer:
    """One plain sentence a step, in order, in pages."""
    if "include_narrative" in trace.run.left_out:
        return left_out("include_narrative", "The narrative")
    offset, count = arguments["offset"], arguments["max_lines"]
    page = trace.steps[offset : offset + count]
    if not page:
        return Answer((f"The narrative has {len(trace.steps)} lines; there is none from {offset} on.",), found=False)
    lines = [f"{step.id}: {cut(step.description, MAX_SENTENCE, f'trace_node(step={step.id})')}" for step in page]
    left = len(trace.steps) - offset - len(page)
    if left > 0:
        lines.append(f"… {left} more lines; read_narrative(offset={offset + len(page)})")
    data = {"lines": [{"step": step.id, "sentence": step.description} for step in page], "left": max(left, 0)}
    return Answer(tuple(lines), data)


def latest(trace: Trace, key: str) -> tuple[Any, str] | None:
    """The last value of a key in the run and the step that gave it."""
    found = value_at(trace, key, trace.steps[-1].number) if trace.steps else None
    return None if found is None else (found[0].value, found[1].id)


QUERIES = (
    Query(
        "run_overview",
        "Start here: how the run ended, its stages in order with step ids, state keys by last writer, "
        "where errors appeared, what it cost, and what to doubt.",
        (),
        overview,
    ),
    Query(
        "find_context_errors",
        "Contradictions that the run caught in itself (a guard that never fired, a default no test pins, a "
        "verdict that was not confirmed ...), each with step, witnesses and the next query; then what each check "
        "looked at. Ask this before any theory when a result looks wrong.",
        (
            Parameter("kind", "Only findings of this kind."),
            Parameter("limit", "How many findings.", "integer", default=10, maximum=25),
        ),
        context_errors,
    ),
    Query(
        "read_narrative",
        "The story of the run, one sentence a step, in pages.",
        (
            Parameter("offset", "The first line, from 0.", "integer", default=0, minimum=0),
            Parameter("max_lines", "How many lines.", "integer", default=40, maximum=200),
        ),
        narrative,
    ),
)
