"""Which value may stand in for the missing one, each with where the idea comes from.

A default that replaces the receiver must support what is done with it next; one that replaces a result or is returned
is looked for in the function itself first (its other returns, its annotation), then in what passing runs had at this
place, then in what the failing test expects. A literal of the test that is not neutral would be the answer written
into the code: it comes last and is labelled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from selfdebug.model import FaultKind, FaultLocation, Observation, Receiver


@dataclass(frozen=True, slots=True)
class Default:
    """Source of an expression, why it may stand there (shown in brackets behind it), and its cost (0 is evident).

    `donor` says which place of the project has it (`as in app/users.py:120`), where one has; `needs` is an import that
    it needs.
    """

    code: str
    reason: str
    cost: int
    donor: str | None = None
    needs: str | None = None

    @property
    def is_answer(self) -> bool:
        """Whether it is a literal of the failing test that is not neutral: the answer written into the code."""
        return self.cost >= _ANSWER


NEUTRAL = ("None", '""', "[]", "{}", "()", "0", "False", "True")
_BY_TYPE = {
    "str": '""',
    "int": "0",
    "float": "0.0",
    "complex": "0j",
    "bool": "False",
    "bytes": 'b""',
    "list": "[]",
    "tuple": "()",
    "dict": "{}",
    "OrderedDict": "{}",
    "defaultdict": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
    "NoneType": "None",
    "None": "None",
    "List": "[]",
    "Sequence": "()",
    "Iterable": "()",
    "Tuple": "()",
    "Dict": "{}",
    "Mapping": "{}",
    "Set": "set()",
}
_WITHOUT_EVIDENCE = "a neutral value"
_OWN_EVIDENCE, _SEEN, _USE, _EXPECTED, _ANY, _ANSWER = 0, 1, 2, 1, 4, 30


def for_receiver(
    receiver: Receiver, location: FaultLocation, observations: Sequence[Observation], expected: Sequence[str]
) -> tuple[Default, ...]:
    """Defaults that can take the receiver's place and support its next use, most evident first."""
    found: list[Default] = []
    for seen in observations:
        is_it = seen.is_of(location, receiver) and not seen.in_failure
        if is_it and seen.value.type in _BY_TYPE and not seen.value.is_none:
            found.append(Default(_BY_TYPE[seen.value.type], f"{receiver.code} was {seen.value.type} elsewhere", _SEEN))
    found.extend(_for_use(receiver))
    if receiver.operation == "operand" and location.kind is not FaultKind.ZERO_DIVISION:
        found.extend(factor_of_one(receiver.name))
    found.extend(Default(code, _WITHOUT_EVIDENCE, _ANY) for code in NEUTRAL if code != "None")
    supported = [default for default in found if supports(default.code, receiver.operation, receiver.name)]
    return unique(_raised(supported, without_truth(expected) if _counts(receiver) else expected))


def without_truth(codes: Iterable[str]) -> tuple[str, ...]:
    """The codes but True and False: where a number belongs, an answer of yes or no that a test names says nothing."""
    return tuple(code for code in codes if code not in ("True", "False"))


def is_arithmetic(value: ast.expr | None) -> bool:
    """Whether an expression can give what arithmetic gave, which is no bool (but for `&`, `|` and `^`)."""
    if isinstance(value, ast.IfExp):
        return is_arithmetic(value.body) or is_arithmetic(value.orelse)
    if isinstance(value, ast.UnaryOp):
        return not isinstance(value.op, ast.Not)
    return isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitAnd | ast.BitOr | ast.BitXor)


def _counts(receiver: Receiver) -> bool:
    """Whether the receiver is put in an order or calculated with."""
    return receiver.operation in ("compare", "operand") and receiver.name not in ("==", "!=", "&", "|", "^")


def for_value(
    span_code: str,
    location: FaultLocation,
    observations: Sequence[Observation],
    expected: Sequence[str],
    is_sort_key: bool = False,
) -> tuple[Default, ...]:
    """Defaults that can take the place of the result of the guarded expression."""
    seen_types = {
        seen.value.type
        for seen in observations
        if seen.file == location.file and seen.expression == span_code and not seen.in_failure
    }
    found = [Default("None", _WITHOUT_EVIDENCE, _USE)]
    if is_sort_key:
        found = [Default('float("inf")', "it sorts last", _SEEN), Default('float("-inf")', "it sorts first", _USE)]
    found.extend(
        Default(_BY_TYPE[name], f"{span_code} was {name} elsewhere", _SEEN) for name in seen_types if name in _BY_TYPE
    )
    found.extend(Default(code, _WITHOUT_EVIDENCE, _ANY) for code in NEUTRAL)
    return unique(_raised(found, expected))


