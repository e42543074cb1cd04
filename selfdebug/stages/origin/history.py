"""The dynamic side: what ran, in which order, and with which values, read off a trace and the project's files."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codemods.selfdebug.source import Clause
from selfdebug.model import Trace, TracedFrame, TracedStep, TracedValue
from selfdebug.stages.origin.program import Program, Scope, called_name, key_of

NONE = TracedValue(0, "NoneType", "None")
_ENDLESS = 1 << 62
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Spot:
    """A moment: one step of one frame."""

    frame: TracedFrame
    index: int

    @property
    def step(self) -> TracedStep:
        """The step itself."""
        return self.frame.steps[self.index]

    @property
    def sequence(self) -> int:
        """Its place in the order of all events."""
        return self.step.sequence


@dataclass(frozen=True, slots=True)
class Store:
    """One executed store to an attribute or an item: `target` is stored by `clause` at `spot`."""

    spot: Spot
    clause: Clause
    target: ast.Attribute | ast.Subscript


@dataclass(frozen=True, eq=False)
class History:
    """A trace with the programs that it went through; `program_of` gives None for a file that cannot be parsed."""

    trace: Trace
    program_of: Callable[[str], Program | None]
    _groups: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict, init=False)
    """The groups of steps that were asked for, by frame and index."""

    @cached_property
    def frames(self) -> dict[int, TracedFrame]:
        """The frames by number."""
        return {frame.number: frame for frame in self.trace.frames}

    @cached_property
    def children(self) -> dict[int, list[TracedFrame]]:
        """The frames that a frame called, directly or through code outside the project, in order."""
        found: dict[int, list[TracedFrame]] = {}
        for frame in self.trace.frames:
            if frame.caller is not None:
                found.setdefault(frame.caller, []).append(frame)
        return found

    def program(self, frame: TracedFrame) -> Program | None:
        """The program of a frame."""
        return self.program_of(frame.file)

    def scope(self, frame: TracedFrame) -> Scope | None:
        """The function, class or module that a frame executes."""
        program = self.program(frame)
        return program.scope_named(frame.function, frame.first_line) if program else None

    # ------------------------------------------------------------ moments

    def clauses(self, spot: Spot) -> Sequence[Clause]:
        """The clauses that the step of `spot` can stand for: those of the frame's own scope."""
        program, scope = self.program(spot.frame), self.scope(spot.frame)
        if program is None:
            return ()
        found = program.clauses_at(spot.step.line)
        if scope is None or not isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return found[-1:]
        return [clause for clause in found if program.scope_of(clause) is scope] or found[-1:]

    def group(self, spot: Spot) -> tuple[int, int]:
        """The first and the last index of the steps that execute the same clause as `spot` without a break."""
        known = self._groups.setdefault(spot.frame.number, {})
        if spot.index not in known:
            clauses = set(self.clauses(spot))
            first, last = self._group_of(spot, clauses)
            # A comprehension of a thousand turns is one group: it is walked through once, not for each of its steps.
            for index in range(first, last + 1):
                if set(self.clauses(Spot(spot.frame, index))) == clauses:
                    known[index] = first, last
        return known[spot.index]

    def _group_of(self, spot: Spot, clauses: set[Clause]) -> tuple[int, int]:
        first = last = spot.index
        steps = spot.frame.steps
        while first > 0 and self._continues(spot.frame, first - 1, clauses):
            first -= 1
        while last + 1 < len(steps) and self._continues(spot.frame, last + 1, clauses):
            last += 1
        return first, last

    def _continues(self, frame: TracedFrame, index: int, clauses: set[Clause]) -> bool:
        step = frame.steps[index]
        if step.kind == "line":
            there = Spot(frame, index)
            # A loop of one line comes back to its first line; several lines of one statement do not.
            return bool(clauses & set(self.clauses(there))) and not any(
                isinstance(clause, ast.For | ast.AsyncFor | ast.While) for clause in clauses
            )
        return step.kind == "yield"

    def extent(self, spot: Spot) -> tuple[int, int]:
        """The sequence numbers between which the clause of `spot` was executed."""
        first, last = self.group(spot)
        steps = spot.frame.steps
        end = steps[last + 1].sequence if last + 1 < len(steps) else _ENDLESS
        return steps[first].sequence, end

    def at(self, frame: TracedFrame, sequence: int) -> Spot | None:
        """The line step that `frame` was executing at `sequence`; None where it was not recorded."""
        return next(self.line_steps(frame, bisect_left(frame.steps, sequence, key=lambda step: step.sequence)), None)

    def caller(self, frame: TracedFrame) -> Spot | None:
        """The moment at which a frame was called, in the frame of the project that called it."""
        caller = self.frames.get(frame.caller) if frame.caller is not None else None
        return self.at(caller, frame.started) if caller is not None else None

    def line_steps(self, frame: TracedFrame, before: int) -> Iterator[Spot]:
        """The line steps of a frame before the index, newest first, as far back as no line is missing."""
        for index in range(before - 1, -1, -1):
            if frame.steps[index].kind == "gap":
                return
            if frame.steps[index].kind == "line":
                yield Spot(frame, index)

    def gap_before(self, frame: TracedFrame, before: int) -> int | None:
        """The index of the last gap before an index; None where no line is missing."""
        return next((index for index in range(before - 1, -1, -1) if frame.steps[index].kind == "gap"), None)

    def may_run_in(self, frame: TracedFrame, gap: int) -> Iterator[Clause]:
        """The clauses that the frame may have executed in a gap.

        They are those of the outermost loop around both of its ends; where there is none, all that the frame has.
        """
        program, scope = self.program(frame), self.scope(frame)
        if program is None or scope is None:
            return
        ends = [frame.steps[index].line for index in (gap - 1, gap + 1) if 0 <= index < len(frame.steps)]
        around: ast.AST = scope
        for clause in program.clauses_at(ends[0]) if len(ends) == 2 and all(ends) else ():
            loops = [node for node in (clause, *program.around(clause, scope)) if isinstance(node, _LOOPS)]
            around = next((loop for loop in loops[::-1] if loop.lineno <= ends[1] <= (loop.end_lineno or 0)), around)
        for node in ast.walk(around):
            if isinstance(node, Clause) and program.scope_of(node) is scope:
                yield node

    def was_interrupted(self, spot: Spot) -> bool:
        """Whether an exception ended the clause of `spot`."""
        first, last = self.group(spot)
        steps = spot.frame.steps
        # Before Python 3.10 the line comes once more when a `with` around it lets an exception pass.
        is_left = first > 0 and steps[first - 1].kind == "raise" and steps[first - 1].line == steps[first].line
        return is_left or (last + 1 < len(steps) and steps[last + 1].kind == "raise")

    # ------------------------------------------------------------ values

    def value(self, expression: ast.AST, spot: Spot) -> TracedValue | None:
        """What an expression held when the clause of `spot` was executed; None when that was not recorded."""
        key = key_of(expression)
        if key is None:
            return None
        first, last = self.group(spot)
        steps = spot.frame.steps
        after = steps[last + 1] if last + 1 < len(steps) else None
        if after is not None and after.kind == "raise":
            at_the_end: TracedValue | None = dict(after.reads).get(key)
            if at_the_end is not None:
                return at_the_end
        for index in (spot.index, *range(last, first - 1, -1)):
            read: TracedValue | None = dict(steps[index].reads).get(key)
            if read is not None:
                return read
        return None

    def before(self, expression: ast.AST, spot: Spot) -> TracedValue | None:
        """What an expression held when the clause of `spot` began."""
        key = key_of(expression)
        first, last = self.group(spot)
        for step in spot.frame.steps[first : last + 1]:
            for name, value in step.reads:
                if name == key:
                    return value
        return None

    def stored(self, key: str, spot: Spot) -> TracedValue | None:
        """What a name or a target held after the clause of `spot` was executed."""
        first, last = self.group(spot)
        for index in range(last, first - 1, -1):
            found = dict(spot.frame.steps[index].stores).get(key)
            if found is not None:
                return found
        return None

    def made_during(self, spot: Spot, *, deep: bool = True) -> list[tuple[TracedFrame, TracedStep]]:
        """The returns and yields to this frame while the clause of `spot` was executed, in their order."""
        low, high = self.extent(spot)
        found: list[tuple[TracedFrame, TracedStep]] = []
        number = spot.frame.number
        for frame in self._makers.get(number, ()):
            for step in frame.steps:
                if not low < step.sequence < high or step.kind not in ("return", "yield"):
                    continue
                if step.kind == "yield" and step.consumer not in (number, None):
                    continue
                if deep or frame.way == 0:
                    found.append((frame, step))
        return sorted(found, key=lambda made: made[1].sequence)

    @cached_property
    def _makers(self) -> dict[int, list[TracedFrame]]:
        """The frames that returned or yielded to a frame."""
        found: dict[int, dict[int, TracedFrame]] = {}
        for frame in self.trace.frames:
            consumers = {step.consumer for step in frame.steps if step.kind == "yield"}
            for number in {frame.caller, *consumers} - {None}:
                assert number is not None
                found.setdefault(number, {})[frame.number] = frame
        return {number: list(frames.values()) for number, frames in found.items()}

    # ------------------------------------------------------------ stores

    @cached_property
    def _stores(self) -> dict[str, list[Store]]:
        """The executed stores: to attributes by `.name`, to items by `[]`, in their order."""
        found: dict[str, list[Store]] = {}
        for frame in self.trace.frames:
            program = self.program(frame)
            if program is None:
                continue
            for index, step in enumerate(frame.steps):
                if step.kind != "line":
                    continue
                for clause, target in program.stored_at(step.line):
                    name = f".{program.attribute(target)}" if isinstance(target, ast.Attribute) else "[]"
                    found.setdefault(name, []).append(Store(Spot(frame, index), clause, target))
        for stores in found.values():
            stores.sort(key=lambda store: store.spot.sequence)
        return found

    @cached_property
    def _calls(self) -> dict[str, list[tuple[Spot, Clause, ast.Call]]]:
        """The executed calls by the name of what they call, in the order in which their clauses began."""
        found: dict[str, list[tuple[Spot, Clause, ast.Call]]] = {}
        for frame in self.trace.frames:
            program = self.program(frame)
            if program is None:
                continue
            for index, step in enumerate(frame.steps):
                at_line = program.calls_at(step.line) if step.kind == "line" else ()
                spot = Spot(frame, index)
                if at_line and self.group(spot)[0] == index:
                    for clause, call in at_line:
                        found.setdefault(called_name(call.func), []).append((spot, clause, call))
        for calls in found.values():
            calls.sort(key=lambda entry: entry[0].sequence)
        return found

    def calls(self, names: Iterable[str], before: int) -> Iterator[tuple[Spot, Clause, ast.Call]]:
        """The executed calls of functions or methods of these names before a sequence number, newest first."""
        found = [entry for name in names for entry in self._calls.get(name, ()) if entry[0].sequence < before]
        return iter(sorted(found, key=lambda entry: entry[0].sequence, reverse=True))

    def born(self, owner: TracedValue, before: int) -> int:
        """The sequence number since which an identity is that of `owner`: where the newest such object was made.

        An identity is given to another object when its own is gone, so what happened to it earlier is of no account.
        """
        for spot in self.givers(owner, before):
            for clause in self.clauses(spot):
                if _makes(clause, owner) and self._gave(clause, spot, owner):
                    return spot.sequence
        return 0

    def _gave(self, clause: Clause, spot: Spot, owner: TracedValue) -> bool:
        """Whether a clause assigned or returned that very object."""
        if isinstance(clause, ast.Return):
            last = self.group(spot)[1]
            after = spot.frame.steps[last + 1 : last + 2]
            return any(is_same(step.value, owner) for step in after)
        targets = clause.targets if isinstance(clause, ast.Assign) else [getattr(clause, "target", clause)]
        stored = (self.stored(key, spot) for target in targets if (key := key_of(target)))
        return any(is_same(value, owner) for value in stored)

    def stores_named(self, name: str, before: int) -> Iterator[Store]:
        """The stores to `.attribute` or `[]` of any object before a sequence number, newest first."""
        for store in reversed(self._stores.get(name, ())):
            if store.spot.sequence < before and not self.was_interrupted(store.spot):
                yield store

    def stores_to(self, owner: TracedValue, name: str, before: int) -> Iterator[Store]:
        """The stores to `.attribute` or `[]` of the object `owner` before a sequence number, newest first."""
        since = self.born(owner, before)
        for store in self.stores_named(name, before):
            if store.spot.sequence < since:
                return
            base = key_of(store.target.value)
            held = self.stored(base, store.spot) if base else None
            if is_same(held, owner):
                yield store

    @cached_property
    def _givers(self) -> dict[tuple[int, str], list[Spot]]:
        """The line steps that stored or returned an object, by its identity and class, in their order."""
        found: dict[tuple[int, str], list[Spot]] = {}
        for frame in self.trace.frames:
            last: Spot | None = None
            for index, step in enumerate(frame.steps):
                if step.kind == "line":
                    last = Spot(frame, index)
                given = [value for _, value in step.stores] if step.kind == "line" else [step.value]
                for value in given if last is not None else ():
                    if value is not None and value.identity > 0 and last is not None:
                        found.setdefault((value.identity, value.type), []).append(last)
        for spots in found.values():
            spots.sort(key=lambda spot: spot.sequence)
        return found

    def givers(self, owner: TracedValue, before: int) -> Iterator[Spot]:
        """The line steps before a sequence number that stored or returned the object, newest first."""
        return (spot for spot in reversed(self._givers.get((owner.identity, owner.type), ())) if spot.sequence < before)

    def frames_of(self, function: str) -> Iterator[TracedFrame]:
        """The executions of functions, classes or modules of that name, newest first."""
        return (frame for frame in reversed(self.trace.frames) if frame.function == function)


_COPIERS = ("copy", "deepcopy", "loads")


def _makes(clause: Clause, owner: TracedValue) -> bool:
    """Whether a clause gives an object that it has just made itself."""
    value = clause.value if isinstance(clause, ast.Assign | ast.AnnAssign | ast.Return) else None
    is_display = isinstance(
        value, ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp | ast.DictComp | ast.SetComp
    )
    return is_display or (
        isinstance(value, ast.Call) and called_name(value.func) in (owner.type.rpartition(".")[2], *_COPIERS)
    )


def is_same(one: TracedValue | None, other: TracedValue | None) -> bool:
    """Whether two values are known to be the same: None and None, or objects of one identity and class."""
    if one is None or other is None:
        return False
    if one.is_none or other.is_none:
        return one.is_none and other.is_none
    return one.identity == other.identity and one.type == other.type
