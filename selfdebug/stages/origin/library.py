"""From a call of library code back to what it was given: copies, queues, futures, caches, getters."""

from __future__ import annotations

import ast
from collections.abc import Callable

from codemods.selfdebug.expressions import constant_of
from selfdebug.model import TracedFrame, TracedStep
from selfdebug.stages.origin.bindings import latest_binding
from selfdebug.stages.origin.calls import from_step
from selfdebug.stages.origin.contents import keys_in
from selfdebug.stages.origin.history import is_same
from selfdebug.stages.origin.program import called_name
from selfdebug.stages.origin.puts import taken_out
from selfdebug.stages.origin.quest import Element, Evidence, Found, Item, Member, Quest

_TAKERS = frozenset({"pop", "popleft", "get", "get_nowait"})
_COPIERS = frozenset({"copy", "deepcopy", "dict", "OrderedDict", "MappingProxyType", "replace", "evolve", "_replace"})
_NAMESPACES = frozenset({"SimpleNamespace", "Namespace"})
_SEQUENCES = frozenset({"list", "tuple", "deque"})
_CACHES = frozenset({"lru_cache", "cache", "cached", "memoize"})
_WAITERS = frozenset({"wait_for", "shield", "run", "run_until_complete", "ensure_future", "create_task"})
_SUBMITTERS = frozenset({"submit", "apply_async", "run_in_executor", "to_thread", "apply"})
_CHOOSERS = frozenset({"max", "min", "choice", "next", "iter", "first", "one"})


