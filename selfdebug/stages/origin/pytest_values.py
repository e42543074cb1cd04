"""Values that pytest hands to a test: fixtures, parametrisation, and what monkeypatch and mock put in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.selfdebug.expressions import constant_of, is_none
from selfdebug.model import TracedValue
from selfdebug.stages.origin.arguments import default_of
from selfdebug.stages.origin.calls import Made, from_step
from selfdebug.stages.origin.history import Spot, is_same
from selfdebug.stages.origin.program import Program, called_name
from selfdebug.stages.origin.quest import Evidence, Found, Quest


def follow_parameter(evidence: Evidence, quest: Quest, scope: ast.AST, name: str) -> Found:
    """A parameter of a function that pytest called: its parametrisation or its fixture."""
    program = evidence.program(quest.spot)
    row = _parametrised(quest, program, scope, name)
    if row is not None:
        own = Spot(quest.spot.frame, 0)
        sentence = f"{name} is set to {program.text(row)} by the parametrisation of the test."
        link = evidence.link(quest, "parametrisation", sentence, spot=own, node=row)
        following = None if isinstance(row, ast.Constant) else quest.at(row, own)
        return Found((link,), following)
    made = _fixture(evidence, quest, name)
    if made is not None:
        (frame, step), scope_word = made
        sentence = f"{name} is the value of the fixture {name}{scope_word}."
        node = next((one for one in ast.walk(scope) if isinstance(one, ast.arg) and one.arg == name), scope)
        link = evidence.link(quest, "fixture", sentence, node=node)
        found = from_step(evidence, quest, (frame, step), frame.function)
        return Found((link, *found.links), found.next)
    default = default_of(scope, name)
    if default is not None:
        sentence = f"{quest.spot.frame.function}() was called without {name}; its default is {program.text(default)}."
        own = Spot(quest.spot.frame, 0)
        return Found((evidence.link(quest, "default", sentence, spot=own, node=default),))
    return evidence.unknown(quest, f"{quest.spot.frame.function} was called by code {evidence.outside}")


def _decorators(program: Program, scope: ast.AST) -> Iterator[ast.expr]:
    """The decorators of a test, and those of the class it stands in."""
    for node in (scope, *program.around(scope)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list


def _parametrised(quest: Quest, program: Program, scope: ast.AST, name: str) -> ast.expr | None:
    """The expression in `parametrize` that became the parameter; None when it is not certain which one did."""
    arguments = dict(quest.spot.frame.arguments)
    for decorator in _decorators(program, scope):
        if not (isinstance(decorator, ast.Call) and called_name(decorator.func) == "parametrize"):
            continue
        given = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
        if len(given) < 2 or not isinstance(given[1], ast.List | ast.Tuple):
            continue
        names = _names(given[0])
        if name not in names:
            continue
        column = names.index(name)
        rows = [row for one in given[1].elts if (row := _row(one, len(names))) is not None]
        fitting = [
            row
            for row in rows
            if all(_fits(cell, arguments.get(other)) for other, cell in zip(names, row, strict=True))
        ]
        cells = [row[column] for row in fitting]
        if len(cells) == 1 or (cells and all(is_none(cell) for cell in cells)):
            return cells[0]
    return None


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(one.value) for one in node.elts if isinstance(one, ast.Constant)]
    return []


def _row(node: ast.expr, width: int) -> list[ast.expr] | None:
    if isinstance(node, ast.Call) and called_name(node.func) == "param":
        return node.args if len(node.args) == width else None
    if width == 1:
        return [node]
    return node.elts if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == width else None


def _fits(cell: ast.expr, held: object) -> bool:
    constant = constant_of(cell)
    text = getattr(held, "text", None)
    return constant is None or text is None or text.endswith("...") or repr(constant[0]) == text


def _fixture(evidence: Evidence, quest: Quest, name: str) -> tuple[Made, str] | None:
    """The newest return or yield of the fixture of that name that fits the value, and its scope in words."""
    history = evidence.history
    for frame in reversed(history.trace.frames):
        scope = history.scope(frame)
        if frame.started > quest.spot.sequence or not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorator = next((one for one in scope.decorator_list if called_name(one) in _FIXTURES), None)
        if decorator is None or _fixture_name(scope, decorator) != name:
            continue
        made = [step for step in frame.steps if step.kind in ("return", "yield")]
        for step in made:
            if step.sequence < quest.spot.sequence and evidence.agrees(quest, step.value):
                return (frame, step), _scope_of(decorator)
    return None


_FIXTURES = frozenset({"fixture", "yield_fixture"})


def _fixture_name(scope: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> str:
    named = _keyword(decorator, "name")
    return named if named is not None else scope.name


def _scope_of(decorator: ast.expr) -> str:
    scope = _keyword(decorator, "scope")
    return f" (scope {scope})" if scope else ""


def _keyword(decorator: ast.expr, name: str) -> str | None:
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg == name and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def replaced_name(evidence: Evidence, quest: Quest, name: str, owner: TracedValue | str) -> Found | None:
    """The executed `monkeypatch.setattr` or `patch` that put the value under that name of `owner`.

    `owner` is an object, or the file of a module.
    """
    latest = max(_replacements(evidence, name, owner, quest.spot), key=lambda found: found[0].sequence, default=None)
    if latest is None:
        return None
    spot, call = latest
    value = _replacement(call)
    sentence = f"{name} is replaced by {evidence.text(call, spot)}."
    link = evidence.link(quest, "mock", sentence, spot=spot, node=call)
    if value is None or isinstance(value, ast.Constant):
        return Found((link,))
    return Found((link,), quest.at(value, spot))


def _replacements(
    evidence: Evidence, name: str, owner: TracedValue | str, before: Spot
) -> Iterator[tuple[Spot, ast.Call]]:
    """The executed calls that replace something of that name, before a moment."""
    for spot, _, call in evidence.history.calls(_REPLACERS, before.sequence):
        is_replacer = not isinstance(call.func, ast.Name) or call.func.id == "patch"
        if is_replacer and _replaces(evidence, spot, call, name, owner):
            yield spot, call


_REPLACERS = frozenset({"setattr", "setitem", "object", "patch"})


def _replaces(evidence: Evidence, spot: Spot, call: ast.Call, name: str, owner: TracedValue | str) -> bool:
    if not call.args:
        return False
    first, second = call.args[0], call.args[1] if len(call.args) > 1 else None
    dotted = _text_of(first)
    if dotted is not None:
        prefix, _, last = dotted.rpartition(".")
        return last == name and _is_named(prefix, owner)
    if _text_of(second) != name:
        return False
    held = evidence.value(first, spot)
    if held is None:
        return False
    if isinstance(owner, str):
        return held.type == "module" and _is_named(held.text.removeprefix("<module ").rstrip(">"), owner)
    is_its_class = held.type == "type" and held.text.strip("<>") == owner.type
    return is_same(held, owner) or is_its_class


def _text_of(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_named(dotted: str, owner: TracedValue | str) -> bool:
    """Whether a dotted name can be that of a module, by its file, or of the class of an object."""
    if not isinstance(owner, str):
        return owner.type.rpartition(".")[2] == dotted.rpartition(".")[2] or owner.text == f"<module {dotted}>"
    file = f"/{owner}".removesuffix(".py").removesuffix("/__init__")
    return bool(dotted) and file.endswith("/" + dotted.replace(".", "/"))


def _replacement(call: ast.Call) -> ast.expr | None:
    """The expression that is put in place of the old value."""
    for keyword in call.keywords:
        if keyword.arg in ("new", "value", "return_value"):
            return keyword.value
    place = 1 if _text_of(call.args[0]) is not None else 2
    return call.args[place] if len(call.args) > place else None


def mocked_call(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What a mock returned: its `return_value`, where that was set or the mock was made."""
    held = evidence.value(call.func, quest.spot)
    text, history = evidence.text(call.func, quest.spot), evidence.history
    if held is None and _is_of_mock(evidence, quest, call.func):
        return _child_of_mock(evidence, quest, text)
    if held is None or not held.type.endswith("Mock"):
        return None
    store = next(history.stores_to(held, ".return_value", quest.spot.sequence), None)
    if store is not None and isinstance(store.clause, ast.Assign):
        return _returned(evidence, quest.at(store.clause.value, store.spot), text)
    for spot in history.givers(held, quest.spot.sequence):
        for _, made in evidence.program(spot).calls_at(spot.step.line):
            given = next((one.value for one in made.keywords if one.arg == "return_value"), None)
            if given is not None:
                return _returned(evidence, quest.at(given, spot), text)
    name = called_name(call.func)
    for owner in (quest.spot.frame.file, held):
        replaced = replaced_name(evidence, quest, name, owner)
        if replaced is not None:
            return replaced
    return evidence.end(quest, "mock", f"{text} is a mock, and this is what it returned.")


