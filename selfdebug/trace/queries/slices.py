"""`trace_slice` and `backtrack`: backwards along who gave what to whom, as an indented tree of step ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from selfdebug.terminal import counted
from selfdebug.trace.queries.base import (
    Answer,
    Arguments,
    Parameter,
    Query,
    cut,
    no_key,
    no_step,
    shown,
    step_number,
    writers_of,
)
from selfdebug.trace.records import Step, Trace, Write

DEPTH = Parameter("max_depth", "How many steps back.", "integer", default=6, maximum=20)
NODES = Parameter("max_nodes", "How many steps in all.", "integer", default=25, maximum=100)
MAX_LINKS = 20
LINE = 110


@dataclass
class _Tree:
    """A backward walk in the making; each step is opened once, later mentions point at it."""

    trace: Trace
    max_depth: int
    max_nodes: int
    lines: list[str] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    cut_at: list[str] = field(default_factory=list)

    def grow(self, step: Step, edge: str, depth: int) -> None:
        """Add the step, reached by `edge`, and what it came from."""
        again = step.id in self.seen
        if len(self.nodes) >= self.max_nodes:
            if not again:
                self.cut_at.append(step.id)
            return
        about = "(see above)" if again else cut(step.description, LINE)
        self.lines.append(f"{'  ' * depth}{edge}{step.id} {about}".rstrip())
        if again:
            return
        self.seen.add(step.id)
        self.nodes.append({"step": step.id, "depth": depth, "edge": edge.strip(), "description": step.description})
        parents = list(self._parents(step))
        if parents and depth >= self.max_depth:
            self.cut_at.append(step.id)
            return
        for parent_edge, parent in parents:
            self.grow(parent, parent_edge, depth + 1)
        for key in self._unwritten(step):
            self.lines.append(f"{'  ' * (depth + 1)}{key} <- unknown (nothing in this run wrote it)")

    def _parents(self, step: Step) -> Iterator[tuple[str, Step]]:
        by_step: dict[str, list[str]] = {}
        for read in step.reads:
            for writer in read.writers[-3:]:
                by_step.setdefault(writer, []).append(read.key)
        for writer, keys in by_step.items():
            parent = self.trace.step(writer)
            if parent is not None and parent.number < step.number:
                yield f"{', '.join(keys)} <- ", parent
        cause = self.trace.step(step.because) if step.because else None
        if cause is not None and cause.number < step.number:
            yield f"[control: {cut(step.rule or 'no rule was named', 80)}] ", cause

    @staticmethod
    def _unwritten(step: Step) -> list[str]:
        return [read.key for read in step.reads if not read.writers]

    def answer(self, head: list[str], data: dict[str, Any]) -> Answer:
        """The tree below the head lines, with what was left out."""
        lines = [*head, *self.lines]
        if self.cut_at:
            places = list(dict.fromkeys(self.cut_at))
            lines.append(
                f"… cut at {', '.join(places[:5])}{' and others' if len(places) > 5 else ''}; go on with "
                f"trace_slice(step={places[0]}), or raise max_depth (20) or max_nodes (100)"
            )
        if self.trace.run.dropped:
            lines.append(f"{self.trace.run.dropped} older events were dropped; what they gave is not shown.")
        return Answer(tuple(lines), {**data, "nodes": self.nodes, "cut_at": self.cut_at})


def trace_slice(trace: Trace, arguments: Arguments) -> Answer:
    """The backward chain of steps that produced the data at a step."""
    step = trace.step(arguments["step"])
    if step is None:
        return no_step(trace, arguments["step"])
    key = arguments["key"]
    tree = _Tree(trace, arguments["max_depth"], arguments["max_nodes"])
    if not key:
        tree.grow(step, "", 0)
        return tree.answer([], {"step": step.id})
    writers = writers_of(trace, key, step.number + 1)
    if not writers:
        return no_key(trace, key)
    head = [] if writers[-1] is step else [f"{key} at {step.id} was written by {writers[-1].id}:"]
    tree.grow(writers[-1], f"{key} <- ", 0)
    return tree.answer(head, {"step": step.id, "key": key})


def backtrack(trace: Trace, arguments: Arguments) -> Answer:
    """Why a state key, or a variable of the program under test, is what it is."""
    limit, before = None, arguments["before"]
    if before:
        limit = step_number(trace, before)
        if limit is None:
            return no_step(trace, before)
    variable = arguments["variable"]
    writers = writers_of(trace, variable, limit)
    if not writers:
        return _of_program(trace, arguments, limit)
    element = arguments["element"]
    step, head = writers[-1], []
    if element:
        holding = [(writer, write) for writer in writers for write in _holding(writer, variable, element)]
        if not holding:
            values = ", ".join(writer.id for writer in writers[-5:])
            return Answer((f"No member of {variable} holds {element!r}; it was written by {values}.",), found=False)
        step, write = holding[-1]
        head.append(f"{element!r} came into {write.key} at {step.id}: {cut(shown(_member(write, element)), 300)}")
    tree = _Tree(trace, arguments["max_depth"], arguments["max_nodes"])
    tree.grow(step, f"{variable} <- ", 0)
    return tree.answer(head, {"variable": variable, "step": step.id})


def _holding(step: Step, key: str, element: str) -> Iterator[Write]:
    for write in step.writes:
        if (write.key == key or write.key.startswith(key + ".")) and element in shown(write.value):
            yield write


def _member(write: Write, element: str) -> Any:
    if write.verb == "set" and isinstance(write.value, list):
        return next((item for item in write.value if element in shown(item)), write.value)
    return write.value


# ---------------------------------------------------------------- variables of the program


def _of_program(trace: Trace, arguments: Arguments, limit: int | None) -> Answer:
    """A name of the program under test: what was observed of it, and the links of the origin that tell of it."""
    variable = arguments["variable"]
    name = re.compile(rf"(?<![\w.]){re.escape(variable)}(?!\w)")
    head: list[str] = []
    start: Step | None = None
    for step, write in _writes(trace, limit):
        if write.key == f"observation.{variable}":
            head.append(f"{variable} was observed in {step.id}: {cut(shown(write.value), 300)}")
            start = step
        elif write.key == "location.receiver" and write.value == variable:
            head.append(f"{variable} is the receiver that {step.id} located")
            start = start or step
    links = [
        (step, link) for step, link in _links(trace, limit) if name.search(f"{link.get('code')} {link.get('sentence')}")
    ]
    if links:
        head.append(f"its way, from the crash back to its birth ({links[-1][0].id}):")
        whole = [link for step, link in _links(trace, limit) if step is links[-1][0]]
        head.extend(_link_line(number, link) for number, link in enumerate(whole[:MAX_LINKS], 1))
        start = links[-1][0]
    head.extend(_inner_mentions(trace, variable))
    if start is None and not head:
        return no_key(trace, variable, "key or observed variable")
    tree = _Tree(trace, arguments["max_depth"], arguments["max_nodes"])
    if start is not None:
        tree.grow(start, f"{variable} <- ", 0)
    head.append("What a value was before the traced run, in closures or in the environment, the trace cannot know.")
    return tree.answer(head, {"variable": variable, "links": [link for _, link in links][:MAX_LINKS]})


def _writes(trace: Trace, limit: int | None) -> Iterator[tuple[Step, Write]]:
    for step in trace.steps:
        if limit is None or step.number < limit:
            for write in step.writes:
                yield step, write


def _links(trace: Trace, limit: int | None) -> Iterator[tuple[Step, dict[str, Any]]]:
    for step, write in _writes(trace, limit):
        if write.key == "origin.chain" and isinstance(write.value, list):
            yield from ((step, link) for link in write.value if isinstance(link, dict))


def _link_line(number: int, link: dict[str, Any]) -> str:
    value = f" = {link['value']}" if link.get("value") else ""
    where = f"{link.get('place')} in {link.get('function')}"
    return f"  {number}. {where}: {link.get('code')}{value} [{link.get('evidence')}] {link.get('sentence')}"


def _inner_mentions(trace: Trace, variable: str) -> Iterator[str]:
    for call, data in (trace.inner or {}).items():
        count = sum(
            1 for entry in data.get("history", ()) if isinstance(entry, dict) and entry.get("variable") == variable
        )
        if count:
            yield f"{call} saw {counted(count, 'value')} of it; inspect_tool_run(id={call}, variable={variable})"


QUERIES = (
    Query(
        "trace_slice",
        "Backwards from a step: which steps produced its data, as an indented tree of ids with the keys on the edges "
        "and [control: rule] where a decision led there.",
        (
            Parameter("step", "A step id.", required=True),
            Parameter("key", "Only what led to this key."),
            DEPTH,
            NODES,
        ),
        trace_slice,
    ),
    Query(
        "backtrack",
        "Why is it what it is: a state key (patch.diff) or a variable of the program under test (user), from its last "
        "writer backwards.",
        (
            Parameter("variable", "A state key, or a name or expression of the program.", required=True),
            Parameter("element", "Only the member of a list that holds this text, for example a candidate's id."),
            Parameter("before", "As of an earlier point: only steps before this one (a step id)."),
            DEPTH,
            NODES,
        ),
        backtrack,
    ),
)
