"""From a name back to what bound it outside the function that uses it: an enclosing function, the module, an import."""

from __future__ import annotations

import ast
from dataclasses import replace

from codemods.selfdebug.source import Clause
from selfdebug.model import TracedFrame
from selfdebug.stages.origin import pytest_values
from selfdebug.stages.origin.arguments import parameter_names
from selfdebug.stages.origin.bindings import Binding, follow_binding, latest_binding
from selfdebug.stages.origin.control import absent_assignment
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import Program, Scope, stored_names
from selfdebug.stages.origin.quest import Evidence, Found, Quest


def follow_enclosing(evidence: Evidence, quest: Quest, scope: Scope, name: str) -> Found:
    """A name that is not the function's own: of an enclosing function, of the module, or built in."""
    program = evidence.program(quest.spot)
    outer: ast.AST = scope
    while not isinstance(outer, ast.Module):
        outer = program.scope_of(outer)
        if isinstance(outer, ast.ClassDef | ast.Module):
            continue
        if name in parameter_names(outer) or binds(program, outer, name):
            return _closure(evidence, quest, outer, name)
    return global_name(evidence, quest, program, name)


def binds(program: Program, scope: ast.AST, name: str) -> bool:
    """Whether some clause of a scope binds the name."""
    return any(
        stored == name
        for clause in ast.walk(scope)
        if isinstance(clause, Clause) and clause is not scope and program.scope_of(clause) is scope
        for stored, _ in stored_names(clause)
    )


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
        return _variable_of(evidence, quest, frame, replace(binding, observed=certain), name)
    sentence = f"{name} is a parameter of the enclosing {frame.function}()."
    link = evidence.link(quest, "closure", sentence, observed=certain)
    moment = history.at(frame, quest.spot.sequence)
    if moment is None:
        return Found((link, *evidence.unknown(quest, "the function around it was not traced").links))
    return Found((link,), quest.at(ast.copy_location(ast.Name(name, ast.Load()), quest.expression), moment))


def _variable_of(evidence: Evidence, quest: Quest, outer: TracedFrame, binding: Binding, name: str) -> Found:
    agreed = evidence.agrees(quest, evidence.history.stored(name, binding.spot))
    if agreed is False:
        return evidence.unknown(quest, f"{name} had another value when it was last seen being set")
    sentence = f"{name} is a variable of the enclosing {outer.function}()."
    link = evidence.link(quest, "closure", sentence, observed=binding.observed)
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed) and binding.observed))
    return Found((link, *found.links), found.next)


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
        patched = pytest_values.replaced_name(evidence, quest, name, program.file)
        return patched or evidence.unknown(quest, f"no assignment to {name} was seen in {program.file}")
    agreed = evidence.agrees(quest, history.stored(name, binding.spot))
    if agreed is False or (agreed is None and not isinstance(binding.clause, ast.Import | ast.ImportFrom)):
        patched = pytest_values.replaced_name(evidence, quest, name, program.file)
        if patched is not None or agreed is False:
            return patched or evidence.unknown(quest, f"line {binding.spot.step.line} had given {name} another value")
    if isinstance(binding.clause, ast.ImportFrom):
        return _imported(evidence, quest, binding)
    found = follow_binding(evidence, quest, replace(binding, observed=bool(agreed)))
    if found.next is None and found.links[-1].kind in ("explicit-none", "literal"):
        end = Spot(binding.spot.frame, len(binding.spot.frame.steps) - 1)
        return Found((*found.links, *absent_assignment(evidence, quest, name, binding.spot, end)))
    return found


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
