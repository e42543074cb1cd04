"""The tools of the MCP server that act: their schemas, and the command that each becomes once its input is checked.

A path that a client names must lie inside one of the roots that the server was started with, links followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_TEXT = 5_000_000
"""Characters of captured output that are taken in one call."""


class BadArgumentsError(Exception):
    """What a client sent cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of selfdebug: its words, its standard input, the project that it works on."""

    words: tuple[str, ...]
    root: Path
    stdin: str | None = None


@dataclass(frozen=True, slots=True)
class ActingTool:
    """A tool that becomes a command; `changes` says that it may change the project's files."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    changes: bool

    def schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        return {"type": "object", "properties": dict(self.properties), "additionalProperties": False}


_ROOT: dict[str, Any] = {"type": "string", "description": "The project; default: the first root of the server."}
_LOG: dict[str, Any] = {"type": "string", "description": "A file of captured pytest output inside the project."}
_TEXT: dict[str, Any] = {"type": "string", "description": "Captured pytest output itself."}
_REPAIR: dict[str, dict[str, Any]] = {
    "root": _ROOT,
    "log": _LOG,
    "output": _TEXT,
    "tests": {"type": "array", "items": {"type": "string"}, "description": "Node ids; default: all tests that fail."},
    "max_attempts": {"type": "integer", "minimum": 1, "description": "Turns of the repair loop; default 4."},
    "max_candidates": {"type": "integer", "minimum": 1, "description": "Candidates to judge; default 200."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds for each pytest run; default 600."},
    "include_tests": {"type": "boolean", "description": "Allow patches to test files."},
}

RUN = ActingTool(
    "run",
    "Repair the failing tests of the project: find the wrong value, guard it, let the suite judge, keep one patch or "
    "put everything back. Reports progress; when cancelled it rolls back.",
    {
        **_REPAIR,
        "dry_run": {"type": "boolean", "description": "Show the patch and write nothing."},
        "keep_partial": {"type": "boolean", "description": "Keep fixes that helped one test, also when others fail."},
    },
    changes=True,
)
DIFF = ActingTool("diff", "Show the patch that `run` would make, and write nothing.", _REPAIR, changes=False)
FAILURES = ActingTool(
    "failures",
    "Read failures out of captured pytest output, without running anything.",
    {"root": _ROOT, "log": _LOG, "output": _TEXT},
    changes=False,
)
ROLLBACK = ActingTool(
    "rollback",
    "Undo a kept run, by default the last one; files that were changed since are left as they are.",
    {"root": _ROOT, "run_id": {"type": "string", "description": "The run to undo."}},
    changes=True,
)
ACTING = {tool.name: tool for tool in (RUN, FAILURES, DIFF, ROLLBACK)}


def command_of(tool: ActingTool, arguments: Mapping[str, Any], roots: tuple[Path, ...]) -> Command:
    """The command line of a call. Raises BadArgumentsError for unknown arguments, wrong types, paths outside."""
    for name, value in arguments.items():
        if name not in tool.properties:
            raise BadArgumentsError(f"{tool.name} has no argument {name!r}; it takes {', '.join(tool.properties)}.")
        _check_type(name, value, tool.properties[name])
    root = _root(arguments.get("root"), roots)
    words = [tool.name, "--json", "--root", str(root)]
    if tool is DIFF:
        words[:2] = ["run", "--json", "--dry-run"]
    log, stdin = _log(arguments, root)
    if tool is ROLLBACK:
        if arguments.get("run_id"):
            words += ["--", arguments["run_id"]]
        return Command(tuple(words), root)
    words += [word for test in arguments.get("tests", ()) for word in ("--module", test)]
    for name in ("max_attempts", "max_candidates", "timeout"):
        if name in arguments:
            words += [f"--{name.replace('_', '-')}", str(arguments[name])]
    words += [
        f"--{name.replace('_', '-')}" for name in ("dry_run", "keep_partial", "include_tests") if arguments.get(name)
    ]
    if log is not None:
        words += ["--", log]
    elif tool is FAILURES:
        raise BadArgumentsError("failures needs log or output.")
    return Command(tuple(words), root, stdin)


def _check_type(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    kind = schema["type"]
    fits = {
        "string": isinstance(value, str) and "\0" not in value and len(value) <= MAX_TEXT,
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool) and value >= schema.get("minimum", 0),
        "number": isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"),
        "array": isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value),
    }[kind]
    if not fits:
        raise BadArgumentsError(
            f"{name} must be of type {kind}{' and positive' if kind in ('integer', 'number') else ''}."
        )


def _root(given: str | None, roots: tuple[Path, ...]) -> Path:
    if given is None:
        return roots[0]
    root = _resolved(Path(given) if Path(given).is_absolute() else roots[0] / given)
    if not any(root.is_relative_to(known) for known in roots) or not _is(root, Path.is_dir):
        raise BadArgumentsError(f"{given} is no folder inside the roots of this server.")
    return root


def _log(arguments: Mapping[str, Any], root: Path) -> tuple[str | None, str | None]:
    """The LOG argument of the command, and its standard input."""
    given, text = arguments.get("log"), arguments.get("output")
    if given is not None and text is not None:
        raise BadArgumentsError("Give log or output, not both.")
    if text is not None:
        return "-", text
    if given is None:
        return None, None
    file = _resolved(Path(given) if Path(given).is_absolute() else root / given)
    if not file.is_relative_to(root) or not _is(file, Path.is_file):
        raise BadArgumentsError(f"{given} is no file inside the project.")
    return str(file), None


def _is(path: Path, test: Callable[[Path], bool]) -> bool:
    """The answer of the test; a name that the system refuses (too long) is no file."""
    try:
        return test(path)
    except OSError:
        return False


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadArgumentsError(f"{path} cannot be used as a path.") from error
