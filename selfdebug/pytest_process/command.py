"""The command line and the environment with which pytest is started."""

from __future__ import annotations

import json
import os
from pathlib import Path

from selfdebug.errors import UsageError
from selfdebug.model import Pass, Tracing
from selfdebug.pytest_process.bytecode import share_bytecode
from selfdebug.pytest_process.child import Launch
from selfdebug.pytest_process.request import PytestRequest
from selfdebug.pytest_process.scratch import Scratch
from selfdebug.runtime import PLUGIN_FOLDER, PLUGIN_NAME

# Left by a pytest that we were started from; they would tell the tests' pytest that it is that one.
_OF_AN_OUTER_RUN = frozenset(
    {"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"}
)
# Bytecode goes where it disturbs nobody, and without any each process would compile all that it imports; without
# column tables no sub-expression can be named.
_OVERRIDDEN = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONNODEBUGRANGES"})
_STARTS_COVERAGE = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"})
_LONGEST_ARGUMENTS = 100_000


def launch(request: PytestRequest, scratch: Scratch) -> Launch:
    """The process that does what is asked in a resolved root, with `scratch` as the place for whatever it leaves.

    Raises UsageError for a node id that pytest would take for an option or for a file of options: node ids come from
    logs, and what stands in a log must not become an option.
    """
    share_bytecode(scratch.bytecode, request.interpreter, request.root)
    environment = _environment(request, scratch)
    memory = request.interpreter.memory
    return Launch(_arguments(request, scratch), request.root, environment, scratch.marker, memory)


def _arguments(request: PytestRequest, scratch: Scratch) -> tuple[str, ...]:
    """The command line.

    Ours come after the project's own options (`addopts`) and so win: one failure does not end the run, and a file that
    cannot be collected does not keep the others from being run. The caller's `pytest_args` win over both.
    """
    options = (
        *("-p", PLUGIN_NAME),
        *("-o", f"cache_dir={scratch.cache}"),
        "--maxfail=0",
        "--continue-on-collection-errors",
    )
    tests = _tests(request, scratch)
    return (str(request.interpreter.path), "-m", "pytest", *options, *request.pytest_args, *tests)


def _tests(request: PytestRequest, scratch: Scratch) -> tuple[str, ...]:
    """The node ids, or a file of them where a command line would become too long and pytest can read one."""
    for node_id in request.node_ids:
        if not node_id or node_id[0] in "-@" or "\0" in node_id or "\n" in node_id:
            raise UsageError(f"{node_id!r} is not the node id of a test")
    if sum(map(len, request.node_ids)) < _LONGEST_ARGUMENTS or request.interpreter.pytest_release < (8, 2):
        return request.node_ids
    file = scratch.folder / "node-ids"
    file.write_text("\n".join(request.node_ids) + "\n", encoding="utf-8")
    return (f"@{file}",)


def _environment(request: PytestRequest, scratch: Scratch) -> dict[str, str]:
    """The user's environment, with what the plugin is told and the places for everything that runs leave."""
    base = os.environ if request.env is None else request.env
    env = {name: value for name, value in base.items() if name not in _OF_AN_OUTER_RUN | _OVERRIDDEN}
    if "PYTHONPATH" in base:
        env["SELFDEBUG_PYTHONPATH"] = base["PYTHONPATH"]
    env |= {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PLUGIN_FOLDER), base.get("PYTHONPATH", "")))),
        "PYTHONPYCACHEPREFIX": str(scratch.bytecode),
        "TMPDIR": str(scratch.temporary),
    }
    env.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(scratch.folder / "hypothesis"))
    if not env.keys() & _STARTS_COVERAGE:  # else somebody measures us
        env.setdefault("COVERAGE_FILE", str(scratch.folder / "coverage"))
    if request.calls or request.trace is not None:
        for name in _STARTS_COVERAGE:  # it would hold the one trace function that there is before Python 3.12
            env.pop(name, None)
    return env | _told_to_plugin(request, scratch)


def _told_to_plugin(request: PytestRequest, scratch: Scratch) -> dict[str, str]:
    """What the plugin is to do, as the variables that it reads; it has no other way to be told before a session."""
    told = {
        "SELFDEBUG_RUN": scratch.marker,
        "SELFDEBUG_RECORDS": str(scratch.records),
        "SELFDEBUG_ROOT": str(request.root),
    }
    if request.sources:
        told["SELFDEBUG_SOURCES"] = str(scratch.put_sources(request.sources, request.root))
    if request.record_probes:
        told["SELFDEBUG_PROBES"] = "1"
    if request.passing:
        passing = scratch.folder / "passing.json"
        passing.write_text(json.dumps(request.passing), encoding="utf-8")
        told["SELFDEBUG_PASSING"] = str(passing)
    if request.calls:
        told["SELFDEBUG_CALLS"] = "1"
    if request.trace is not None:
        told["SELFDEBUG_TRACE"] = _plan(request.trace, request.root, scratch)
    return told


def _plan(trace: Tracing, root: Path, scratch: Scratch) -> str:
    """What the plugin is told to look at: the name of a pass, or a file of functions."""
    if isinstance(trace, Pass):
        return trace.value
    file = scratch.folder / "functions.json"
    functions, clock = (
        [(str(root / each.file), each.name, each.line) for each in part] for part in (trace.functions, trace.clock)
    )
    file.write_text(json.dumps({"functions": functions, "clock": clock, "ticks": trace.ticks}), encoding="utf-8")
    return str(file)
