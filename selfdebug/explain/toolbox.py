"""The tools that a skilled agent gets: before the skill is read none of the trace, then the eleven or the one.

They are loaded at the first activation; a load that fails is tried again at the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfdebug.errors import UsageError
from selfdebug.explain.settings import ExplainSettings, Mode
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import QUERIES, Answer
from selfdebug.trace.queries.base import RUN_ID

DELEGATE = "explain_run"
RESERVED = frozenset({*QUERIES, DELEGATE, "read_skill"})
"""Names that only this project's tools may have."""


@dataclass(frozen=True, slots=True)
class TraceTool:
    """A tool over the trace: what a model is told of it, and the call, which never raises for what the model sent."""

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any], Owner], Answer]


def refuse_clashes(others: Iterable[str]) -> None:
    """Raise UsageError when a tool of somebody else has one of the reserved names: two would answer to it."""
    clashing = sorted(RESERVED & set(others))
    if clashing:
        raise UsageError(f"The names of these tools are reserved for the trace: {', '.join(clashing)}.")


class Toolbox:
    """The tools of one conversation over the stores in its state folders, the preferred one asked first.

    `load` makes the tools of one folder.
    """

    def __init__(
        self,
        folders: tuple[Path, ...],
        settings: ExplainSettings,
        load: Callable[[Path, ExplainSettings], list[TraceTool]] | None = None,
    ) -> None:
        self._folders = list(folders)
        self._settings = settings
        self._load = load or trace_tools
        self._tools: dict[str, TraceTool] | None = None

    def prefer(self, folder: Path) -> None:
        """Ask the store in this folder first from now on: the last run was there."""
        self._folders = [folder, *(other for other in self._folders if other != folder)]

    def activate(self) -> bool:
        """Load the tools; returns whether that changed anything. Asking twice is harmless.

        Raises what the load raises, and is then as inactive as before.
        """
        if self._tools is not None:
            return False
        first, *_ = self._folders
        self._tools = {tool.name: replace(tool, call=self._over_all(tool.name)) for tool in self._made(first).values()}
        return True

    def _made(self, folder: Path) -> dict[str, TraceTool]:
        return {tool.name: tool for tool in self._load(folder, self._settings)}

    def _over_all(self, name: str) -> Callable[[Mapping[str, Any], Owner], Answer]:
        """The call of a tool over all folders: the first that knows the run answers, else the preferred one."""

        def call(arguments: Mapping[str, Any], owner: Owner) -> Answer:
            answers = []
            for folder in self._folders:
                answers.append(self._made(folder)[name].call(arguments, owner))
                if answers[-1].run is not None:
                    return answers[-1]
            return answers[0]

        return call

    def listed(self) -> list[TraceTool]:
        """The tools that are shown: none before the activation."""
        return list(self._tools.values()) if self._tools is not None else []

    def find(self, name: str) -> TraceTool | None:
        """A tool by its name, shown or not: some hosts do not notice that the list has grown."""
        self.activate()
        return (self._tools or {}).get(name)


def trace_tools(folder: Path, settings: ExplainSettings) -> list[TraceTool]:
    """The eleven queries inline, or the one that answers whole questions, over the store in `folder`."""
    return [_delegate(folder, settings)] if settings.mode is Mode.DELEGATE else query_tools(folder)


def query_tools(folder: Path) -> list[TraceTool]:
    """The eleven queries as tools."""
    from selfdebug.trace.ask import ask

    def call_of(name: str) -> Callable[[Mapping[str, Any], Owner], Answer]:
        return lambda arguments, owner: ask(folder, name, arguments, owner)

    return [TraceTool(query.name, query.description, query.schema(), call_of(query.name)) for query in QUERIES.values()]


def _delegate(folder: Path, settings: ExplainSettings) -> TraceTool:
    from selfdebug.explain.delegate import explain_run

    def call(arguments: Mapping[str, Any], owner: Owner) -> Answer:
        question, run_id = arguments.get("question"), arguments.get(RUN_ID)
        unknown = sorted(set(arguments) - {"question", RUN_ID})
        if not isinstance(question, str) or not question.strip() or unknown:
            return Answer((f"{DELEGATE} takes a question in words, and a {RUN_ID}.",), found=False)
        return explain_run(folder, owner, question, settings, run_id if isinstance(run_id, str) else None)

    schema = {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question as it was asked, in whole words."},
            RUN_ID: {"type": "string", "description": "A run of yours; default: the one that ended last."},
        },
        "required": ["question"],
        "additionalProperties": False,
    }
    description = (
        "Answers a question about a run (why this patch, why not a guard, why this file, why rolled back, where a "
        "value came from, what changed, how long, is it safe) from its trace, with the step behind each claim."
    )
    return TraceTool(DELEGATE, description, schema, call)