def for_return(
    function: ast.AST | None, evident: Iterable[Default], expected: Sequence[str], answers: Sequence[str]
) -> tuple[Default, ...]:
    """Defaults that the function may return early: the `evident` ones, its annotation, neutral values."""
    found = list(evident)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        found.extend(
            Default(code, f"{function.name} is annotated to return it", _OWN_EVIDENCE)
            for code in _annotated(function.returns)
        )
    found.append(Default("None", _WITHOUT_EVIDENCE, _USE))
    found.extend(Default(code, _WITHOUT_EVIDENCE, _ANY) for code in NEUTRAL)
    found.extend(Default(code, "a literal of the failing test", _ANSWER) for code in answers)
    return unique(_raised(found, expected))


def _raised(defaults: Iterable[Default], expected: Sequence[str]) -> Iterator[Default]:
    """The same defaults, those that the failing test names brought forward."""
    for default in defaults:
        if default.code in expected and default.cost > _EXPECTED:
            reason = f"{default.reason}; the failing test names it"
            yield Default(default.code, reason, _EXPECTED, default.donor)
        else:
            yield default


def unique(defaults: Iterable[Default]) -> tuple[Default, ...]:
    """The defaults by cost, each code once, at its lowest cost."""
    best: dict[str, Default] = {}
    for default in sorted(defaults, key=lambda default: default.cost):
        best.setdefault(default.code, default)
    return tuple(best.values())


def is_plain(node: ast.expr) -> bool:
    """Whether the expression is a constant, an empty container or a negative number."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    return isinstance(node, ast.Constant) and node.value is not Ellipsis


def literal(node: ast.expr) -> str:
    """The source of a plain expression with double quotes, as the project's formatter-neutral spelling."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return '"' + repr(node.value)[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return ast.unparse(node)


def named_types(annotation: ast.expr | None) -> tuple[str, ...]:
    """The names of the classes that an annotation allows, `None` or `Optional` among them; none if it is unreadable."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return ()
    return tuple(_alternatives(annotation)) if annotation is not None else ()


def _annotated(annotation: ast.expr | None) -> Iterator[str]:
    names = named_types(annotation)
    if any(name in ("None", "Optional") for name in names):
        yield "None"
    for name in names:
        if name in _BY_TYPE:
            yield _BY_TYPE[name]


def _alternatives(annotation: ast.expr) -> Iterator[str]:
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript):
        yield from _alternatives(annotation.value)
        if isinstance(annotation.value, ast.Name) and annotation.value.id in ("Optional", "Union"):
            for part in ast.walk(annotation.slice):
                if isinstance(part, ast.Name):
                    yield part.id
    elif isinstance(annotation, ast.Name):
        yield annotation.id
    elif isinstance(annotation, ast.Attribute):
        yield annotation.attr
    elif isinstance(annotation, ast.Constant):
        yield str(annotation.value)


_FOR_OPERATION = {
    "iterate": ("it can be iterated over", ("()", "[]")),
    "star": ("it can be unpacked", ("()", "[]")),
    "double-star": ("it can be unpacked", ("{}",)),
    "contains": ("it can be searched", ("()", '""')),
    "operand": ("it can be an operand of {name}", ("0", '""', "[]", "()")),
    "compare": ("it can be compared with {name}", ("0", '""')),
    "argument": ("{name} may take it", ('""', "0", "()")),
    "format": ("it can be formatted", ('""', "0")),
    "index": ("it can be an index", ("0",)),
    "attribute": ("it has the attribute {name}", ('""', "{}", "[]", "()", "0", 'b""', "set()")),
}


def _for_use(receiver: Receiver) -> Iterator[Default]:
    """What may be used as the receiver is, and how that is told."""
    reason, codes = _FOR_OPERATION.get(receiver.operation, ("", ()))
    for code in codes:
        yield Default(code, reason.format(name=receiver.name), _USE)


def factor_of_one(operator: str) -> Iterator[Default]:
    """The factor, divisor or exponent that changes nothing, for an operand of this operator."""
    if operator.removesuffix("=") in ("*", "/", "//", "**"):
        yield Default("1", f"{operator} 1 changes nothing", _USE)


def ast_value(code: str) -> object:
    """The value of one of this module's neutral literals."""
    return set() if code == "set()" else frozenset() if code == "frozenset()" else ast.literal_eval(code)


def supports(code: str, operation: str, name: str) -> bool:
    """Whether the literal can be used in this way at all; whether the result is right is for the tests to say.

    `operation` and `name` are as in `model.Receiver`. Only what is certain to fail is turned down.
    """
    try:
        value = ast_value(code)
    except (ValueError, SyntaxError):
        return operation not in ("call", "await", "context", "async-iterate")
    match operation:
        case "attribute":
            fits = hasattr(value, name)
        case "iterate" | "star" | "contains":
            fits = hasattr(value, "__iter__")
        case "double-star":
            fits = isinstance(value, dict)
        case "operand" | "compare" | "sort-key":
            fits = value is not None or name in ("==", "!=")
        case "call" | "await" | "context" | "async-iterate" | "subscript" | "unpack":
            fits = False
        case _:
            fits = True
    return fits


def takes_item(code: str) -> bool:
    """Whether an item can be stored under a new key of the literal; of what is no literal that is not known."""
    try:
        return isinstance(ast_value(code), dict)
    except (ValueError, SyntaxError):
        return True