def _is_of_mock(evidence: Evidence, quest: Quest, node: ast.expr) -> bool:
    """Whether an attribute was looked up on a mock, however far up."""
    while isinstance(node, ast.Attribute):
        node = node.value
        held = evidence.value(node, quest.spot)
        if held is not None:
            return held.type.endswith("Mock")
    return False


def _child_of_mock(evidence: Evidence, quest: Quest, text: str) -> Found:
    """A mock that another one made up for an attribute: its `return_value`, set in the same function."""
    for spot in evidence.history.line_steps(quest.spot.frame, quest.spot.index):
        for clause in evidence.history.clauses(spot):
            match clause:
                case ast.Assign(targets=[ast.Attribute(attr="return_value", value=of)], value=value):
                    if evidence.text(of, spot) == text:
                        return _returned(evidence, quest.at(value, spot), text)
    return evidence.end(quest, "mock", f"{text} belongs to a mock, and this is what it returned.", observed=False)


def mocked_attribute(evidence: Evidence, quest: Quest, mock: TracedValue, name: str) -> Found:
    """The attribute of a mock: given when it was made, or made up by it."""
    for spot in evidence.history.givers(mock, quest.spot.sequence):
        for _, made in evidence.program(spot).calls_at(spot.step.line):
            given = next((one.value for one in made.keywords if one.arg == name), None)
            if given is not None:
                sentence = f"The mock was made with {evidence.text(given, spot)} for {name}."
                link = evidence.link(quest, "mock", sentence, spot=spot, node=given)
                return Found((link,), None if isinstance(given, ast.Constant) else quest.at(given, spot))
    return evidence.end(quest, "mock", f"{name} is an attribute of a mock.", observed=False)


def _returned(evidence: Evidence, inner: Quest, text: str) -> Found:
    sentence = f"{text} is a mock that returns {evidence.text(inner.expression, inner.spot)}."
    link = evidence.link(inner, "mock", sentence)
    return Found((link,), None if isinstance(inner.expression, ast.Constant) else inner)
