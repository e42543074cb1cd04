"""From a name back to what bound it: an assignment, a parameter, an enclosing function, the module, an import."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from codemods.selfdebug.source import Clause
from selfdebug.model import TracedFrame
from selfdebug.stages.origin import pytest_values
from selfdebug.stages.origin.bindings import Binding, follow_binding, way_to
from selfdebug.stages.origin.calls import Began, argument_for, call_of, default_of, parameter_names
from selfdebug.stages.origin.control import absent_assignment, deciding_values
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import COMPREHENSIONS, Program, Scope, last_name, own_nodes, stored_names
from selfdebug.stages.origin.quest import Element, Evidence, Found, Quest

_CONSTANT = ("explicit-none", "literal")


def follow_name(evidence: Evidence, quest: Quest) -> Found:
    """Where a name's value comes from."""
    name = quest.expression
    assert isinstance(name, ast.Name)
    inner = _comprehension_variable(evidence, quest, name)
    if inner is not None:
        return inner
    history, frame = evidence.history, quest.spot.frame
    scope = history.scope(frame)
    if scope is None:
        return evidence.unknown(quest, f"the code of {frame.function} is not in its file")
    if isinstance(scope, COMPREHENSIONS):
        outer = history.caller(frame)
        return (
            evidence.unknown(quest, "it was run from elsewhere") if outer is None else Found((), quest.at(name, outer))
        )
    return _own(evidence, quest, scope, name.id) or _enclosing(evidence, quest, scope, name.id)


def _own(evidence: Evidence, quest: Quest, scope: Scope, name: str) -> Found | None:
    """A local name or a parameter of the frame's own scope."""
    if isinstance(scope, ast.Module):
        return None
    local = latest_binding(evidence, [quest.spot.frame], name, quest.spot)
    is_bound_here = _binds(evidence.program(quest.spot), scope, name)
    if local is not None and not _is_declared(scope, name) and not quest.spot.frame.is_partial:
        return _bound(evidence, quest, name, local)
    if is_bound_here and (quest.spot.frame.is_partial or quest.spot.frame.is_old):
        return evidence.unknown(quest, f"{quest.spot.frame.function}() ran too often for all its lines to be recorded")
    return _parameter(evidence, quest, scope, name) if name in parameter_names(scope) else None


def latest_binding(evidence: Evidence, frames: Iterable[TracedFrame], name: str, before: Spot) -> Binding | None:
    """The last executed binding of a name in some frames, exhausted loops and failed clauses left out."""
    found: list[Binding] = []
    for frame in frames:
        binding = _latest_in(evidence, frame, name, before)
        if binding is not None:
            found.append(binding)
    return max(found, key=lambda binding: binding.spot.sequence, default=None)


def _latest_in(evidence: Evidence, frame: TracedFrame, name: str, before: Spot) -> Binding | None:
    history = evidence.history
    if frame.number == before.frame.number:
        first = history.group(before)[0]
        walrus = _walrus_before(evidence, name, before)
        if walrus is not None:
            return walrus
    else:
        first = sum(1 for step in frame.steps if step.sequence < before.sequence)
    for spot in history.line_steps(frame, first):
        for clause in reversed(history.clauses(spot)):
            targets = [target for stored, target in stored_names(clause) if stored == name]
            if targets and _took_effect(evidence, spot, clause):
                return Binding(name, spot, clause, targets[-1])
    return None


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


def _bound(evidence: Evidence, quest: Quest, name: str, binding: Binding) -> Found:
    seen = evidence.history.stored(name, binding.spot)
    agreed = evidence.agrees(quest, seen)
    if agreed is False and not isinstance(binding.clause, ast.With | ast.AsyncWith):
        return evidence.unknown(quest, f"line {binding.spot.step.line} had given {name} another value")
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))
    if found.links[-1].kind in _CONSTANT and found.next is None:
        links = absent_assignment(evidence, quest, name, binding.spot, quest.spot)
        return Found((*found.links, *links))
    return found


# ---------------------------------------------------------------- comprehensions


