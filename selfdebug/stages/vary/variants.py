"""A patch with one of its parts changed, as the tests would have to notice if they held that part in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from codemods.selfdebug.base import DefaultRole, RefusedError, TargetNotFoundError
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import split_lines
from selfdebug.model import Patch
from selfdebug.stages.vary.parts import Guarding, Handler, Parts
from selfdebug.stages.vary.stretches import end_of, start_of

WithDefault = Callable[[Patch, str], bytes]
"""The file after the patch with another default. Raises RefusedError or TargetNotFoundError."""

# Of the same kind, and no value that a program is likely to mean; one of another kind would fail for its class alone.
_OTHER: dict[type, tuple[str, ...]] = {
    str: ('"not pinned"',),
    bytes: ('b"not pinned"',),
    int: ("-987654321", "1"),
    float: ("-98765.4321",),
    complex: ("-98765j",),
    list: ('["not pinned"]',),
    tuple: ('("not pinned",)',),
    dict: ('{"not pinned": "not pinned"}',),
    set: ('{"not pinned"}',),
    frozenset: ('frozenset({"not pinned"})',),
}
_CONSTRUCTED: dict[str, type] = {
    "set()": set,
    "frozenset()": frozenset,
    "list()": list,
    "dict()": dict,
    "tuple()": tuple,
    "str()": str,
}
_USES = (
    "getattribute bool str repr eq ne hash lt le gt ge iter next len contains getitem setitem delitem call enter exit "
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod rmod neg index int float format fspath await aiter"
)
_UNUSABLE = 'type("not_pinned", (), {"__" + use + "__": (lambda *_: [][0]) for use in "' + _USES + '".split()})()'
"""An object with which nothing can be done but to pass it on: a test that still passes does not read it."""
_OF_NO_KIND = ('"not pinned"',)
_ANYWHERE = frozenset({DefaultRole.VALUE, DefaultRole.RESULT})


@dataclass(frozen=True, slots=True)
class Variant:
    """The file with one part of the patch changed: `part` names it, `change` says what it is or does now.

    `is_unread` says that the part is something that fails whenever anything is done with it, `value` which value a
    condition always has.
    """

    part: str
    change: str
    after: bytes
    is_unread: bool = False
    value: bool | None = None


def variants(patch: Patch, parts: Parts, with_default: WithDefault) -> Iterator[Variant]:
    """The variants of a patch, the most telling ones of each part first; those that would not compile are left out."""
    yield from _defaults(patch, with_default)
    if parts.is_import:
        yield from _imports(parts)
    text = parts.source.text
    for condition in parts.conditions:
        for value in (True, False):
            # Evaluated as before, so that a name is bound on the way; no constant, which the compiler would drop.
            asked = f"(({text[condition.start : condition.end]}), {value})[1]"
            after = text[: condition.start] + asked + text[condition.end :]
            yield from _variant(parts, condition_part(condition.code), f"is always {str(value).lower()}", after, value)
    for handler in parts.handlers:
        yield from _raising(parts, handler)
    for fallback in parts.fallbacks:
        default = text[fallback.default_start : fallback.default_end]
        used = f"(({text[fallback.start : fallback.end]}), {default})[1]"
        after = text[: fallback.start] + used + text[fallback.end :]
        yield from _variant(parts, fallback_part(default), "is made every time", after)
    for guarding in parts.guarding:
        yield from _moved(parts, guarding)


def condition_part(code: str) -> str:
    """How a report names a condition."""
    return f"condition {' '.join(code.split())}"


def fallback_part(default: str) -> str:
    """How a report names the use of a default that no condition of the patch decides on."""
    return f"use of {default}"


def default_part(default: str) -> str:
    """How a report names a default."""
    return f"default {default}"


# ---------------------------------------------------------------- defaults


def _defaults(patch: Patch, with_default: WithDefault) -> Iterator[Variant]:
    default, role = patch.candidate.default, guards()[patch.candidate.guard].default_role
    if default is None or role not in _ANYWHERE | {DefaultRole.RECEIVER}:
        return
    for other in (_UNUSABLE, *_others(default, role in _ANYWHERE)):
        try:
            after = with_default(patch, other)
        except (RefusedError, TargetNotFoundError):
            continue
        yield Variant(
            default_part(default), "cannot be used" if other is _UNUSABLE else f"is {other}", after, other is _UNUSABLE
        )


def _others(default: str, may_be_nothing: bool) -> Iterator[str]:
    """Other values for a default: of its kind, and where no use needs the kind, another one that counts as false."""
    kind: type = _CONSTRUCTED.get(default, object)
    try:
        value = ast.literal_eval(default)
    except (ValueError, SyntaxError, TypeError):
        value = default  # an expression, whose value nobody knows here
    else:
        kind = type(value)
    same = (str(not value),) if kind is bool else _OTHER.get(kind, _OF_NO_KIND)
    yield from (other for other in same if other != default)
    if may_be_nothing:
        yield "False" if value is None else "None"


# ---------------------------------------------------------------- imports


def _imports(parts: Parts) -> Iterator[Variant]:
    """What was imported is something else."""
    text = parts.source.text
    for each in parts.imported:
        after = f"{text[: each.end]}\n{each.name} = {_UNUSABLE}{text[each.end :]}"
        for variant in _variant(parts, import_part(each.name), "is something that cannot be used", after):
            yield replace(variant, is_unread=True)


def import_part(name: str) -> str:
    """How a report names what an import of a patch has bound."""
    return f"imported {name}"


# ---------------------------------------------------------------- handlers


def _raising(parts: Parts, handler: Handler) -> Iterator[Variant]:
    """The covered statement replaced by the exception, so that the handler acts each time."""
    if handler.covered is None or not isinstance(handler.node.type, ast.Name | ast.Attribute):
        return
    start, end = handler.covered
    text = parts.source.text
    after = f"{text[:start]}raise {handler.code}{text[end:]}"
    yield from _variant(parts, handler_part(handler.code), "always acts", after)


def handler_part(code: str) -> str:
    """How a report names a handler."""
    return f"handler of {' '.join(code.split())}"


# ---------------------------------------------------------------- places

_PLACE = "place of the guard"


def _moved(parts: Parts, guarding: Guarding) -> Iterator[Variant]:
    """The guard one statement earlier, or around one statement more; behind what it guards it would be of no use."""
    if guarding.is_own:
        if guarding.index > 0:
            yield from _earlier(parts, guarding)
        return
    for offset, change in ((-1, "covers the statement before, too"), (1, "covers the statement after, too")):
        place = guarding.index + offset
        if 0 <= place < len(guarding.siblings):
            yield from _wider(parts, guarding, guarding.siblings[place], change)


def _earlier(parts: Parts, guarding: Guarding) -> Iterator[Variant]:
    source, before = parts.source, guarding.siblings[guarding.index - 1]
    first, second = _whole_lines(source, before), _whole_lines(source, guarding.node)
    if first is None or second is None or _is_docstring(before):
        return
    text = source.text
    between = text[first[1] : second[0]]
    moved = text[slice(*second)] + between + text[slice(*first)]
    after = text[: first[0]] + moved + text[second[1] :]
    yield from _variant(parts, _PLACE, "stands one statement earlier", after)


def _wider(parts: Parts, guarding: Guarding, other: ast.stmt, change: str) -> Iterator[Variant]:
    """With a neighbour in the body of the guard; one that lies on one line, so that no string of it is indented."""
    source, body = parts.source, guarding.node.body
    lines, own = _whole_lines(source, other), _whole_lines(source, body[0])
    if lines is None or own is None or other.lineno != other.end_lineno or _is_docstring(other):
        return
    text = source.text
    line = source.indentation_of(body[0].lineno) + text[slice(*lines)].lstrip(" \t")
    last = _whole_lines(source, body[-1])
    if last is None or not line.endswith("\n"):
        return
    if lines[0] < own[0]:
        after = text[: lines[0]] + text[lines[1] : own[0]] + line + text[own[0] :]
    else:
        after = text[: last[1]] + line + text[last[1] : lines[0]] + text[lines[1] :]
    yield from _variant(parts, _PLACE, change, after)


def _whole_lines(source: Source, node: ast.stmt) -> tuple[int, int] | None:
    """The stretch of the lines of a statement; None where it shares them with another one."""
    start, end = start_of(source, node), end_of(source, node)
    first = text_start = source.text.rfind("\n", 0, start) + 1
    rest = split_lines(source.text[end:])[:1]
    line_rest = rest[0] if rest else ""
    if source.text[text_start:start].strip(" \t\f") or not _is_comment(line_rest):
        return None
    return first, end + len(line_rest)


def _is_comment(rest: str) -> bool:
    return not rest.strip() or rest.lstrip().startswith("#")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _variant(parts: Parts, part: str, change: str, text: str, value: bool | None = None) -> Iterator[Variant]:
    source = parts.source
    try:
        ast.parse(text)
        data = source.bom + text.encode(source.encoding)
    except (SyntaxError, ValueError, RecursionError):
        return
    yield Variant(part, change, data, value=value)
