"""Calls of code outside the project whose None has a known meaning: no such key, no match, changed in place."""

from __future__ import annotations

import ast

from codemods.selfdebug.expressions import constant_of, is_none
from selfdebug.model import TracedValue
from selfdebug.stages.origin.program import called_name, key_of
from selfdebug.stages.origin.quest import Evidence, Found, Item, Quest

_MATCHERS = frozenset({"match", "search", "fullmatch"})
_IN_PLACE = frozenset(
    [
        "sort",
        "append",
        "extend",
        "insert",
        "reverse",
        "clear",
        "update",
        "add",
        "remove",
        "discard",
        "appendleft",
        "extendleft",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
        "shuffle",
    ]
)
_NOTHING_FOUND = {
    "fetchone": "the query had no (further) row",
    "first": "nothing was selected",
    "one_or_none": "nothing was selected",
    "scalar": "nothing was selected",
    "which": "there is no such program",
    "find": "nothing was found",
    "find_spec": "there is no such module",
    "getdoc": "there is no documentation",
    "poll": "the process is still running",
    "fromisoformat": "nothing was parsed",
    "get_or_none": "nothing was selected",
    "utcoffset": "the time has no time zone",
    "lastgroup": "no group took part in the match",
    "group": "that group took no part in the match",
}
_NOT_SHOWN = frozenset({"module", "type", "function", "builtin_function_or_method"})
_ENVIRONMENTS = ("os.environ", "environ")