def _comprehension_variable(evidence: Evidence, quest: Quest, name: ast.Name) -> Found | None:
    """The name is a variable of a comprehension around it: on to the iterable."""
    program = evidence.program(quest.spot)
    below: ast.AST = name
    for node in program.around(name):
        if isinstance(node, ast.stmt):
            return None
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                targets = [found for found in ast.walk(generator.target)
                           if isinstance(found, ast.Name) and found.id == name.id]  # fmt: skip
                if targets and not (below is generator and _is_within(name, generator.iter)):
                    return _from_generator(evidence, quest, node, generator, targets[-1])
        below = node
    return None


def _is_within(node: ast.AST, outer: ast.AST) -> bool:
    return any(found is node for found in ast.walk(outer))


def _from_generator(
    evidence: Evidence, quest: Quest, node: ast.AST, generator: ast.comprehension, target: ast.Name
) -> Found:
    frame = quest.spot.frame
    spot = quest.spot
    is_first = isinstance(node, COMPREHENSIONS) and node.generators[0] is generator
    if isinstance(evidence.history.scope(frame), COMPREHENSIONS) and is_first:
        outer = evidence.history.caller(frame)
        if outer is None:
            return evidence.unknown(quest, "the comprehension was run from elsewhere")
        spot = outer
    path = (Element(), *(way_to(generator.target, target) or ()), *quest.path)
    iterable = evidence.text(generator.iter, spot)
    sentence = f"{target.id} went over {iterable} and was {quest.text} when it failed."
    link = evidence.link(quest, "comprehension", sentence, node=target)
    return Found((link,), quest.at(generator.iter, spot, path))


# ---------------------------------------------------------------- parameters


def _parameter(evidence: Evidence, quest: Quest, scope: ast.AST, name: str) -> Found:
    history, frame = evidence.history, quest.spot.frame
    given = dict(frame.arguments).get(name)
    observed = evidence.agrees(quest, given)
    if observed is False:
        return evidence.unknown(quest, f"{frame.function} was called with another {name}")
    spot = history.caller(frame)
    if spot is None or _is_called_by_pytest(frame, scope):
        return pytest_values.follow_parameter(evidence, quest, scope, name)
    call = call_of(evidence, frame, spot)
    if call is None:
        return _without_call(evidence, quest, spot, scope, name)
    argument = argument_for(evidence, Began(frame, scope, call, spot), name, quest.path)
    if argument is not None:
        what = evidence.with_path(evidence.text(argument.expression, spot), argument.path)
        sentence = f"{frame.function}() was called with {what} for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=argument.expression, observed=bool(observed))
        return Found((link,), quest.at(argument.expression, spot, argument.path))
    return _defaulted(evidence, quest, spot, scope, name)


def _defaulted(evidence: Evidence, quest: Quest, spot: Spot, scope: ast.AST, name: str) -> Found:
    """The call at `spot` left the parameter to its default, or passed it under another name of the function."""
    frame = quest.spot.frame
    call = call_of(evidence, frame, spot)
    aliased = _of_alias(evidence, quest, spot, call) if call is not None else None
    if call is not None and aliased is not None:
        sentence = f"{frame.function}() was called as {evidence.text(call.func, spot)} with it, probably for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=aliased, observed=False)
        return Found((link,), quest.at(aliased, spot))
    default = default_of(scope, name)
    if default is None:
        return evidence.unknown(quest, f"the call at line {spot.step.line} does not show what it passed for {name}")
    sentence = (
        f"{frame.function}() was called without {name} at {spot.frame.file}:{spot.step.line}, "
        f"and its default is {evidence.program(quest.spot).text(default)}."
    )
    own = Spot(frame, 0)
    link = evidence.link(quest, "default", sentence, spot=own, node=default, clause=_function(scope))
    return Found((link,), None if isinstance(default, ast.Constant) else quest.at(default, own))


def _of_alias(evidence: Evidence, quest: Quest, spot: Spot, call: ast.Call) -> ast.expr | None:
    """The only argument that had the value, of a call by another name (a partial, say)."""
    if last_name(call.func) == quest.spot.frame.function or quest.path:
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    fitting = [one for one in given if evidence.agrees(quest, evidence.value(one, spot))]
    return fitting[0] if len(fitting) == 1 else None


