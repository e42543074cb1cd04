"""`trace_node`, `who_wrote`, `get_value` and `find_in_trace`: one step, one key, one value, one text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from selfdebug.trace.queries.base import (
    PREVIEW,
    Answer,
    Arguments,
    Parameter,
    Query,
    as_text,
    cut,
    no_key,
    no_step,
    preview,
    shown,
    step_number,
    value_at,
    writers_of,
)
from selfdebug.trace.records import Step, Trace, Write
from selfdebug.trace.redaction import LEFT_OUT

MAX_WRITES, MAX_READS = 20, 30
SCAN_BUDGET = 3_000_000
"""Characters that one search looks at."""


# ---------------------------------------------------------------- trace_node


def node(trace: Trace, arguments: Arguments) -> Answer:
    """One step with what it wrote, read, and was led by."""
    step = trace.step(arguments["step"])
    if step is None:
        return no_step(trace, arguments["step"])
    lines = [f"{step.id}: {cut(step.description, 600) or '(no description)'}"]
    took = f"took {step.seconds:.3f} s from {step.started:.3f} s" if step.seconds is not None else "never ended"
    lines.append(took + (f"; pytest: {', '.join(step.calls[:10])}" if step.calls else "") + _more(len(step.calls), 10))
    if step.because or step.rule:
        lines.append(f"because of {step.because or 'no earlier step'}: {step.rule or 'no rule was named'}")
    lines.extend(f"wrote {w.key} ({w.verb}): {preview(w, step.id)}" for w in step.writes[:MAX_WRITES])
    if len(step.writes) > MAX_WRITES:
        rest = step.writes[MAX_WRITES:]
        keys = ", ".join(dict.fromkeys(write.key for write in rest))
        lines.append(f"… {len(rest)} more writes of {cut(keys, 200)}; get_value(step={step.id}, key=...)")
    for read in step.reads[:MAX_READS]:
        source = ", ".join(read.writers[-3:]) or "nothing in this run (environment, disk, or not recorded)"
        lines.append(f"read {read.key} from {source}{_more(len(read.writers), 3)}")
    lines.append(f"… {len(step.reads) - MAX_READS} more reads") if len(step.reads) > MAX_READS else None
    lines.extend(f"error: {cut(error, 400)}" for error in step.errors[:10])
    if step.untracked:
        lines.append(f"used but not tracked: {', '.join(step.untracked)}")
    if "include_events" in trace.run.left_out:
        lines.append("What it read and wrote was not recorded, because the setting include_events is false.")
    return Answer(tuple(lines), _node_data(step))


def _node_data(step: Step) -> dict[str, Any]:
    return {
        "step": step.id,
        "stage": step.stage,
        "description": step.description,
        "started": round(step.started, 4),
        "seconds": None if step.seconds is None else round(step.seconds, 4),
        "because": step.because,
        "rule": step.rule,
        "writes": [
            {"key": w.key, "verb": w.verb, "preview": preview(w, step.id), "size": w.size, "redacted": w.redacted}
            for w in step.writes[:MAX_WRITES]
        ],
        "writes_total": len(step.writes),
        "reads": [{"key": read.key, "from": list(read.writers[-3:])} for read in step.reads[:MAX_READS]],
        "errors": list(step.errors[:10]),
        "untracked": list(step.untracked),
        "calls": list(step.calls[:10]),
    }


def _more(count: int, bound: int) -> str:
    return f" (and {count - bound} more)" if count > bound else ""


# ---------------------------------------------------------------- who_wrote, get_value


def who_wrote(trace: Trace, arguments: Arguments) -> Answer:
    """The last step that wrote a key."""
    key, before = arguments["key"], arguments["before"]
    limit = None
    if before:
        limit = step_number(trace, before)
        if limit is None:
            return no_step(trace, before)
    writers = writers_of(trace, key, limit)
    if not writers:
        if limit is not None and writers_of(trace, key):
            first = writers_of(trace, key)[0]
            return Answer((f"Nobody had written {key} before {before}; {first.id} was the first.",), found=False)
        return no_key(trace, key)
    step = writers[-1]
    write = next(w for w in reversed(step.writes) if w.key == key or w.key.startswith(key + "."))
    lines = [f"{step.id} wrote {write.key} ({write.verb}): {preview(write, step.id)}"]
    if len(writers) > 1:
        earlier = ", ".join(writer.id for writer in writers[-6:-1])
        lines.append(f"earlier writers: {earlier}{_more(len(writers) - 1, 5)}; who_wrote(key={key}, before={step.id})")
    return Answer(tuple(lines), {"step": step.id, "key": write.key, "verb": write.verb, "earlier": len(writers) - 1})


def get_value(trace: Trace, arguments: Arguments) -> Answer:
    """The value of a key as of a step."""
    step_id, key, limit = arguments["step"], arguments["key"], arguments["max_chars"]
    number = step_number(trace, step_id)
    if number is None:
        return no_step(trace, step_id)
    found = value_at(trace, key, number)
    if found is None:
        return _no_value(trace, key, step_id, number)
    write, step = found
    text = as_text(write.value) if not isinstance(write.value, dict | list) else shown(write.value)
    marks = list(_marks(write, text, limit))
    lines = [f"{key} as of {step_id}, written by {step.id}:", *text[:limit].split("\n")]
    data = {"key": key, "step": step.id, "value": text[:limit], "size": len(text), "redacted": write.redacted}
    return Answer((*lines, *(f"[{mark}]" for mark in marks)), {**data, "marks": marks})


def _no_value(trace: Trace, key: str, step_id: str, number: int) -> Answer:
    writers = writers_of(trace, key)
    below = list(dict.fromkeys(w.key for step in writers for w in step.writes if w.key.startswith(key + ".")))[:10]
    if below:
        sentence = f"{key} is a group of keys: {', '.join(below)}. Ask for one of them."
        return Answer((sentence,), {"nearest": below}, found=False)
    later = next((step for step in writers if step.number > number), None)
    if later is not None:
        return Answer((f"{key} had no value yet at {step_id}; {later.id} wrote it first.",), found=False)
    return no_key(trace, key)


def _marks(write: Write, text: str, limit: int) -> Iterator[str]:
    """What is missing of a value, and how to get it where that is possible."""
    if len(text) > limit:
        yield f"{len(text) - limit} of {len(text)} characters are left out; max_chars goes up to 8000"
    if write.cut:
        yield f"only a part was stored of {write.size} characters"
    if write.redacted:
        yield "a secret in it was redacted before it was stored and cannot be shown"
    if LEFT_OUT in text:
        yield "values of the program were not recorded, because the setting include_values is false"


# ---------------------------------------------------------------- find_in_trace


def find(trace: Trace, arguments: Arguments) -> Answer:
    """Free text to pointers, those that hold all words first."""
    query, bound = arguments["query"].strip(), arguments["max_hits"]
    if len(query) < 2:
        return Answer(("A query needs at least two letters.",), found=False)
    hits, complete = _hits(trace, query.lower())
    lines = [f"{line} -> {follow_up}" for line, follow_up in hits[:bound]]
    if not hits:
        lines.append(f"Nothing in this trace holds {query!r}." if complete else f"Nothing found yet of {query!r}.")
    if len(hits) > bound:
        lines.append(f"… {len(hits) - bound} more hits; use more exact words or a larger max_hits")
    if not complete:
        lines.append(f"The scan ended after {SCAN_BUDGET} characters; what comes later was not searched.")
    data = {
        "hits": [{"at": line, "next": follow_up} for line, follow_up in hits[:bound]],
        "total": len(hits),
        "complete": complete,
    }
    return Answer(tuple(lines), data, found=bool(hits))


def _hits(trace: Trace, query: str) -> tuple[list[tuple[str, str]], bool]:
    """The pointers, best first, each with the query that opens it; and whether the whole trace was searched."""
    words = [word for word in query.split() if len(word) > 1] or [query]
    scanned = 0
    found: list[tuple[int, str, str]] = []
    for pointer, text, follow_up in _searchable(trace):
        scanned += len(text)
        if scanned > SCAN_BUDGET:
            break
        low = text.lower()
        score = 100 if query in low else sum(word in low for word in words)
        if score:
            found.append((score, f"{pointer}: {_snippet(text, query, words)}", follow_up))
    found.sort(key=lambda hit: -hit[0])
    return [(line, follow_up) for _, line, follow_up in found], scanned <= SCAN_BUDGET


def _searchable(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """Everything that can be found: where it is, its text, and the query that opens it."""
    for step in trace.steps:
        yield step.id, f"{step.description} {step.rule or ''}", f"trace_node(step={step.id})"
        for error in step.errors:
            yield f"{step.id} error", error, f"trace_node(step={step.id})"
    for step in trace.steps:
        for write in step.writes:
            text = f"{write.key} = {as_text(write.value)}"
            yield f"{step.id} {write.key}", text, f"get_value(step={step.id}, key={write.key})"
    for finding in trace.findings:
        text = f"{finding.kind} {finding.sentence} {' '.join(finding.witnesses)}"
        yield f"finding at {finding.step}", text, f"find_context_errors(kind={finding.kind})"
    for call in trace.calls:
        text = f"{' '.join(call.command)} {call.outcome}"
        yield call.id, text, f"inspect_tool_call(id={call.id})"


def _snippet(text: str, query: str, words: list[str]) -> str:
    low = text.lower()
    at = low.find(query)
    if at < 0:
        at = min(position for word in words if (position := low.find(word)) >= 0)
    start = max(0, at - 40)
    piece = text[start : start + PREVIEW].replace("\n", "⏎")
    return ("…" if start else "") + piece + ("…" if start + PREVIEW < len(text) else "")


QUERIES = (
    Query(
        "find_in_trace",
        "Find free text in step names, keys, values, errors and the narrative; gives pointers with the exact query "
        "that opens each.",
        (
            Parameter("query", "Words to look for, at least two letters.", required=True),
            Parameter("max_hits", "How many hits.", "integer", default=10, maximum=25),
        ),
        find,
    ),
    Query(
        "trace_node",
        "One step: what it did, what it wrote (previews, true sizes) and read (from which step), the decision that led "
        "to it, its errors.",
        (Parameter("step", "A step id such as try#7.", required=True),),
        node,
    ),
    Query(
        "who_wrote",
        "The last step that wrote a state key.",
        (
            Parameter("key", "A state key such as patch.diff.", required=True),
            Parameter("before", "Only steps before this one (a step id)."),
        ),
        who_wrote,
    ),
    Query(
        "get_value",
        "The value of a state key as of a step.",
        (
            Parameter("step", "A step id.", required=True),
            Parameter("key", "A state key.", required=True),
            Parameter("max_chars", "How much of it.", "integer", default=2000, maximum=8000),
        ),
        get_value,
    ),
)