def through_library(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """Through a known call of code outside the project to what its value was before; None where it is not known."""
    return next((found for rule in _RULES if (found := rule(evidence, quest, call)) is not None), None)


def ran_elsewhere(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """To a function of the project that ran for a call, but not under it: before, in a thread, in the event loop."""
    return next((found for rule in _ELSEWHERE if (found := rule(evidence, quest, call)) is not None), None)


def _taken(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    is_taker = isinstance(call.func, ast.Attribute) and call.func.attr in _TAKERS
    return taken_out(evidence, quest, call) if is_taker else None


# ---------------------------------------------------------------- copies


def copied(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """A copy has what its original has, but for what the call itself names."""
    name, path = called_name(call.func), quest.path
    if not path:
        return None
    named = path[0].name if isinstance(path[0], Member) else path[0].key if isinstance(path[0], Item) else None
    if name in _COPIERS or name in _NAMESPACES:
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg == named:
                return _passed(evidence, quest.at(keyword.value, path=path[1:]), call, keyword.arg)
    original = _original(call, name)
    if original is None:
        return _unpickled(evidence, quest, call) or _of_chain_map(evidence, quest, call)
    if name in _SEQUENCES:
        is_index = isinstance(path[0], Item) and isinstance(path[0].key, int)
        index = path[0].key if isinstance(path[0], Item) and isinstance(path[0].key, int) else None
        return Found((), quest.at(original, path=(Element(index), *path[1:]))) if is_index else None
    return _of_original(evidence, quest, original)


def _unpickled(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """What `loads(dumps(original))` gave has what its original had, also where the bytes were in a variable."""
    given: ast.AST | None = call.args[0] if called_name(call.func) == "loads" and call.args else None
    spot = quest.spot
    if isinstance(given, ast.Name):
        binding = latest_binding(evidence, [spot.frame], given.id, spot)
        given, spot = (getattr(binding.clause, "value", None), binding.spot) if binding is not None else (None, spot)
    if not isinstance(given, ast.Call) or called_name(given.func) != "dumps" or not given.args:
        return None
    has = f"{evidence.text(quest.expression, quest.spot)} has it from {evidence.text(given.args[0], spot)}"
    link = evidence.link(quest, "through-library", f"{has}, which dumps() wrote.", observed=False)
    return Found((link,), quest.at(given.args[0], spot))


def _of_chain_map(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The first of the mappings that has the key, where all of their keys are known."""
    selector = quest.path[0]
    for mapping in call.args if isinstance(selector, Item) and called_name(call.func) == "ChainMap" else ():
        held = evidence.value(mapping, quest.spot)
        keys = keys_in(held) if held is not None and not isinstance(mapping, ast.Dict) else []
        if isinstance(mapping, ast.Dict):
            constants = [constant_of(key) if key is not None else None for key in mapping.keys]
            keys = [constant[0] for constant in constants if constant is not None]
        is_known = len(keys) == (len(mapping.keys) if isinstance(mapping, ast.Dict) else held.size if held else None)
        if not is_known:
            return None
        if isinstance(selector, Item) and selector.key in keys:
            return _of_original(evidence, quest, mapping)
    return None


def _original(call: ast.Call, name: str) -> ast.expr | None:
    """What a call copies."""
    if name in _COPIERS or name in _SEQUENCES:
        if call.args:
            return None if isinstance(call.args[0], ast.Starred) else call.args[0]
        if isinstance(call.func, ast.Attribute) and name in ("copy", "_replace"):
            return call.func.value
    return None


def _passed(evidence: Evidence, inner: Quest, call: ast.Call, name: str) -> Found:
    sentence = f"{called_name(call.func)}() was called with {evidence.text(inner.expression, inner.spot)} for {name}."
    return Found((evidence.link(inner, "parameter", sentence),), inner)


def _of_original(evidence: Evidence, quest: Quest, original: ast.expr) -> Found:
    sentence = f"{evidence.text(quest.expression, quest.spot)} has it from {evidence.text(original, quest.spot)}."
    link = evidence.link(quest, "through-library", sentence, observed=False)
    return Found((link,), _paired(quest, original) or quest.at(original))


def _paired(quest: Quest, original: ast.expr) -> Quest | None:
    """The value in a list of pairs that a dict was made of."""
    if not isinstance(original, ast.List | ast.Tuple) or not isinstance(quest.path[0], Item):
        return None
    pairs = (pair.elts for pair in original.elts if isinstance(pair, ast.Tuple | ast.List) and len(pair.elts) == 2)
    fitting = (value for key, value in pairs if constant_of(key) == (quest.path[0].key,))
    value = next(fitting, None)
    return None if value is None else quest.at(value, path=quest.path[1:])


def _from_keys(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    if called_name(call.func) != "fromkeys" or not quest.path:
        return None
    if len(call.args) > 1:
        return Found((), quest.at(call.args[1], path=quest.path[1:]))
    sentence = f"{evidence.text(call, quest.spot)} was given no value, so it put None under each key."
    return evidence.end(quest, "default", sentence)


def parsed_option(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """An attribute of what `parse_args()` gave: the option that was not on the command line, and its default."""
    if called_name(call.func) not in ("parse_args", "parse_known_args") or not isinstance(quest.path[0], Member):
        return None
    for spot, _, option in evidence.history.calls(("add_argument",), quest.spot.sequence):
        named = next((one.value for one in option.keywords if one.arg == "dest"), None)
        words = [str(one.value) for one in (named, *option.args) if isinstance(one, ast.Constant)]
        if quest.path[0].name not in (word.lstrip("-").replace("-", "_") for word in words):
            continue
        default = next((one.value for one in option.keywords if one.arg == "default"), None)
        said = f"its default is {evidence.text(default, spot)}" if default is not None else "it has no default"
        sentence = f"The option {words[0]} was not given, and {said}."
        inner = quest.at(option if default is None else default, spot, quest.path[1:])
        link = evidence.link(inner, "default", sentence, observed=False)
        return Found((link,), None if default is None or isinstance(default, ast.Constant) else inner)
    return None


# ---------------------------------------------------------------- getters


def _got(_evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`getattr(owner, "name")`, `attrgetter("name")(owner)`, `itemgetter(key)(owner)`."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str() as name), *_]):
            return Found((), quest.at(owner, path=(Member(name), *quest.path)))
        case ast.Call(func=ast.Call(args=[ast.Constant(value=key)]) as getter, args=[owner]):
            match called_name(getter.func), key:
                case "attrgetter", str():
                    return Found((), quest.at(owner, path=(Member(key), *quest.path)))
                case "itemgetter", _:
                    return Found((), quest.at(owner, path=(Item(key), *quest.path)))
    return None


def _chosen(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """One of the elements of an iterable: which one, its value has to tell."""
    if called_name(call.func) not in _CHOOSERS or len(call.args) != 1 or isinstance(call.args[0], ast.Call):
        return None
    sentence = f"{evidence.text(call, quest.spot)} is an element of {evidence.text(call.args[0], quest.spot)}."
    link = evidence.link(quest, "through-library", sentence, observed=False)
    return Found((link,), quest.at(call.args[0], path=(Element(), *quest.path)))


def _of_context(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The `get()` of a context variable: its last `set(...)`, or its default."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "get" and not call.args):
        return None
    owner = evidence.value(call.func.value, quest.spot)
    if owner is None or not owner.type.endswith("ContextVar"):
        return None
    for spot, _, setter in evidence.history.calls(("set",), quest.spot.sequence):
        held = evidence.value(setter.func.value, spot) if isinstance(setter.func, ast.Attribute) else None
        if is_same(held, owner) and setter.args:
            return _put(evidence, quest.at(setter.args[0], spot), "set() put it into the context variable here.")
    for spot in evidence.history.givers(owner, quest.spot.sequence):
        for _, made in evidence.program(spot).calls_at(spot.step.line):
            default = next((given.value for given in made.keywords if given.arg == "default"), None)
            if called_name(made.func) == "ContextVar" and default is not None:
                return _put(evidence, quest.at(default, spot), "The context variable was not set; this is its default.")
    return None


def _put(evidence: Evidence, inner: Quest, sentence: str) -> Found:
    return Found((evidence.link(inner, "put", sentence),), inner)


# ---------------------------------------------------------------- functions that ran before, or elsewhere


def _cached(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """A function under a cache: an earlier call with the same arguments ran."""
    name = called_name(call.func)
    for frame in evidence.frames_called(name, quest.spot):
        scope = evidence.history.scope(frame)
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) or frame.started > quest.spot.sequence:
            continue
        if not any(called_name(one) in _CACHES for one in scope.decorator_list):
            return None
        end = frame.steps[-1] if frame.steps else None
        if end is None or not _has_arguments(evidence, quest, call, frame) or not evidence.agrees(quest, end.value):
            continue
        sentence = f"{name}() is cached; an earlier call with these arguments gave it."
        link = evidence.link(quest, "through-library", sentence, observed=False)
        found = from_step(evidence, quest, (frame, end), name)
        return Found((link, *found.links), found.next)
    return None


def _has_arguments(evidence: Evidence, quest: Quest, call: ast.Call, frame: TracedFrame) -> bool:
    """Whether an earlier run had the arguments of this call, as far as they were recorded."""
    given = [value for _, value in frame.arguments][-len(call.args) :] if call.args else []
    for argument, seen in zip(call.args, given, strict=False):
        held = evidence.value(argument, quest.spot)
        if held is not None and (held.type, held.text) != (seen.type, seen.text):
            return False
    return True


def _of_future(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`future.result()`: what the function returned that was submitted."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("result", "get") and not quest.path):
        return None
    future = call.func.value
    submitted: ast.AST = future
    if isinstance(future, ast.Name):
        binding = latest_binding(evidence, [quest.spot.frame], future.id, quest.spot)
        submitted = getattr(binding.clause, "value", future) if binding is not None else future
    if not isinstance(submitted, ast.Call) or called_name(submitted.func) not in _SUBMITTERS:
        return None
    return _ran_for(evidence, quest, submitted)


def _ran_for(evidence: Evidence, quest: Quest, submitted: ast.Call) -> Found | None:
    """What one of the functions returned that a call handed to another thread or to the event loop."""
    names = [called_name(one) for one in submitted.args if isinstance(one, ast.Name | ast.Attribute | ast.Call)]
    fitting: list[tuple[TracedFrame, TracedStep]] = []
    for name in names:
        for frame in evidence.frames_called(name, quest.spot):
            end = frame.steps[-1] if frame.steps else None
            is_over = end is not None and end.kind == "return" and end.sequence < evidence.history.extent(quest.spot)[1]
            if is_over and end is not None and evidence.agrees(quest, end.value):
                fitting.append((frame, end))
    if not fitting:
        return None
    frame, end = max(fitting, key=lambda made: made[1].sequence)
    called = f"{evidence.text(submitted.func, quest.spot)}()"
    sentence = f"{called} ran {frame.function}(), whose result it gave."
    link = evidence.link(quest, "task", sentence, observed=len(fitting) == 1)
    found = from_step(evidence, quest, (frame, end), frame.function, observed=len(fitting) == 1)
    return Found((link, *found.links), found.next)


def _awaited(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`asyncio.gather(one(), two())[1]`, `wait_for(one())`, `to_thread(one)`: on to the coroutine or the function."""
    name, first = called_name(call.func), quest.path[0] if quest.path else None
    if name == "gather" and isinstance(first, Item) and isinstance(first.key, int) and first.key < len(call.args):
        return Found((), quest.at(call.args[first.key], path=quest.path[1:]))
    if name in _WAITERS and call.args and isinstance(call.args[0], ast.Call | ast.Name | ast.Await):
        return Found((), quest.at(call.args[0]))
    return _ran_for(evidence, quest, call) if name in _SUBMITTERS else None


def _of_coroutine(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """A coroutine function of the project that the event loop ran in the name of this call."""
    name, history = called_name(call.func), evidence.history
    low, high = history.extent(quest.spot)
    fitting = [
        (frame, frame.steps[-1])
        for frame in evidence.frames_called(name, quest.spot)
        if isinstance(history.scope(frame), ast.AsyncFunctionDef) and frame.steps
        if low < frame.steps[-1].sequence < high and frame.steps[-1].kind == "return"
    ]
    agreed = [made for made in fitting if evidence.agrees(quest, made[1].value)]
    if not agreed:
        return None
    chosen = next((made for made in agreed if _has_arguments(evidence, quest, call, made[0])), agreed[0])
    return from_step(evidence, quest, chosen, name, observed=len(agreed) == 1)


_RULES: tuple[Callable[[Evidence, Quest, ast.Call], Found | None], ...] = (
    _taken,
    copied,
    _from_keys,
    _got,
    _chosen,
    _of_context,
    _awaited,
)
_ELSEWHERE: tuple[Callable[[Evidence, Quest, ast.Call], Found | None], ...] = (_of_future, _of_coroutine, _cached)