def _function(scope: ast.AST) -> Clause | None:
    return scope if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _is_called_by_pytest(frame: TracedFrame, scope: ast.AST) -> bool:
    """Whether the call went through pytest: a test or fixture that a project frame (a hook, a plugin) is above of."""
    return frame.way > 8 and isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)


def _without_call(evidence: Evidence, quest: Quest, spot: Spot, scope: ast.AST, name: str) -> Found:
    """Called by code outside the project, or by an operator: the caller's values are all that is known."""
    frame = quest.spot.frame
    operand = _operand(evidence, spot, frame, scope, name)
    if operand is not None:
        sentence = f"{frame.function}() was called by the operator with {evidence.text(operand, spot)} for {name}."
        link = evidence.link(quest, "parameter", sentence, spot=spot, node=operand)
        return Found((link,), quest.at(operand, spot))
    passed = _passed_through(evidence, quest, spot)
    if passed is not None:
        expression, path = passed
        what = evidence.with_path(evidence.text(expression, spot), path)
        sentence = f"{frame.function}() was called by code outside the project, which got {what} here."
        link = evidence.link(quest, "through-library", sentence, spot=spot, node=expression, observed=False)
        return Found((link,), quest.at(expression, spot, path))
    values = ""
    for clause in evidence.history.clauses(spot):
        values = values or deciding_values(evidence, ast.Tuple([n for n in ast.iter_child_nodes(clause)
                                           if isinstance(n, ast.expr)], ast.Load()), spot)  # fmt: skip
    why = f"{frame.function} was called by code outside the project from {spot.frame.file}:{spot.step.line}"
    return evidence.unknown(quest, f"{why} ({values})" if values else why)


def _operand(evidence: Evidence, spot: Spot, frame: TracedFrame, scope: ast.AST, name: str) -> ast.expr | None:
    """The operand or index that became the second parameter of an operator's method."""
    names = list(parameter_names(scope))
    if not (frame.function.startswith("__") and len(names) > 1 and names[1] == name) or frame.way:
        return None
    found = [
        node
        for clause in evidence.history.clauses(spot)
        for node in ast.walk(clause)
        if isinstance(node, ast.BinOp | ast.Subscript | ast.Compare)
    ]
    if len(found) != 1:
        return None
    match found[0]:
        case ast.BinOp(left=left, right=right):
            return left if frame.function.startswith("__r") else right
        case ast.Subscript(slice=index):
            return index
        case ast.Compare(comparators=[right]):
            return right
    return None


def _passed_through(evidence: Evidence, quest: Quest, spot: Spot) -> tuple[ast.expr, tuple[Element, ...]] | None:
    """The only expression of the caller's clause that held the value, or the only iterable that was passed on."""
    held: list[ast.expr] = []
    for clause in evidence.history.clauses(spot):
        for node in ast.walk(clause):
            is_argument = isinstance(node, ast.Call) and len(evidence.history.clauses(spot)) == 1
            if is_argument and isinstance(node, ast.Call):
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                held += [one for one in given if evidence.agrees(quest, evidence.value(one, spot)) and not quest.path]
    if len(held) == 1:
        return held[0], ()
    if held or quest.path:
        return None
    for clause in evidence.history.clauses(spot):
        for node in own_nodes(clause):
            match node:
                case ast.Call(func=ast.Name(id="map" | "filter"), args=[_, iterable]):
                    return iterable, (Element(),)
    return None


# ---------------------------------------------------------------- around the function


def _enclosing(evidence: Evidence, quest: Quest, scope: Scope, name: str) -> Found:
    """A name that is not the function's own: of an enclosing function, of the module, or built in."""
    program = evidence.program(quest.spot)
    outer: ast.AST = scope
    while not isinstance(outer, ast.Module):
        outer = program.scope_of(outer)
        if isinstance(outer, ast.ClassDef | ast.Module):
            continue
        if name in parameter_names(outer) or _binds(program, outer, name):
            return _closure(evidence, quest, outer, name)
    return global_name(evidence, quest, program, name)


def _binds(program: Program, scope: ast.AST, name: str) -> bool:
    return any(
        stored == name
        for clause in ast.walk(scope)
        if isinstance(clause, Clause) and clause is not scope and program.scope_of(clause) is scope
        for stored, _ in stored_names(clause)
    )


