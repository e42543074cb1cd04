"""An assertion that would hold a part of a patch in place, made of a call that was really seen and what it gave."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from selfdebug.model import Value
from selfdebug.repair.behaviour import Behaviour, Call
from selfdebug.stages.vary import name_of

_LONGEST = 160


def suggestion(behaviour: Behaviour, targets: Sequence[str]) -> str:
    """A line of test code, or a sentence where the call cannot be written down; empty where no call was seen.

    Taken from the failing tests if these call the edited function, for it is their input that needs the guard.
    """
    name = name_of(behaviour.parts.source.tree, behaviour.parts.function)
    calls = [call for call in behaviour.calls if call.function == name and len(call.results) == 1]
    calls.sort(key=lambda call: call.node_id not in targets)
    for call in calls:
        written = _assertion(behaviour, call)
        if written:
            return written
    return _sentence(calls[0]) if calls else ""


def _assertion(behaviour: Behaviour, call: Call) -> str:
    function, result = behaviour.parts.function, _literal(call.results[0])
    if function is None or "." in call.function or result is None or _has_more(function):
        return ""
    arguments = [(name, _literal(value)) for name, value in call.arguments]
    if any(code is None for _, code in arguments):
        return ""
    by_keyword = {argument.arg for argument in function.args.kwonlyargs}
    given = ", ".join(f"{name}={code}" if name in by_keyword else str(code) for name, code in arguments)
    written = f"{'await ' if isinstance(function, ast.AsyncFunctionDef) else ''}{call.function}({given})"
    operator = "is" if result in ("None", "True", "False") else "=="
    line = f"assert {written} {operator} {result}"
    return line if len(line) <= _LONGEST else ""


def _has_more(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a call may have had arguments that were not recorded, or its result is not what was recorded."""
    is_generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    return bool(function.args.vararg or function.args.kwarg or function.decorator_list) or is_generator


def _literal(value: Value) -> str | None:
    """The repr of a value that is its source as well."""
    if value.truncated or value.redacted:
        return None
    try:
        same = ast.literal_eval(value.repr)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value.repr if type(same).__name__ == value.type else None


def _sentence(call: Call) -> str:
    given = ", ".join(f"{name}={value.repr}" for name, value in call.arguments if name not in ("self", "cls"))
    inputs = f" for {given}" if given else ""
    if len(inputs) > _LONGEST:
        inputs = f" as it is called in {call.node_id}"
    result = call.results[0]
    if result.repr.startswith("<"):  # nothing of the object is known that could be asserted
        return f"Assert what matters of the {result.type.rpartition('.')[2]} that {call.function} gives{inputs}."
    return f"Assert what {call.function} gives{inputs}: it was {result.repr[:_LONGEST]}."
