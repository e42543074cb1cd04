"""The executed clause that bound a name last, and from there on to the expression whose value it got."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from codemods.selfdebug.source import Clause
from selfdebug.model import Link, TracedFrame
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.program import Program, called_name, stored_names
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest, Rest, UnseenError, joined


def way_to(pattern: ast.AST, target: ast.AST) -> Path | None:
    """The way from an unpacked value to one of its targets; None when the target is not there."""
    if pattern is target:
        return ()
    if isinstance(pattern, ast.Tuple | ast.List):
        is_after_star = False
        for index, part in enumerate(pattern.elts):
            way = way_to(part.value if isinstance(part, ast.Starred) else part, target)
            if way is not None:
                if isinstance(part, ast.Starred):
                    return (Rest(index), *way)
                return (Item(index - len(pattern.elts) if is_after_star else index), *way)
            is_after_star = is_after_star or isinstance(part, ast.Starred)
    return None


@dataclass(frozen=True, slots=True)
class Binding:
    """An executed clause that bound `target`, which the code calls `name`; `observed` when its value was recorded."""

    name: str
    spot: Spot
    clause: Clause
    target: ast.AST
    observed: bool = False


@dataclass(frozen=True, slots=True)
class _Unseen:
    """A gap in which a name may have been bound."""

    spot: Spot


def latest_binding(evidence: Evidence, frames: Iterable[TracedFrame], name: str, before: Spot) -> Binding | None:
    """The last executed binding of a name in some frames, exhausted loops and failed clauses left out.

    Raises UnseenError where a later one may not have been recorded.
    """
    found = (_latest_in(evidence, frame, name, before) for frame in frames)
    newest = max((one for one in found if one is not None), key=lambda one: one.spot.sequence, default=None)
    if isinstance(newest, _Unseen):
        raise UnseenError(newest.spot.frame)
    return newest


def _latest_in(evidence: Evidence, frame: TracedFrame, name: str, before: Spot) -> Binding | _Unseen | None:
    history = evidence.history
    if frame.number == before.frame.number:
        first = history.group(before)[0]
        walrus = _walrus_before(evidence, name, before)
        if walrus is not None:
            return walrus
    else:
        first = sum(1 for step in frame.steps if step.sequence < before.sequence)
    return _bound_before(evidence, frame, name, first)


def _bound_before(evidence: Evidence, frame: TracedFrame, name: str, first: int) -> Binding | _Unseen | None:
    """The last binding before the step of that index, unless a gap comes first that may hide one."""
    history = evidence.history
    for spot in history.line_steps(frame, first):
        for clause in reversed(history.clauses(spot)):
            targets = [target for stored, target in stored_names(clause) if stored == name]
            if targets and _took_effect(evidence, spot, clause):
                return Binding(name, spot, clause, targets[-1])
    gap = history.gap_before(frame, first)
    if gap is None:
        return None
    if any(stored == name for clause in history.may_run_in(frame, gap) for stored, _ in stored_names(clause)):
        return _Unseen(Spot(frame, gap))
    return _bound_before(evidence, frame, name, gap)


def _walrus_before(evidence: Evidence, name: str, before: Spot) -> Binding | None:
    """An assignment expression earlier in the very clause of the use."""
    for clause in evidence.history.clauses(before):
        for stored, target in stored_names(clause):
            parent = evidence.program(before).parents.get(target)
            if stored == name and isinstance(parent, ast.NamedExpr) and parent.target is target:
                return Binding(name, before, clause, target)
    return None


def _took_effect(evidence: Evidence, spot: Spot, clause: Clause) -> bool:
    """Whether the clause bound its names at this step: not the last visit of a loop, nor the way out of a `with`."""
    history, program = evidence.history, evidence.program(spot)
    last = history.group(spot)[1]
    steps = spot.frame.steps
    if isinstance(clause, ast.For | ast.AsyncFor):
        following = next((Spot(spot.frame, index) for index in range(last + 1, len(steps))
                          if steps[index].kind in ("line", "raise")), None)  # fmt: skip
        return following is not None and any(
            clause in program.around(inner) and not _is_in_else(program, clause, inner)
            for inner in history.clauses(following)
        )
    if isinstance(clause, ast.With | ast.AsyncWith):
        before = next(history.line_steps(spot.frame, history.group(spot)[0]), None)
        if before is not None and any(clause in program.around(inner) for inner in history.clauses(before)):
            return False
    return not history.was_interrupted(spot)


def _is_in_else(program: Program, loop: ast.For | ast.AsyncFor, inner: Clause) -> bool:
    chain = [inner, *program.around(inner, loop)]
    return chain[-1] in loop.orelse


# ---------------------------------------------------------------- from the clause to its expression


def follow_binding(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    """The link for a clause that bound a target, and the expression that it got its value from."""
    parent = evidence.program(binding.spot).parents.get(binding.target)
    if isinstance(parent, ast.NamedExpr) and parent.target is binding.target:
        return _assigned(evidence, quest, binding, parent.value, "walrus")
    rule = _RULES.get(type(binding.clause))
    return rule(evidence, quest, binding) if rule is not None else _named(evidence, quest, binding)


def with_kind(found: Found, kind: str) -> Found:
    """The same with a first link that says what kind of target was assigned to."""
    first, *rest = found.links
    if first.kind not in ("assignment", "unpacking"):
        return found
    return Found((replace(first, kind=kind), *rest), found.next)


def _plain(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause = binding.clause
    assert isinstance(clause, ast.Assign)
    way = next((way for one in clause.targets if (way := way_to(one, binding.target)) is not None), ())
    return _assigned(evidence, quest, binding, clause.value, "unpacking" if way else "assignment", way)


def _annotated(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause = binding.clause
    assert isinstance(clause, ast.AnnAssign)
    if clause.value is None:
        return evidence.unknown(quest, f"line {binding.spot.step.line} only annotates {binding.name}")
    return _assigned(evidence, quest, binding, clause.value, "assignment")


def _augmented(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause = binding.clause
    assert isinstance(clause, ast.AugAssign)
    sentence = f"{binding.name} was changed with {evidence.text(clause.value, binding.spot)}."
    return Found((_link(evidence, quest, binding, "augmented", sentence, clause.value),))


def _assigned(  # noqa: PLR0913, PLR0917 - the parts of an assignment
    evidence: Evidence, quest: Quest, binding: Binding, value: ast.expr, kind: str, way: Path = ()
) -> Found:
    path, spot = joined(way, quest.path), binding.spot
    if isinstance(value, ast.Constant) and not path:
        if not evidence.may_be(quest, value):
            return evidence.not_written(quest.at(value, spot), value, spot)
        kind = "explicit-none" if value.value is None else "literal"
        sentence = f"{binding.name} is set to {evidence.text(value, spot)} here."
        return Found((_link(evidence, quest, binding, kind, sentence, value),))
    what = evidence.with_path(evidence.text(value, spot), path)
    sentence = f"{evidence.with_path(binding.name, quest.path)} got {what} here."
    return Found((_link(evidence, quest, binding, kind, sentence, value),), quest.at(value, spot, path))


def _named(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    """Clauses that give a name a value of their own: definitions, imports, `except ... as`, `del`."""
    name, clause = binding.name, binding.clause
    match clause:
        case ast.ExceptHandler():
            kind, sentence = "except", f"{name} is the exception that was caught here."
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            replaced = " and replaced by its decorator" if clause.decorator_list else ""
            kind, sentence = "definition", f"{name} is defined here{replaced}."
        case ast.Import() | ast.ImportFrom():
            kind, sentence = "import", f"{name} is imported here."
        case ast.Delete():
            kind, sentence = "deletion", f"{name} is deleted here."
        case _:
            return evidence.unknown(quest, f"line {binding.spot.step.line} binds {name} in a way that is not followed")
    return Found((_link(evidence, quest, binding, kind, sentence, clause),))


def _link(  # noqa: PLR0913, PLR0917 - the parts of a link
    evidence: Evidence, quest: Quest, binding: Binding, kind: str, sentence: str, node: ast.AST
) -> Link:
    return evidence.link(
        quest, kind, sentence, spot=binding.spot, node=node, clause=binding.clause, observed=binding.observed
    )


# ---------------------------------------------------------------- loops


def _looped(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause, spot = binding.clause, binding.spot
    assert isinstance(clause, ast.For | ast.AsyncFor)
    turn = len(_visits(evidence, spot, clause)) - 1
    way = way_to(clause.target, binding.target) or ()
    iterable = evidence.text(clause.iter, spot)
    is_counted = not (spot.frame.is_partial or spot.frame.is_old)
    which = f"turn {turn + 1} of the loop over {iterable}" if is_counted else f"a turn of the loop over {iterable}"
    sentence = f"{evidence.with_path(binding.name, quest.path)} was {quest.text} in {which}."
    link = _link(evidence, quest, binding, "for-target", sentence, clause.target)
    given = _given_in_turn(evidence, quest, spot, clause) if not way else None
    if given is not None:
        return Found((link, *given.links), given.next)
    # A generator yields when the loop asks for the next value, any other iterable was made before the first turn.
    asked = quest.at(clause.iter, spot, (Element(turn if is_counted else None), *joined(way, quest.path)))
    if turn == 0 or evidence.history.made_during(spot):
        return Found((link,), asked)
    return Found((link,), quest.at(clause.iter, _visits(evidence, spot, clause)[0], asked.path))


def _given_in_turn(evidence: Evidence, quest: Quest, spot: Spot, clause: ast.For | ast.AsyncFor) -> Found | None:
    """What a generator in a variable yielded in this turn, or `__next__` returned."""
    if isinstance(clause.iter, ast.Call) and called_name(clause.iter.func) in {
        frame.function for frame, _ in evidence.history.made_during(spot)
    }:
        return None
    for made in reversed(evidence.history.made_during(spot)):
        is_next = made[1].kind == "yield" or made[0].function == "__next__"
        if is_next and not isinstance(evidence.history.scope(made[0]), ast.GeneratorExp):
            return from_step(evidence, quest, made, made[0].function) if evidence.agrees(quest, made[1].value) else None
    return None


def _visits(evidence: Evidence, spot: Spot, clause: Clause) -> list[Spot]:
    """The visits of the loop's head in this run of the loop, oldest first, up to and with `spot`."""
    program, history = evidence.program(spot), evidence.history
    visits = [spot]
    for place in history.line_steps(spot.frame, spot.index):
        clauses = history.clauses(place)
        if clause in clauses:
            visits.append(place)
        elif not any(clause in program.around(inner) for inner in clauses):
            break
    return visits[::-1]


