"""From an executed clause that bound a target to the expression whose value it got."""

from __future__ import annotations

import ast

from codemods.selfdebug.source import Clause
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.program import last_name
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Path, Quest


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
                    return (Element(), *way)
                return (Item(index - len(pattern.elts) if is_after_star else index), *way)
            is_after_star = is_after_star or isinstance(part, ast.Starred)
    return None


def follow_binding(  # noqa: PLR0913, PLR0917 - the executed clause in all its parts
    evidence: Evidence, quest: Quest, name: str, spot: Spot, clause: Clause, target: ast.AST, observed: bool
) -> Found:
    """The link for a clause that bound `target`, and the expression that it got its value from."""
    parent = evidence.program(spot).parents.get(target)
    if isinstance(parent, ast.NamedExpr) and parent.target is target:
        return _assigned(evidence, quest, name, spot, parent.value, ("walrus", observed), ())
    match clause:
        case ast.Assign(targets=targets, value=value):
            way = next((way for one in targets if (way := way_to(one, target)) is not None), ())
            kind = "unpacking" if way else "assignment"
            return _assigned(evidence, quest, name, spot, value, (kind, observed), way)
        case ast.AnnAssign(value=ast.expr() as value):
            return _assigned(evidence, quest, name, spot, value, ("assignment", observed), ())
        case ast.AugAssign(value=value):
            sentence = f"{name} was changed in place with {evidence.text(value, spot)}."
            link = evidence.link(quest, "augmented", sentence, spot=spot, node=value, observed=observed)
            return Found((link,))
        case ast.For() | ast.AsyncFor():
            return _looped(evidence, quest, name, spot, clause, target, observed)
        case ast.With() | ast.AsyncWith():
            return _entered(evidence, quest, name, spot, clause, target)
        case ast.ExceptHandler():
            sentence = f"{name} is the exception that was caught here."
            return Found((evidence.link(quest, "except", sentence, spot=spot, node=clause, observed=observed),))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            sentence = f"{name} is defined here" + (" and replaced by its decorator." if clause.decorator_list else ".")
            return Found((evidence.link(quest, "definition", sentence, spot=spot, node=clause, observed=observed),))
        case ast.Import() | ast.ImportFrom():
            sentence = f"{name} is imported here."
            return Found((evidence.link(quest, "import", sentence, spot=spot, node=clause, observed=observed),))
        case ast.match_case():
            return _matched(evidence, quest, name, spot, clause, target, observed)
        case ast.Delete():
            sentence = f"{name} is deleted here."
            return Found((evidence.link(quest, "deletion", sentence, spot=spot, node=clause, observed=observed),))
    return evidence.unknown(quest, f"line {spot.step.line} binds {name} in a way that is not followed")


def _assigned(  # noqa: PLR0913, PLR0917 - the executed clause in all its parts
    evidence: Evidence, quest: Quest, name: str, spot: Spot, value: ast.expr, how: tuple[str, bool], way: Path
) -> Found:
    kind, observed = how
    path = (*way, *quest.path)
    if isinstance(value, ast.Constant) and not path:
        said = evidence.text(value, spot)
        kind = "explicit-none" if value.value is None else "literal"
        sentence = f"{name} is set to {said} here."
        return Found((evidence.link(quest, kind, sentence, spot=spot, node=value, observed=observed),))
    what = evidence.with_path(evidence.text(value, spot), path)
    sentence = f"{evidence.with_path(name, quest.path)} got {what} here."
    link = evidence.link(quest, kind, sentence, spot=spot, node=value, observed=observed)
    return Found((link,), quest.at(value, spot, path))


def _looped(  # noqa: PLR0913, PLR0917 - the executed clause in all its parts
    evidence: Evidence,
    quest: Quest,
    name: str,
    spot: Spot,
    clause: ast.For | ast.AsyncFor,
    target: ast.AST,
    observed: bool,
) -> Found:
    turn = _turn(evidence, spot, clause)
    way = way_to(clause.target, target) or ()
    iterable = evidence.text(clause.iter, spot)
    which = f"turn {turn + 1} of the loop over {iterable}"
    sentence = f"{evidence.with_path(name, quest.path)} was {quest.text} in {which}."
    link = evidence.link(quest, "for-target", sentence, spot=spot, node=clause.target, clause=clause, observed=observed)
    # A generator yields when the loop asks for the next value, any other iterable was made before the first turn.
    asked = quest.at(clause.iter, spot, (Element(turn), *way, *quest.path))
    if turn == 0 or evidence.history.made_during(spot):
        return Found((link,), asked)
    first = _first_turn(evidence, spot, clause)
    return Found((link,), quest.at(clause.iter, first, asked.path))


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


def _turn(evidence: Evidence, spot: Spot, clause: Clause) -> int:
    return len(_visits(evidence, spot, clause)) - 1


def _first_turn(evidence: Evidence, spot: Spot, clause: Clause) -> Spot:
    return _visits(evidence, spot, clause)[0]


def _entered(  # noqa: PLR0913, PLR0917 - the executed clause in all its parts
    evidence: Evidence, quest: Quest, name: str, spot: Spot, clause: ast.With | ast.AsyncWith, target: ast.AST
) -> Found:
    from selfdebug.stages.origin.calls import from_step

    for item in clause.items:
        way = way_to(item.optional_vars, target) if item.optional_vars is not None else None
        if way is None:
            continue
        context = evidence.text(item.context_expr, spot)
        sentence = f"{name} is what entering {context} gave."
        link = evidence.link(quest, "with", sentence, spot=spot, node=item.context_expr, clause=clause)
        inner = quest.at(item.context_expr, spot, (*way, *quest.path))
        wanted = last_name(item.context_expr)
        for made in reversed(evidence.history.made_during(spot)):
            frame, step = made
            is_entering = frame.function in ("__enter__", "__aenter__") and step.kind == "return"
            is_yielding = step.kind == "yield" and frame.function == wanted
            if (is_entering or is_yielding) and (inner.path or is_same(step.value, quest.value)):
                found = from_step(evidence, inner, made, frame.function)
                return Found((link, *found.links), found.next)
        text = f"entering {context} gave it, outside the project"
        return Found((link, *evidence.unknown(quest, text).links))
    return evidence.unknown(quest, "the with statement binds it in a way that is not followed")


def _matched(  # noqa: PLR0913, PLR0917 - the executed clause in all its parts
    evidence: Evidence,
    quest: Quest,
    name: str,
    spot: Spot,
    clause: ast.match_case,
    target: ast.AST,
    observed: bool,
) -> Found:
    program = evidence.program(spot)
    match = program.parents.get(clause)
    assert isinstance(match, ast.Match)
    path = _pattern_way(clause.pattern, target)
    subject = evidence.text(match.subject, spot)
    sentence = f"{name} is bound by the pattern of this case to a part of {subject}."
    link = evidence.link(quest, "pattern", sentence, spot=spot, node=target, clause=clause, observed=observed)
    if path is None:
        return Found((link,))
    before = next(
        (place for place in evidence.history.line_steps(spot.frame, spot.index)
         if match in evidence.history.clauses(place)),
        spot,
    )  # fmt: skip
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
