"""`inspect_tool_call` and `inspect_tool_run`: one start of pytest from outside, and the same moves inside it.

An inner run becomes a trace of its own: each test, failure, probed value and traced assignment is a step of it, with
ids of a namespace of their own (`test#0`, `failure#0`, `probe#3`, `caught#4`, `assign#12`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from selfdebug.trace.queries import nodes
from selfdebug.trace.queries.base import Answer, Arguments, Parameter, Query, as_text, cut, left_out, nearest, shown
from selfdebug.trace.records import Run, Step, ToolCall, Trace, Write

MAX_LISTED = 20


# ---------------------------------------------------------------- inspect_tool_call


def call(trace: Trace, arguments: Arguments) -> Answer:
    """One start of pytest end to end."""
    found = _call(trace, arguments["id"])
    if isinstance(found, Answer):
        return found
    kept = (trace.inner or {}).get(found.id) is not None
    return Answer(tuple(_lines_of_call(found, kept)), _data_of_call(found, kept))


def _lines_of_call(found: ToolCall, kept: bool) -> Iterator[str]:
    starter = found.step or "nobody in the run, but by a question after it"
    yield f"{found.id}, started by {starter}, took {found.seconds:.3f} s"
    yield f"proposed: {cut(' '.join(found.proposed) or '(all tests)', 400)}"
    yield f"ran: {cut(' '.join(found.command), 600) or '(in a fork, without a command of its own)'}"
    if found.added:
        why = f", because {found.added_because}" if found.added_because else ""
        yield f"added: {cut(' '.join(found.added), 400)}{why}"
    yield f"outcome: {found.outcome}"
    yield f"inner record: {f'kept; inspect_tool_run(id={found.id})' if kept else _why_no_inner(found)}"


def _data_of_call(found: ToolCall, kept: bool) -> dict[str, object]:
    return {
        "id": found.id,
        "step": found.step,
        "proposed": list(found.proposed),
        "command": list(found.command),
        "added": list(found.added),
        "added_because": found.added_because,
        "outcome": found.outcome,
        "exit_code": found.exit_code,
        "seconds": round(found.seconds, 4),
        "tests": found.tests,
        "inner_kept": kept,
    }


def _why_no_inner(found: ToolCall) -> str:
    return "not kept any more (bound of inner runs)" if found.has_inner else "none was made (a forked trial)"


def _call(trace: Trace, wanted: str) -> ToolCall | Answer:
    if "include_events" in trace.run.left_out:
        return left_out("include_events", "Starts of pytest")
    found = next((one for one in trace.calls if one.id == wanted), None)
    if found is not None:
        return found
    near = nearest(wanted, [one.id for one in trace.calls])
    hint = f"The nearest are {', '.join(near)}." if near else f"It has {len(trace.calls)}."
    return Answer((f"This run has no start of pytest {wanted!r}. {hint}",), {"nearest": near}, found=False)


# ---------------------------------------------------------------- inspect_tool_run


def run(trace: Trace, arguments: Arguments) -> Answer:
    """Inside one start of pytest: an overview, or one of the outer moves, one level down."""
    found = _call(trace, arguments["id"])
    if isinstance(found, Answer):
        return found
    data = (trace.inner or {}).get(found.id)
    if data is None:
        return Answer((f"The inner run of {found.id} is {_why_no_inner(found)}.",), found=False)
    chosen = [name for name in ("step", "key", "variable", "find") if arguments[name]]
    if len(chosen) > 1 and chosen != ["step", "key"]:
        return Answer((f"Ask one thing at a time, not {' and '.join(chosen)}.",), found=False)
    within = as_trace(trace.run, data)
    if not chosen:
        return _overview(found, data, within)
    return _within(found.id, _moved(within, arguments, chosen))


def _moved(within: Trace, arguments: Arguments, chosen: list[str]) -> Answer:
    if chosen == ["step", "key"]:
        return nodes.get_value(within, {"step": arguments["step"], "key": arguments["key"], "max_chars": 2000})
    if chosen == ["step"]:
        return nodes.node(within, {"step": arguments["step"]})
    if chosen == ["find"]:
        return nodes.find(within, {"query": arguments["find"], "max_hits": 10})
    if chosen == ["key"]:
        return nodes.who_wrote(within, {"key": arguments["key"], "before": None})
    return _history(within, arguments["variable"])


def _within(call_id: str, answer: Answer) -> Answer:
    """The answer with its follow-ups leading inside again."""
    inside = re.compile(r"(?:trace_node|get_value|who_wrote)\(")
    lines = tuple(
        inside.sub(f"inspect_tool_run(id={call_id}, ", line).replace(", before=", ", step=") for line in answer.lines
    )
    return replace(answer, lines=(f"inside {call_id}:", *lines))


def _overview(found: ToolCall, data: dict[str, Any], within: Trace) -> Answer:
    outcomes = Counter(outcome for _, outcome in _pairs(data.get("tests")))
    ended = ", ".join(f"{count} {name}" for name, count in outcomes.items()) or "no test ran"
    versions = f"Python {data.get('python') or '?'}, pytest {data.get('pytest') or '?'}"
    lines = [f"inside {found.id}: {ended}; {versions}"]
    telling = [step for step in within.steps if step.stage != "test" or step.errors]
    lines.extend(f"{step.id}: {cut(step.description, 200)}" for step in telling[:MAX_LISTED])
    if len(telling) > MAX_LISTED:
        lines.append(f"… {len(telling) - MAX_LISTED} more; ask with variable= or find=")
    lines.extend(_not_stored(data))
    variables = sorted(
        {write.key for step in within.steps if step.stage in ("probe", "assign") for write in step.writes}
    )
    if variables:
        lines.append(f"variables: {cut(', '.join(variables), 300)}; inspect_tool_run(id={found.id}, variable=...)")
    if data.get("gap"):
        lines.append(f"not traced: {data['gap']}")
    if data.get("served"):
        lines.append(f"served from memory: {', '.join(data['served'])}")
    if data.get("output"):
        lines.append(f"output: {cut(str(data['output'])[-400:], 400)}")
    return Answer(tuple(lines), {"outcomes": dict(outcomes), "steps": [step.id for step in telling[:MAX_LISTED]]})


_COUNTED = (("tests", "tests"), ("probed values", "hits"), ("caught", "catches"), ("assignments", "history"))
"""What an inner run holds a bounded number of: in words, and its key."""


def _not_stored(data: dict[str, Any]) -> Iterator[str]:
    counts = data.get("counts", {})
    for name, key in _COUNTED:
        stored = len(kept) if isinstance(kept := data.get(key), list) else 0
        if counts.get(key, stored) > stored:
            yield f"of {counts[key]} {name} only {stored} were stored"


def _history(within: Trace, variable: str) -> Answer:
    """Every recorded value of a variable in order: who assigned what, where, in which call."""
    values = [
        (step, write)
        for step in within.steps
        for write in step.writes
        if write.key == variable or write.key.rpartition(".")[2] == variable
    ]
    if not values:
        known = list(dict.fromkeys(write.key for step in within.steps if step.stage != "test" for write in step.writes))
        near = nearest(variable, known)
        hint = f"The nearest are {', '.join(near)}." if near else f"Known are {cut(', '.join(known), 300) or 'none'}."
        sentence = f"No value of {variable!r} was recorded here. {hint} What was not traced cannot be known."
        return Answer((sentence,), {"nearest": near}, found=False)
    lines = [
        f"{step.id}: {write.key} was {cut(shown(write.value), 160)}; {step.description}"
        for step, write in values[-MAX_LISTED:]
    ]
    if len(values) > MAX_LISTED:
        lines.insert(0, f"… {len(values) - MAX_LISTED} earlier values; inspect_tool_run(..., find={variable})")
    return Answer(
        tuple(lines), {"variable": variable, "values": [as_text(write.value) for _, write in values[-MAX_LISTED:]]}
    )


# ---------------------------------------------------------------- the inner run as a trace


def as_trace(owner: Run, data: dict[str, Any]) -> Trace:
    """The inner run as a trace; entries that are not of their shape are left out."""
    steps: list[Step] = []
    for stage, description, writes, errors in _entries(data):
        number = len(steps)
        step = Step(f"{stage}#{number}", number, stage, description, 0.0, 0.0, writes=tuple(writes), errors=errors)
        steps.append(step)
    return Trace(replace(owner, dropped=0, left_out=()), tuple(steps))


_Entry = tuple[str, str, list[Write], tuple[str, ...]]


def _entries(data: dict[str, Any]) -> Iterator[_Entry]:
    for node_id, outcome in _pairs(data.get("tests")):
        failed = (f"{node_id} {outcome}",) if outcome in ("failed", "error") else ()
        yield "test", f"{node_id} {outcome}", [_write("outcome", outcome)], failed
    for item in _dicts(data.get("failures")):
        said = _exception(item.get("exception"))
        writes = [_write("exception", item.get("exception")), _write("frames", item.get("frames"))]
        yield "failure", f"{item.get('test')} raised {said} in its {item.get('when')}", writes, (said,)
    # What was seen, in the order in which it happened.
    seen = [(item, "probe") for item in _dicts(data.get("hits"))] + [
        (item, "caught") for item in _dicts(data.get("catches"))
    ]
    for item, stage in sorted(seen, key=lambda entry: entry[0].get("seq") or 0):
        where = f"in {item.get('function')} during {item.get('test')}"
        if stage == "probe":
            yield stage, f"probe {item.get('id')} {where}", [_write(f"probe.{item.get('id')}", item.get("value"))], ()
        else:
            said = _exception(item.get("exception"))
            local = item.get("locals")
            writes = [_write(name, value) for name, value in local.items()] if isinstance(local, dict) else []
            yield stage, f"{said} left the statement {where}", writes, (said,)
    for item in _dicts(data.get("history")):
        place = f"{item.get('code') or 'assigned'} at {item.get('place')} in {item.get('function')}"
        call_number = f", call {item['call']}" if item.get("call") is not None else ""
        test = f" during {item['test']}" if item.get("test") else ""
        yield "assign", f"{place}{call_number}{test}", [_write(str(item.get("variable")), item.get("value"))], ()


def _write(key: str, value: Any) -> Write:
    return Write(key, "set", value, len(as_text(value)))


def _exception(data: Any) -> str:
    return f"{data.get('type')}: {data.get('message')}" if isinstance(data, dict) else "an exception"


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and len(item) == 2:
            yield str(item[0]), str(item[1])


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


QUERIES = (
    Query(
        "inspect_tool_call",
        "One start of pytest end to end: what was proposed, what really ran and why options were added, its outcome, "
        "its duration, the step that ran it.",
        (Parameter("id", "The id of the start, such as pytest-3.", required=True),),
        call,
    ),
    Query(
        "inspect_tool_run",
        "Inside one start of pytest: tests, failures, probed values, the history of variables. Without more an "
        "overview; with one of step, key, variable, find the same moves as outside.",
        (
            Parameter("id", "The id of the start, such as pytest-3.", required=True),
            Parameter("step", "An inner step id such as probe#4."),
            Parameter("key", "A key written inside; with step its value there."),
            Parameter("variable", "A variable of the program: all its recorded values."),
            Parameter("find", "Free text to look for inside."),
        ),
        run,
    ),
)
