"""Values that came from another process, which is not traced: what is known on both sides of the gap.

Pools and executors of processes, queues, pipes and managers of multiprocessing, and what subprocess gives.
"""

from __future__ import annotations

import ast

from selfdebug.model import TracedValue
from selfdebug.stages.origin.bindings import latest_binding
from selfdebug.stages.origin.history import Spot
from selfdebug.stages.origin.program import FUNCTIONS, called_name
from selfdebug.stages.origin.quest import Evidence, Found, Item, Quest

_POOLS = ("multiprocessing.pool.", "concurrent.futures.process.")
_CHANNELS = ("multiprocessing.queues.", "multiprocessing.connection.", "multiprocessing.managers.")
_RECEIVERS = frozenset({"get", "get_nowait", "recv"})
_HANDING_OVER = frozenset(
    ["apply", "apply_async", "map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async", "submit"]
)
_STREAMS = ("stdin", "stdout", "stderr")


def from_other_process(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """The end of the evidence at a call whose value another process made; None where no other process did."""
    return _of_pool(evidence, quest, call) or _of_channel(evidence, quest, call) or _of_streams(evidence, quest, call)


def _of_pool(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`pool.map(f, rows)[1]`, `pool.submit(f, x).result()`: the function that ran there, and what it was given."""
    submitted, spot = _submitted(evidence, quest, call)
    if submitted is None or not submitted.args or not isinstance(submitted.func, ast.Attribute):
        return None
    owner = evidence.value(submitted.func.value, spot)
    if called_name(submitted.func) not in _HANDING_OVER or owner is None or not owner.type.startswith(_POOLS):
        return None
    name, given = called_name(submitted.args[0]), [evidence.text(one, quest.spot) for one in submitted.args[1:]]
    with_what = f" with {', '.join(given)}" if given else ""
    what = f"{evidence.text(submitted.func, quest.spot)}() ran {name}(){_place(evidence, quest, name)}{with_what}"
    sentence = f"{what} in another process, which is not traced; what came back was {quest.text}."
    return evidence.end(quest, "outside", sentence, observed=False)


def _submitted(evidence: Evidence, quest: Quest, call: ast.Call) -> tuple[ast.Call | None, Spot]:
    """The call that handed work to a pool, with its moment: this one, or that whose result it asks for."""
    spot = quest.spot
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("result", "get")):
        return call, spot
    future: ast.AST | None = call.func.value
    if isinstance(future, ast.Name):
        binding = latest_binding(evidence, [spot.frame], future.id, spot)
        future, spot = (getattr(binding.clause, "value", None), binding.spot) if binding is not None else (None, spot)
    return future if isinstance(future, ast.Call) else None, spot


def _place(evidence: Evidence, quest: Quest, name: str) -> str:
    """Where a function of the file is defined, in brackets."""
    for node in ast.walk(evidence.program(quest.spot).source.tree):
        if isinstance(node, FUNCTIONS) and getattr(node, "name", "") == name:
            return f" ({quest.spot.frame.file}:{node.lineno})"
    return ""


def _of_channel(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`queue.get()`, `pipe.recv()`: the processes that were started before may have sent it."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _RECEIVERS:
        return None
    owner = evidence.value(call.func.value, quest.spot)
    if owner is None or not owner.type.startswith(_CHANNELS):
        return None
    started = []
    for spot, _, made in evidence.history.calls(("Process",), quest.spot.sequence):
        target = next((given.value for given in made.keywords if given.arg == "target"), None)
        if target is not None and spot.frame.file == quest.spot.frame.file:
            started.append(f"{called_name(target)}() was to run in one from {spot.frame.file}:{spot.step.line} on")
    known = f" ({'; '.join(started[:3])})" if started else ""
    gave = f"{evidence.with_path(f'{evidence.text(call, quest.spot)}', quest.path)} was {quest.text}"
    sentence = f"{gave}, which may have come from another process{known}; other processes are not traced."
    return evidence.end(quest, "outside", sentence, observed=False)


def _of_streams(evidence: Evidence, quest: Quest, call: ast.Call) -> Found | None:
    """`process.communicate()[0]`: None where the stream was not to be captured."""
    is_it = isinstance(call.func, ast.Attribute) and call.func.attr == "communicate" and len(quest.path) == 1
    if not is_it or not isinstance(call.func, ast.Attribute) or not quest.value.is_none:
        return None
    owner, selector = evidence.value(call.func.value, quest.spot), quest.path[0]
    if (
        owner is None
        or owner.type != "subprocess.Popen"
        or not isinstance(selector, Item)
        or selector.key not in (0, 1)
    ):
        return None
    stream = "stderr" if selector.key else "stdout"
    return _not_captured(evidence, quest, evidence.text(call.func.value, quest.spot), stream)


def stream_of_process(evidence: Evidence, quest: Quest, owner: TracedValue, name: str) -> Found | None:
    """Why `stdout` or `returncode` of what subprocess gave is None."""
    if owner.type not in ("subprocess.Popen", "subprocess.CompletedProcess") or not quest.value.is_none or quest.path:
        return None
    node = quest.expression
    text = evidence.text(node.value if isinstance(node, ast.Attribute) else node, quest.spot)
    if name in _STREAMS:
        return _not_captured(evidence, quest, text, name)
    if name == "returncode":
        return evidence.end(
            quest, "default", f"{text}.returncode is None until the end of the process was waited for or polled."
        )
    return None


def _not_captured(evidence: Evidence, quest: Quest, text: str, stream: str) -> Found:
    sentence = f"{text} gave no {stream}: the process was started without {stream}=PIPE (or capture_output=True)."
    return evidence.end(quest, "default", sentence)