def source(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The birth of a value in a known call; None when the call is not one of them."""
    name = called_name(call.func)
    if quest.path:
        return None
    if name in ("get", "pop", "setdefault", "getenv") and call.args:
        return _lookup(evidence, quest, call, name)
    if not quest.value.is_none:
        return None
    if name in ("getattr", "next", "max", "min"):
        return _with_default(evidence, quest, call, name)
    kind, sentence = _meaning(evidence, quest, call, name)
    return evidence.end(quest, kind, sentence) if kind else None


def _meaning(evidence: Evidence, quest: Quest, call: ast.Call, name: str) -> tuple[str, str]:
    """The kind and the sentence of a None whose meaning the name of the call tells; empty texts for other calls."""
    text = evidence.text(call, quest.spot)
    is_method = isinstance(call.func, ast.Attribute)
    if name in _MATCHERS:
        return "no-match", f"{text} found no match{_subject_of(evidence, quest, call)}."
    if name == "print":
        return "in-place", "print() writes and always returns None."
    if name in _IN_PLACE and (is_method or name == "shuffle"):
        return "in-place", f"{name}() changes its object in place and always returns None."
    if name in _NOTHING_FOUND and is_method:
        return "nothing-found", f"{text} gave None: {_NOTHING_FOUND[name]}."
    return "", ""


def _subject_of(evidence: Evidence, quest: Quest, call: ast.Call) -> str:
    """The text that was searched, where it was recorded."""
    for argument in reversed(call.args):
        held = evidence.value(argument, quest.spot)
        if held is not None and held.type == "str" and not isinstance(argument, ast.Constant):
            return f" in {held.text}"
    return ""


def _lookup(evidence: Evidence, quest: Quest, call: ast.Call, name: str) -> Found | None:
    """`d.get(key)` and its like: the key is missing (on to the default), or it is there and holds the value."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    base = evidence.program(quest.spot).text(owner) if owner is not None else ""
    key = _key_text(evidence, quest, call.args[0])
    default = call.args[1] if len(call.args) > 1 else None
    default = default or next((given.value for given in call.keywords if given.arg in ("default", "d")), None)
    if name == "getenv" or base in _ENVIRONMENTS:
        kind, missing = "environment", f"The environment variable {key} is not set"
    else:
        if owner is None:
            return None
        held = _held(evidence, quest, owner, call.args[0])
        if held == "held":
            constant = _constant_key(evidence, quest, call.args[0])
            return None if constant is None else Found((), quest.at(owner, path=(Item(constant[0]),)))
        seen = evidence.value(owner, quest.spot)
        if held is None and (seen is None or "dict" not in seen.type.lower()) and name != "get":
            return None
        kind, missing = "missing-key", f"{base} has no key {key}" + (", or has None under it" if held is None else "")
    if default is None or is_none(default):
        gave = f"{name}() gave None" if default is None or name == "getenv" else f"{name}() gave its default None"
        certain = kind == "environment" or _held(evidence, quest, owner or call, call.args[0]) == "missing"
        return evidence.end(quest, kind, f"{missing}, so {gave}.", observed=certain)
    link = evidence.link(quest, kind, f"{missing}, so {name}() gave its default.")
    return Found((link,), quest.at(default))


def _held(evidence: Evidence, quest: Quest, owner: ast.expr, index: ast.expr) -> str | None:
    """`held` or `missing`, as the trace saw the container before the call; None where it could not see it."""
    if isinstance(owner, ast.Dict):
        keys = [constant_of(key) if key is not None else None for key in owner.keys]
        wanted = _constant_key(evidence, quest, index)
        return None if None in (*keys, wanted) else "held" if wanted in keys else "missing"
    item = ast.Subscript(value=owner, slice=index, ctx=ast.Load())
    seen = evidence.history.before(item, quest.spot) if key_of(item) else None
    return None if seen is None else "missing" if seen.is_missing else "held"


def _constant_key(evidence: Evidence, quest: Quest, index: ast.expr) -> tuple[object] | None:
    constant = constant_of(index)
    if constant is not None:
        return constant
    held = evidence.value(index, quest.spot)
    if held is None or held.text.endswith("..."):
        return None
    try:
        return (ast.literal_eval(held.text),)
    except (ValueError, SyntaxError):
        return None


def kind_of_constant(node: ast.Constant) -> str:
    """The kind of birth of a value that is written as a constant."""
    return "explicit-none" if node.value is None else "literal"


def key_value(evidence: Evidence, quest: Quest, index: ast.expr) -> tuple[object] | None:
    """The plain key that an index expression had, in a tuple."""
    return _constant_key(evidence, quest, index)


def _key_text(evidence: Evidence, quest: Quest, index: ast.expr) -> str:
    constant = constant_of(index)
    if constant is not None:
        return repr(constant[0])
    held = evidence.value(index, quest.spot)
    return held.text if held is not None else evidence.text(index, quest.spot)


def _with_default(evidence: Evidence, quest: Quest, call: ast.Call, name: str) -> Found | None:
    """`getattr`, `next`, `max` and `min` with a default: on to the default."""
    text = evidence.text(call, quest.spot)
    if name in ("max", "min"):
        default = next((given.value for given in call.keywords if given.arg == "default"), None)
        reason = "had nothing to choose from"
    else:
        place = 2 if name == "getattr" else 1
        default = call.args[place] if len(call.args) > place else None
        reason = "found no such attribute" if name == "getattr" else "found nothing more"
    if default is None:
        return None
    if is_none(default):
        kind = "missing-attribute" if name == "getattr" else "exhausted"
        observed = name != "getattr"
        return evidence.end(quest, kind, f"{text} {reason} and gave its default None.", observed=observed)
    return None


def _as_given(evidence: Evidence, quest: Quest, argument: ast.expr) -> TracedValue | None:
    """What an expression was before the call, which may have changed it."""
    before = evidence.history.before(argument, quest.spot) if key_of(argument) else None
    return before if before is not None else evidence.value(argument, quest.spot)


def outside(evidence: Evidence, quest: Quest, call: ast.Call) -> Found:
    """A call whose value was made where the trace does not look: C code or a library."""
    text = evidence.text(call.func, quest.spot)
    if not quest.path and called_name(call.func) == quest.value.type.rpartition(".")[2]:
        return evidence.end(quest, "constructed", f"{text}() built it here.")
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) and not quest.path else []
    given = "; ".join(
        f"{evidence.text(argument, quest.spot)} was {held.text}"
        for argument in (*owner, *call.args[:4])
        if not isinstance(argument, ast.Constant)
        and (held := _as_given(evidence, quest, argument)) is not None
        and held.type not in _NOT_SHOWN
    )
    gave = f"{evidence.with_path(f'{text}()', quest.path)} was" if quest.path else f"{text}() gave"
    sentence = f"{gave} {quest.text}; its code is {evidence.outside}" + (f" ({given})." if given else ".")
    sentence = sentence[0].upper() + sentence[1:] if sentence.startswith("element ") else sentence
    return evidence.end(quest, "outside", sentence, observed=not quest.path)
