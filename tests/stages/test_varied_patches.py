"""What a patch is made of, its variants, and the version that records what it does: for every guard of the registry."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from codemods.selfdebug.base import Example, Guard, Parameters, RefusedError, Target, TargetNotFoundError, Test, marked
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from selfdebug.model import Candidate, Patch, Site
from selfdebug.stages.vary import Parts, Variant, Watched, name_of, parts_of, variants, watch, within_functions

EXAMPLES = [
    (guard, example, f"{guard.id}-{number}")
    for guard in guards().values()
    for number, example in enumerate(guard.examples)
]
every_example = pytest.mark.parametrize(
    ("guard", "example"), [each[:2] for each in EXAMPLES], ids=[each[2] for each in EXAMPLES]
)


def patch_of(guard: Guard, before: str, parameters: Parameters) -> Patch:
    source, target = marked(before)
    candidate = Candidate(
        id="candidate-1",
        guard=guard.id,
        family=guard.family.value,
        file="subject.py",
        site=Site.CRASH,
        expression=target.expression,
        receiver=target.receiver,
        receiver_code="x",
        default=parameters.default,
        default_source=None,
        test=parameters.test.value,
        reason="",
        classes=parameters.classes,
    )
    return Patch(candidate, "subject.py", source, _applied(source, target, guard, parameters))


def _applied(source: bytes, target: Target, guard: Guard, parameters: Parameters) -> bytes:
    return Source.parse(source).apply(target, guard, parameters).apply_to(source)


def with_default(patch: Patch, default: str) -> bytes:
    candidate = patch.candidate
    parameters = Parameters(default, Test(candidate.test), candidate.classes)
    target = Target(candidate.expression, candidate.receiver)
    return _applied(patch.before, target, guards()[candidate.guard], parameters)


def varied(guard: str, before: str, parameters: Parameters | None = None) -> tuple[Parts, list[Variant]]:
    patch = patch_of(guards()[guard], before, parameters or Parameters())
    parts = parts_of(patch)
    return parts, list(variants(patch, parts, with_default))


@every_example
def test_each_variant_compiles_and_is_another_program(guard: Guard, example: Example) -> None:
    patch = patch_of(guard, example.before, example.parameters)
    parts = parts_of(patch)
    met = {ast.dump(ast.parse(patch.after))}
    for variant in variants(patch, parts, with_default):
        dump = ast.dump(ast.parse(variant.after))
        assert dump not in met, variant
        met.add(dump)


def test_all_guards_have_variants_but_those_with_neither_condition_nor_default() -> None:
    varied_guards = {
        guard.id for guard, example, _ in EXAMPLES if varied(guard.id, example.before, example.parameters)[1]
    }
    assert set(guards()) - varied_guards == {
        "clamp-high",
        "clamp-low",
        "class-widen",
        "coercion",
        "element-conversion",
        "except-widen",
        "missing-return",
        "replace-name",
        "sort-key",
        "sort-key-first",
        "uncall",
    }


@every_example
def test_the_recording_version_has_the_same_code_around_the_recorder_calls(guard: Guard, example: Example) -> None:
    patch = patch_of(guard, example.before, example.parameters)
    parts = parts_of(patch)
    watched = watch(parts.source, [name_of(parts.source.tree, parts.function)], parts)
    assert watched is not None
    if not parts.fallbacks:
        assert _without_recorders(watched.data) == ast.dump(ast.parse(patch.after))
    numbers = [point.id for point in watched.points]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(f"({number}, ".encode() in watched.data for number in numbers)


def _without_recorders(data: bytes) -> str:
    return ast.dump(_NoRecorders().visit(ast.parse(data)))


class _NoRecorders(ast.NodeTransformer):
    """Takes out the recorder calls, the tuples that hold several of them, and the statements that are nothing else."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[1] if _is_recorder(node) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Tuple) and all(map(_is_recorder, node.value.elts)):
            return self.visit(node.value.elts[0])  # type: ignore[no-any-return]  # visit is not typed
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        return None if parts and all(map(_is_recorder, parts)) else self.generic_visit(node)


