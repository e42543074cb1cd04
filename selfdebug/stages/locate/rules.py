"""What the messages of exceptions say: one rule for each form that CPython has given them since 3.8.

A rule names the kind of fault and which uses of which receivers can have raised it. A rule is tried only for its
exception types, in the order of the table; the first whose receivers are found decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from codemods.selfdebug.dereferences import Dereference, Operation
from selfdebug.model import FaultKind


@dataclass(frozen=True, slots=True)
class Rule:
    """What a message of one form says: the kind of fault, and which uses of which receivers can have raised it.

    A generic rule fits many receivers; one that fits a statement further out exactly is better evidence.
    """

    exceptions: frozenset[str]
    pattern: re.Pattern[str]
    kind_for_none: FaultKind
    kind: FaultKind
    accepts: Callable[[Dereference, re.Match[str]], bool]
    is_generic: bool = False


_ITERATING = frozenset({Operation.ITERATE, Operation.UNPACK, Operation.STAR, Operation.ARGUMENT})
_SORTING = ("sorted", "min", "max", "sort")
_TEXT_METHODS = frozenset(
    {
        "startswith",
        "endswith",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "replace",
        "find",
        "rfind",
        "index",
        "count",
    }
    | {"strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "join"}
)
_ELEMENTS = frozenset({Operation.ELEMENT, Operation.ELEMENTS})


def _is_attribute(use: Dereference, match: re.Match[str]) -> bool:
    name = match["name"]
    is_mangled = use.name.startswith("__") and name.endswith(use.name)
    is_getattr = use.operation is Operation.ARGUMENT and use.name == "getattr" and use.position == 0
    return (use.operation is Operation.ATTRIBUTE and (use.name == name or is_mangled)) or is_getattr


def _is_operand(use: Dereference, match: re.Match[str]) -> bool:
    if use.operation in _ELEMENTS:
        return use.name.rpartition(".")[2] in ("sum", "fsum") and match["op"] in ("+", "+=")
    is_operator = use.name == match["op"].split(" ")[0] and use.operation is Operation.OPERAND
    return is_operator and _is_bad_side(use, match)


def _is_bad_side(use: Dereference, match: re.Match[str]) -> bool:
    sides = (match["left"], match["right"])
    return "NoneType" not in sides or sides[use.position] == "NoneType"


def _is_compared(use: Dereference, match: re.Match[str]) -> bool:
    if use.operation is Operation.COMPARE:
        return use.name == match["op"] and _is_bad_side(use, match)
    is_sorting = use.name.rsplit(".", 1)[-1] in _SORTING
    if use.operation is Operation.CALL:
        return is_sorting and "." in use.name  # `xs.sort()`, of which the elements are no argument
    return is_sorting and use.operation in (Operation.SORT_KEY, Operation.ARGUMENT, *_ELEMENTS)


def _is_argument_of(*names: str) -> Callable[[Dereference, re.Match[str]], bool]:
    return lambda use, _: use.operation is Operation.ARGUMENT and use.name in names


def _is_use(*operations: Operation) -> Callable[[Dereference, re.Match[str]], bool]:
    return lambda use, _: use.operation in operations


def _is_concatenated(use: Dereference, match: re.Match[str]) -> bool:
    """The message names the right operand; where that is no None, the left one may as well be of the wrong class."""
    is_bad = use.position == 1 if match["type"] == "NoneType" else not use.is_literal
    return use.operation is Operation.OPERAND and use.name in ("+", "+=") and is_bad


def _is_mixed_text(use: Dereference, match: re.Match[str]) -> bool:
    """The text that a method is called of, or its argument: one of them is bytes and the other is not."""
    if use.operation is Operation.ARGUMENT:
        return not use.is_literal and use.name.rpartition(".")[2] in _TEXT_METHODS
    named = match.groupdict().get("method")
    return use.operation is Operation.ATTRIBUTE and use.name in ({named} if named else _TEXT_METHODS)


def _is_lookup(use: Dereference, _match: re.Match[str]) -> bool:
    return use.operation is Operation.SUBSCRIPT or (use.operation is Operation.CALL and use.name.endswith(".pop"))


def _is_choice(use: Dereference, _match: re.Match[str]) -> bool:
    return use.operation is Operation.CALL and use.name in ("max", "min", "next")


def _is_named(use: Dereference, match: re.Match[str]) -> bool:
    return use.operation is Operation.NAME and use.name in match.groups()


def _is_divisor(use: Dereference, _match: re.Match[str]) -> bool:
    is_operator = use.operation is Operation.OPERAND and use.name in ("/", "//", "%", "/=", "//=", "%=")
    return (is_operator and use.position == 1) or (
        use.operation is Operation.ARGUMENT and use.name == "divmod" and use.position == 1
    )


def _rule(
    exceptions: str,
    pattern: str,
    kinds: tuple[FaultKind, FaultKind],
    accepts: Callable[[Dereference, re.Match[str]], bool],
    is_generic: bool = False,
) -> Rule:
    return Rule(frozenset(exceptions.split()), re.compile(pattern), *kinds, accepts, is_generic)


_T = r"'?(?P<type>[\w.]+)'?"
_WRONG = FaultKind.WRONG_TYPE
_NOTHING = (FaultKind.EMPTY, FaultKind.EMPTY)
RULES = (
    _rule(
        "AttributeError",
        rf"^{_T} object has no attribute '(?P<name>\w+)'",
        (FaultKind.NONE_ATTRIBUTE, FaultKind.MISSING_ATTRIBUTE),
        _is_attribute,
    ),
    _rule(
        "AttributeError",
        r"^[^'].* has no attribute '(?P<name>\w+)'",
        (FaultKind.MISSING_ATTRIBUTE, FaultKind.MISSING_ATTRIBUTE),
        _is_attribute,
    ),
    _rule(
        "AttributeError",
        r"^(?P<type>__a?enter__|__a?exit__)$",
        (FaultKind.NONE_CONTEXT, FaultKind.NONE_CONTEXT),
        _is_use(Operation.CONTEXT),
    ),
    _rule(
        "TypeError",
        rf"^{_T} object (is not subscriptable|does not support item (assignment|deletion)|"
        r"has no attribute '__getitem__')",
        (FaultKind.NONE_SUBSCRIPT, _WRONG),
        _is_use(Operation.SUBSCRIPT),
    ),
    _rule("TypeError", rf"^{_T} object is not callable", (FaultKind.NONE_CALL, _WRONG), _is_use(Operation.CALL)),
    _rule(
        "TypeError",
        rf"^argument of type {_T} is not (iterable|a container)",
        (FaultKind.NONE_ITERATION, _WRONG),
        _is_use(Operation.CONTAINS),
    ),
    _rule(
        "TypeError",
        rf"^cannot unpack non-iterable {_T} object",
        (FaultKind.NONE_UNPACK, _WRONG),
        _is_use(Operation.UNPACK, Operation.ITERATE),
    ),
    _rule(
        "TypeError",
        rf"^{_T} object is not (iterable|an iterator|reversible)",
        (FaultKind.NONE_ITERATION, _WRONG),
        lambda use, _: use.operation in _ITERATING,
    ),
    _rule(
        "TypeError",
        r"^unsupported operand type\(s\) for (?P<op>[^:]+): '(?P<left>[\w.]+)' and '(?P<right>[\w.]+)'",
        (FaultKind.NONE_OPERATOR, _WRONG),
        _is_operand,
    ),
    _rule(
        "TypeError",
        r"^'(?P<op>[<>=!]+)' not supported between instances of '(?P<left>[\w.]+)' and '(?P<right>[\w.]+)'",
        (FaultKind.NONE_OPERATOR, _WRONG),
        _is_compared,
    ),
    _rule(
        "TypeError",
        rf"^bad operand type for unary \S+: {_T}",
        (FaultKind.NONE_OPERATOR, _WRONG),
        _is_use(Operation.OPERAND),
    ),
    _rule("TypeError", rf"^object of type {_T} has no len", (FaultKind.NONE_ARGUMENT, _WRONG), _is_argument_of("len")),
    _rule(
        "TypeError",
        r"^(can only concatenate|must be) \w+,? \(?not \"?(?P<type>[\w.]+)",
        (FaultKind.NONE_OPERATOR, _WRONG),
        _is_concatenated,
    ),
    _rule(
        "TypeError",
        rf"^sequence item \d+: expected .*, {_T} found",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        lambda use, _: use.operation in _ELEMENTS and use.name.endswith(".join"),
    ),
    _rule(
        "TypeError",
        rf"(argument|Value) after \* must be an iterable, not {_T}",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        _is_use(Operation.STAR),
    ),
    _rule(
        "TypeError",
        rf"(argument after \*\* must be a mapping, not {_T})",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        _is_use(Operation.DOUBLE_STAR),
    ),
    _rule(
        "TypeError",
        rf"^{_T} object is not a mapping",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        _is_use(Operation.DOUBLE_STAR),
    ),
    _rule(
        "TypeError",
        rf"^'async for' requires an object with __aiter__ method, got {_T}",
        (FaultKind.NONE_ITERATION, _WRONG),
        _is_use(Operation.ASYNC_ITERATE),
    ),
    _rule(
        "TypeError",
        rf"^{_T} object does not support the (asynchronous )?context manager protocol",
        (FaultKind.NONE_CONTEXT, _WRONG),
        _is_use(Operation.CONTEXT),
    ),
    _rule(
        "TypeError",
        rf"(object {_T} can't be used in 'await' expression)",
        (FaultKind.NONE_AWAIT, _WRONG),
        _is_use(Operation.AWAIT),
    ),
    _rule("TypeError", rf"^{_T} object can't be awaited", (FaultKind.NONE_AWAIT, _WRONG), _is_use(Operation.AWAIT)),
    _rule(
        "TypeError",
        rf"^unsupported format string passed to {_T}\.__format__",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        lambda use, _: use.operation is Operation.FORMAT or use.name == "format" or use.name.endswith(".format"),
    ),
    _rule(
        "TypeError",
        rf"indices must be integers(?: or slices)?, not {_T}",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        _is_use(Operation.INDEX, Operation.SUBSCRIPT),
    ),
    _rule(
        "TypeError",
        r"\b(?P<type>NoneType)\b",
        (FaultKind.NONE_ARGUMENT, FaultKind.NONE_ARGUMENT),
        _is_use(
            Operation.ARGUMENT, Operation.OPERAND, Operation.INDEX, Operation.STAR, Operation.ITERATE, Operation.FORMAT
        ),
        is_generic=True,
    ),
    _rule(
        "TypeError",
        r"^can only join an iterable",
        (FaultKind.NONE_ARGUMENT, FaultKind.NONE_ARGUMENT),
        lambda use, _: use.operation is Operation.ARGUMENT and use.name.endswith(".join"),
    ),
    _rule("TypeError", r"^(?P<method>\w+) first arg must be (bytes|str) or", (_WRONG, _WRONG), _is_mixed_text),
    _rule(
        "TypeError", rf"^a bytes-like object is required, not {_T}", (FaultKind.NONE_ARGUMENT, _WRONG), _is_mixed_text
    ),
    _rule("KeyError", r"", (FaultKind.MISSING_KEY, FaultKind.MISSING_KEY), _is_lookup),
    _rule("IndexError", r"", (FaultKind.INDEX_RANGE, FaultKind.INDEX_RANGE), _is_lookup),
    _rule("ValueError", r"(empty sequence|iterable argument is empty|is empty)$", _NOTHING, _is_choice),
    _rule("StopIteration", r"^$", _NOTHING, _is_choice),
    _rule(
        "UnboundLocalError NameError",
        r"variable '(\w+)'",
        (FaultKind.UNBOUND_LOCAL, FaultKind.UNBOUND_LOCAL),
        _is_named,
    ),
    _rule("NameError", r"name '(\w+)' is not defined", (FaultKind.UNDEFINED_NAME, FaultKind.UNDEFINED_NAME), _is_named),
    _rule("ZeroDivisionError", r"", (FaultKind.ZERO_DIVISION, FaultKind.ZERO_DIVISION), _is_divisor),
    _rule(
        "ValueError",
        r"(not enough|too many|need more than \d+) values? to unpack",
        (FaultKind.UNPACK_COUNT, FaultKind.UNPACK_COUNT),
        _is_use(Operation.UNPACK, Operation.ITERATE),
    ),
    _rule(
        "TypeError",
        rf"(?:not|got|object,) (?:type )?{_T}",
        (FaultKind.NONE_ARGUMENT, _WRONG),
        _is_use(Operation.ARGUMENT, Operation.OPERAND),
        is_generic=True,
    ),
)