def _is_declared(scope: ast.AST, name: str) -> bool:
    """Whether the scope says that the name is not its own."""
    return any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(scope))


def _closure(evidence: Evidence, quest: Quest, outer: ast.AST, name: str) -> Found:
    history, program = evidence.history, evidence.program(quest.spot)
    file = quest.spot.frame.file
    frames = [
        frame
        for frame in history.trace.frames
        if frame.file == file and frame.started < quest.spot.sequence and history.scope(frame) is outer
    ]
    sharers = [
        frame
        for frame in history.trace.frames
        if frame.file == file and (scope := history.scope(frame)) is not None and _shares(program, scope, name)
    ]
    if not frames:
        return evidence.unknown(quest, f"the function around it that set {name} was not traced")
    # The last run of the function around it is the likeliest; with several runs it is not certain.
    frame = frames[-1]
    binding = latest_binding(evidence, [frame, *sharers], name, quest.spot)
    certain = len(frames) == 1
    if binding is not None:
        agreed = evidence.agrees(quest, history.stored(name, binding.spot))
        if agreed is False:
            return evidence.unknown(quest, f"{name} had another value when it was last seen being set")
        sentence = f"{name} is a variable of the enclosing {frame.function}()."
        link = evidence.link(quest, "closure", sentence, observed=certain)
        found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed) and certain))
        return Found((link, *found.links), found.next)
    sentence = f"{name} is a parameter of the enclosing {frame.function}()."
    link = evidence.link(quest, "closure", sentence, observed=certain)
    moment = history.at(frame, quest.spot.sequence)
    if moment is None:
        return Found((link, *evidence.unknown(quest, "the function around it was not traced").links))
    return Found((link,), quest.at(ast.copy_location(ast.Name(name, ast.Load()), quest.expression), moment))


def _shares(program: Program, scope: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Nonlocal) and name in node.names and program.scope_of(node) is scope
        for node in ast.walk(scope)
    )


def global_name(evidence: Evidence, quest: Quest, program: Program, name: str) -> Found:
    """A name of a module: bound when it was imported, or later by a function that declares it global."""
    history = evidence.history
    declaring = program.globals_of.get(name, ())
    frames = [
        frame
        for frame in history.trace.frames
        if frame.file == program.file and (frame.function == "<module>" or history.scope(frame) in declaring)
    ]
    binding = latest_binding(evidence, frames, name, quest.spot)
    if binding is None:
        patched = pytest_values.replaced_name(evidence, quest, name)
        return patched or evidence.unknown(quest, f"no assignment to {name} was seen in {program.file}")
    agreed = evidence.agrees(quest, history.stored(name, binding.spot))
    if agreed is False or (agreed is None and not isinstance(binding.clause, ast.Import | ast.ImportFrom)):
        patched = pytest_values.replaced_name(evidence, quest, name)
        if patched is not None or agreed is False:
            return patched or evidence.unknown(quest, f"line {binding.spot.step.line} had given {name} another value")
    if isinstance(binding.clause, ast.ImportFrom):
        return _imported(evidence, quest, binding)
    return follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))


def _imported(evidence: Evidence, quest: Quest, binding: Binding) -> Found:
    clause, alias = binding.clause, binding.target
    assert isinstance(clause, ast.ImportFrom) and isinstance(alias, ast.alias)
    sentence = f"{alias.asname or alias.name} is imported from {'.' * clause.level}{clause.module or ''}."
    link = evidence.link(quest, "import", sentence, spot=binding.spot, node=clause)
    frame = module_frame(evidence, clause.module or "")
    if frame is None:
        return Found((link, *evidence.unknown(quest, f"{clause.module} is not part of the project").links))
    program = evidence.history.program(frame)
    if program is None:
        return Found((link, *evidence.unknown(quest, f"{frame.file} cannot be read").links))
    found = global_name(evidence, quest, program, alias.name)
    return Found((link, *found.links), found.next)


def module_frame(evidence: Evidence, module: str) -> TracedFrame | None:
    """The execution of a module, by its dotted name (or the end of it)."""
    path = module.replace(".", "/")
    for frame in evidence.history.frames_of("<module>"):
        if frame.file.endswith((f"{path}.py", f"{path}/__init__.py")):
            return frame
    return None