def _is_recorder(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__selfdebug_probe__"


# ---------------------------------------------------------------- single parts


def changes(found: list[Variant]) -> list[tuple[str, str]]:
    return [(variant.part, variant.change) for variant in found]


def test_a_default_gets_other_values_of_its_kind_and_another_nothing() -> None:
    _, found = varied("conditional-expression", "def f(x):\n    return ‹«x».y›\n", Parameters("0"))
    assert changes(found) == [
        ("default 0", "cannot be used"),
        ("default 0", "is -987654321"),
        ("default 0", "is 1"),
        ("default 0", "is None"),
        ("condition x is not None", "is always true"),
        ("condition x is not None", "is always false"),
    ]


@pytest.mark.parametrize(
    ("default", "others"),
    [
        ("None", ['"not pinned"', "False"]),
        ("True", ["False", "None"]),
        ("-987654321", ["1", "None"]),
        ("set()", ['{"not pinned"}', "None"]),
        ("UNKNOWN", ['"not pinned"', "None"]),
        ("b'x'", ['b"not pinned"', "None"]),
    ],
)
def test_the_kind_of_a_default_is_that_of_the_project(default: str, others: list[str]) -> None:
    _, found = varied("early-return", "def f(x):\n    return ‹«x».y›\n", Parameters(default))
    said = [variant.change for variant in found if variant.part == f"default {default}"]
    assert said == ["cannot be used", *(f"is {other}" for other in others)]


def test_an_unusable_default_is_noticed_by_whatever_reads_it() -> None:
    _, found = varied("conditional-expression", "def f(x):\n    return ‹«x».y›\n", Parameters("0"))
    names: dict[str, Any] = {}
    exec(found[0].after, names)
    value = names["f"](None)
    for use in (bool, len, str, repr, hash, iter, list, int, float, lambda it: it.name, lambda it: it == 0):
        with pytest.raises(IndexError):
            use(value)
    assert value is not None


def test_a_guard_before_a_statement_is_moved_up() -> None:
    before = "def f(x):\n    a()  # first\n    # of x\n    ‹«x».y›()\n    b()\n"
    _, found = varied("early-return", before)
    (moved,) = [variant for variant in found if variant.part == "place of the guard"]
    assert moved.change == "stands one statement earlier"
    text = "def f(x):\n    if x is None:\n        return\n    # of x\n    a()  # first\n    x.y()\n    b()\n"
    assert moved.after.decode() == text


def test_a_guard_around_a_statement_is_widened_to_both_sides() -> None:
    _, found = varied("wrap-statement", "def f(x):\r\n    a()\r\n    ‹«x».y›()\r\n    b()\r\n")
    places = {variant.change: variant.after.decode() for variant in found if variant.part == "place of the guard"}
    assert {change: text.split("\r\n")[1:-1] for change, text in places.items()} == {
        "covers the statement before, too": ["    if x is not None:", "        a()", "        x.y()", "    b()"],
        "covers the statement after, too": ["    a()", "    if x is not None:", "        x.y()", "        b()"],
    }


def test_a_guard_is_not_moved_over_what_it_does_not_understand() -> None:
    _, found = varied("early-return", 'def f(x):\n    """What it does."""\n    ‹«x».y›()\n')
    assert "place of the guard" not in [variant.part for variant in found]
    _, found = varied("wrap-statement", "def f(x):\n    a = '''\n  b'''\n    ‹«x».y›()\n    if a:\n        b()\n")
    assert "place of the guard" not in [variant.part for variant in found]


def test_a_handler_acts_each_time() -> None:
    parameters = Parameters("0", Test.NO_EXCEPTION, ("KeyError",))
    parts, found = varied("try-around", "def f(d):\n    return ‹«d»['k']›\n", parameters)
    assert [handler.code for handler in parts.handlers] == ["KeyError"]
    (always,) = [variant for variant in found if variant.part == "handler of KeyError"]
    names: dict[str, Any] = {}
    exec(always.after, names)
    assert names["f"]({"k": 1}) == 0


def test_a_default_of_a_look_up_is_always_used() -> None:
    parameters = Parameters("0", Test.HAS_KEY)
    _, found = varied("lookup-default", "def f(d, k):\n    return ‹«d»[k]›\n", parameters)
    (always,) = [variant for variant in found if variant.part == "use of 0"]
    names: dict[str, Any] = {}
    exec(always.after, names)
    assert names["f"]({"k": 1}, "k") == 0


def test_what_was_asked_before_is_no_part_of_the_patch() -> None:
    before = "def f(d):\n    return len(‹«d.get('k')».name›) if d and d.get('a') else 0\n"
    parts, _ = varied("condition-append", before)
    (condition,) = parts.conditions
    assert "d.get('k')) is not None" in condition.code


# ---------------------------------------------------------------- what is recorded


def recorded(data: bytes, points: Mapping[int, Watched], *calls: str) -> Iterator[tuple[str, Any]]:
    """What the recorder calls see while the calls are evaluated."""
    seen: list[tuple[str, Any]] = []

    def probe(number: int, value: Any) -> Any:
        seen.append((points[number].value, value))
        return value

    vars(builtins)["__selfdebug_probe__"] = probe
    try:
        names: dict[str, Any] = {}
        exec(data, names)
        for call in calls:
            eval(call, names)
    finally:
        del vars(builtins)["__selfdebug_probe__"]
    return iter(seen)


def kinds(guard: str, before: str, parameters: Parameters, *calls: str) -> list[tuple[str, Any]]:
    parts, _ = varied(guard, before, parameters)
    watched = watch(parts.source, [name_of(parts.source.tree, parts.function)], parts)
    assert watched is not None
    return list(recorded(watched.data, {point.id: point.kind for point in watched.points}, *calls))


def imported(before: str, code: str, *calls: str) -> tuple[tuple[str, str], list[tuple[str, Any]]]:
    """The part and the text of the only variant of an import, and what is recorded of the patch."""
    patch = patch_of(guards()["missing-import"], before, Parameters(code, Test.NO_EXCEPTION))
    parts = parts_of(patch)
    (variant,) = variants(patch, parts, with_default)
    watched = watch(parts.source, [], parts)
    assert watched is not None
    seen = recorded(watched.data, {point.id: point.kind for point in watched.points}, *calls)
    return (variant.part, variant.after.decode()), list(seen)


def test_arguments_conditions_results_and_state_are_recorded_in_order() -> None:
    before = "def f(x, y):\n    y.append(1)\n    return ‹«x».real›\n"
    seen = kinds("early-return", before, Parameters("7"), "f(None, [])", "f(2, [])")
    assert seen == [
        ("entry", None), ("argument", None), ("argument", [1]), ("condition", True),
        ("result", 7), ("state", None), ("state", [1]),
        ("entry", None), ("argument", 2), ("argument", [1]), ("condition", False),
        ("result", 2), ("state", 2), ("state", [1]),
    ]  # fmt: skip


def test_only_the_used_default_of_a_look_up_is_recorded() -> None:
    before = "def f(d, k):\n    return ‹«d»[k]›\n"
    seen = kinds("lookup-default", before, Parameters("0", Test.HAS_KEY), "f({'a': 0}, 'a')", "f({}, 'a')")
    assert [value for kind, value in seen if kind == "use"] == [0]
    assert [value for kind, value in seen if kind == "result"] == [0, 0]


def test_the_exception_in_a_handler_and_the_end_without_return_are_recorded() -> None:
    before = "class A:\n    def put(self, d):\n        self.a = 1\n        ‹«d»['k']›.real\n"
    seen = kinds("try-around", before, Parameters(None, Test.NO_EXCEPTION, ("KeyError",)), "A().put({})")
    assert [repr(value) for kind, value in seen if kind == "handler"] == ["KeyError('k')"]
    assert ("result", None) in seen
    assert ("state", {"a": 1}) in seen


def test_what_a_generator_yields_is_recorded_and_nested_functions_are_left_alone() -> None:
    before = "def f(xs):\n    def g():\n        return 3\n    for x in «xs»:\n        yield x + g()\n"
    seen = kinds("receiver-default", before, Parameters("()"), "list(f([1, 2]))", "list(f(None))")
    assert [value for kind, value in seen if kind == "result"] == [4, 5, None, None]


def test_an_import_has_its_uses_as_decisions_and_something_else_as_variant() -> None:
    before = "def f(x):\n    'Doc.'\n    return [‹«json».dumps›(y) for y in x]\n"
    (part, variant), seen = imported(before, "import json", "f([1, 2])")
    assert [kind for kind, _ in seen if kind == "use"] == ["use", "use"]
    assert part == "imported json"
    with pytest.raises(Exception, match="out of range"):
        exec(f"{variant}\nf([1])", {})


def test_functions_get_an_import_though_their_module_lives_already() -> None:
    before = "import os\n\ndef f(x):\n    if x:\n        return ‹«json».dumps›(x)\n\ndef g():\n    return 1\n"
    patch = patch_of(guards()["missing-import"], before, Parameters("import json", Test.NO_EXCEPTION))
    within = within_functions(patch.before, patch.after).decode()
    assert [line for line in within.splitlines() if "json" in line] == [
        "    exec(b'import json', globals())",
        "        return json.dumps(x)",
    ]
    names: dict[str, Any] = {}
    exec(within, names)
    assert (names["f"]([1]), names["g"](), names["f"]([2])) == ("[1]", 1, "[2]")
    assert within_functions(patch.before, patch.before) == patch.before


def test_a_guard_that_needs_an_import_is_taken_apart_as_one_that_needs_none() -> None:
    before = "import os\n\n\ndef f(x):\n    with ‹«x»›:\n        return os.sep\n"
    patch = patch_of(guards()["receiver-default"], before, Parameters("nullcontext()"))
    with_import = b"from contextlib import nullcontext\n" + patch.after
    plain, brought = parts_of(patch), parts_of(replace(patch, after=with_import))
    assert name_of(brought.source.tree, brought.function) == "f"
    assert [each.code for each in brought.conditions] == [each.code for each in plain.conditions] == ["x is not None"]
    assert not brought.is_import


def test_a_file_that_cannot_be_parsed_has_no_parts() -> None:
    patch = patch_of(guards()["early-return"], "def f(x):\n    return ‹«x».y›\n", Parameters("0"))
    with pytest.raises(RefusedError):
        parts_of(replace(patch, after=b"def f(:\n"))


# ---------------------------------------------------------------- what no guard may do

SUBJECT = """\
import os


def load(store, key, tags=None):
    found = store.get(key)
    if found is None and key in store.old:
        raise KeyError(key)
    try:
        size = int(found["size"])
    except (ValueError, TypeError):
        size = 0
    total = 0
    for part in found.parts:
        if not part.empty:
            total += part.size / size
    del store.cache[key]
    with found.lock as held:
        held.note(tags[0], total)
    return [tag.name for tag in tags if tag.ok or size > 1]
"""
_OPPOSITE = {
    ast.Is: ast.IsNot, ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
}  # fmt: skip
_OPPOSITE |= {value: key for key, value in _OPPOSITE.items()}
PARAMETERS = [
    Parameters(default, test, classes)
    for default in (None, "0", "[]")
    for test in (Test.NOT_NONE, Test.TRUTHY)
    for classes in ((),)
] + [
    Parameters(None, Test.NO_EXCEPTION, ("AttributeError",)),
    Parameters("None", Test.NO_EXCEPTION, ("Exception",)),
    Parameters(None, Test.NO_EXCEPTION, ("BaseException",)),
    Parameters("None", Test.HAS_KEY),
    Parameters(None, Test.IS_INSTANCE, ("str",)),
]


def edits() -> Iterator[tuple[Guard, Parameters, str]]:
    """Every guard at every expression of the subject."""
    source = Source.parse(SUBJECT.encode())
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            continue
        inner = node.func if isinstance(node, ast.Call) else node.value
        target = Target(source.span(node), source.span(inner))
        for guard in guards().values():
            for parameters in PARAMETERS:
                try:
                    edit = source.apply(target, guard, parameters)
                except (RefusedError, TargetNotFoundError):
                    continue
                yield guard, parameters, edit.apply_to(source.data).decode()


def test_no_guard_deletes_a_statement_flips_a_condition_or_catches_everything() -> None:
    before = ast.parse(SUBJECT)
    statements = _statements(before)
    asked = [(ast.dump(node), ast.dump(_flipped(node))) for node in ast.walk(before) if _can_be_flipped(node)]
    old_handlers = _caught(before)
    tried: dict[str, int] = {}
    for guard, parameters, text in edits():
        tried[guard.id] = tried.get(guard.id, 0) + 1
        after = ast.parse(text)
        kept = _statements(after)
        lost = [kind for kind, count in statements.items() if kept.get(kind, 0) < count]
        assert lost in ([], ["Delete"]), (guard.id, text)  # `del d[k]` may become `d.pop(k, None)`
        assert not lost or ".pop(" in text
        there = {ast.dump(node) for node in ast.walk(after) if isinstance(node, ast.Compare)}
        flipped = [node for node, other in asked if node not in there and other in there]
        assert not flipped, (guard.id, text)
        new = _caught(after) - old_handlers
        assert new.isdisjoint({"", "Exception", "BaseException"}) or parameters.classes[0] in new, (guard.id, text)
        assert "" not in new
    assert len(tried) > 15, tried


def _statements(tree: ast.AST) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            found[type(node).__name__] = found.get(type(node).__name__, 0) + 1
    return found


def _can_be_flipped(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE


def _flipped(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)
    return ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)


def _caught(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names.update("" if kind is None else ast.unparse(kind) for kind in kinds)
    return names