# ---------------------------------------------------------------- with, match


def _entered(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause, spot = binding.clause, binding.spot
    assert isinstance(clause, ast.With | ast.AsyncWith)
    for item in clause.items:
        way = way_to(item.optional_vars, binding.target) if item.optional_vars is not None else None
        if way is None:
            continue
        sentence = f"{binding.name} is what entering {evidence.text(item.context_expr, spot)} gave."
        link = evidence.link(quest, "with", sentence, spot=spot, node=item.context_expr, clause=clause)
        inner = quest.at(item.context_expr, spot, joined(way, quest.path))
        found = _by_context(evidence, inner, called_name(item.context_expr))
        return Found((link, *found.links), found.next)
    return evidence.unknown(quest, "the with statement binds it in a way that is not followed")


def _by_context(evidence: Evidence, quest: Quest, name: str) -> Found:
    """What `__enter__` returned, or what a function under `@contextmanager` yielded."""
    for made in reversed(evidence.history.made_during(quest.spot)):
        frame, step = made
        is_entering = frame.function in ("__enter__", "__aenter__") and step.kind == "return"
        is_yielding = step.kind == "yield" and frame.function == name
        if (is_entering or is_yielding) and (quest.path or is_same(step.value, quest.value)):
            return from_step(evidence, quest, made, frame.function)
    return evidence.unknown(quest, "the context manager is outside the project")


def _matched(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause, spot = binding.clause, binding.spot
    assert isinstance(clause, ast.match_case)
    match = evidence.program(spot).parents.get(clause)
    assert isinstance(match, ast.Match)
    subject = evidence.text(match.subject, spot)
    sentence = f"{binding.name} is bound by the pattern of this case to a part of {subject}."
    link = _link(evidence, quest, binding, "pattern", sentence, binding.target)
    path = _pattern_way(clause.pattern, binding.target)
    if path is None:
        return Found((link,))
    places = evidence.history.line_steps(spot.frame, spot.index)
    before = next((place for place in places if match in evidence.history.clauses(place)), spot)
    return Found((link,), quest.at(match.subject, before, (*path, *quest.path)))


def _pattern_way(pattern: ast.pattern, target: ast.AST) -> Path | None:
    if pattern is target:
        return ()
    match pattern:
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _pattern_way(inner, target)
        case ast.MatchSequence(patterns=parts) if not any(isinstance(part, ast.MatchStar) for part in parts):
            for index, part in enumerate(parts):
                way = _pattern_way(part, target)
                if way is not None:
                    return (Item(index), *way)
        case ast.MatchMapping(keys=keys, patterns=parts):
            for key, part in zip(keys, parts, strict=True):
                way = _pattern_way(part, target)
                if way is not None and isinstance(key, ast.Constant):
                    return (Item(key.value), *way)
    return None


_RULES: dict[type, Callable[[Evidence, Quest, Binding], Found]] = {
    ast.Assign: _plain,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.For: _looped,
    ast.AsyncFor: _looped,
    ast.With: _entered,
    ast.AsyncWith: _entered,
    ast.match_case: _matched,
}
