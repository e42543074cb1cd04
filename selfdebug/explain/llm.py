"""The delegate's model: a nested agent that walks the eleven queries under a budget, and whose run is recorded.

Needs the extra `llm` (pydantic-ai). Keys of providers are read from the environment by that library; none passes
through here.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdebug.errors import UsageError
from selfdebug.explain import skill
from selfdebug.explain.settings import ExplainSettings
from selfdebug.explain.toolbox import TraceTool, query_tools
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import Answer
from selfdebug.trace.queries.base import RUN_ID
from selfdebug.trace.records import InnerRun, ToolCall, Trace
from selfdebug.trace.redaction import Redactor
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import Store, TraceStoreError

if TYPE_CHECKING:
    from pydantic_ai import Tool
    from pydantic_ai.models import Model

MAX_ANSWER = 8000
INSTALL = 'The delegate\'s model needs the extra "llm": pip install "selfdebug[llm]".'


@dataclass(frozen=True, slots=True)
class Told:
    """What the model said (None when it could not), how many queries it made, and a note for the reader."""

    sentence: str | None
    calls: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a caller about one run, with the store that holds it and the answer without a model."""

    folder: Path
    owner: Owner
    trace: Trace
    question: str
    plain: Answer


@dataclass
class _Walk:
    """The queries that the nested agent makes, counted and kept for the record."""

    tools: list[TraceTool]
    owner: Owner
    run_id: str
    budget: int
    made: list[tuple[str, dict[str, Any], str]]

    def call(self, tool: TraceTool, arguments: dict[str, Any]) -> str:
        """Answer one query about the run that is explained, or say that the budget is spent."""
        if len(self.made) >= self.budget:
            return f"The budget of {self.budget} queries is spent; answer now with what you have."
        answer = tool.call({**arguments, RUN_ID: self.run_id}, self.owner).text()
        self.made.append((tool.name, arguments, answer))
        return answer


def answered(asked: Asked, settings: ExplainSettings, model: Model | None = None) -> Told:
    """Let the configured model answer from the queries; `model` takes its place in tests.

    Whatever the model or its provider does wrong ends as a note. Not to be called from within an event loop. Raises
    UsageError when the extra is not installed.
    """
    try:
        from pydantic_ai import Agent, UsageLimits
        from pydantic_ai.exceptions import AgentRunError, UserError
    except ImportError as error:
        raise UsageError(INSTALL) from error
    walk = _Walk(query_tools(asked.folder), asked.owner, asked.trace.run.id, settings.budget, [])
    try:
        agent = Agent(
            model or settings.model,
            instructions=_instructions(settings),
            tools=[_tool(walk, tool) for tool in walk.tools],
        )
        # One request more than queries: the last one is the answer.
        limits = UsageLimits(request_limit=settings.budget + 2)
        result = asyncio.run(agent.run(_prompt(asked), usage_limits=limits))
    except (AgentRunError, UserError, ImportError, ValueError, OSError) as error:
        note = f"The model {settings.model} gave no answer ({type(error).__name__}: {str(error)[:200]})."
        _record(asked, walk, note)
        return Told(None, len(walk.made), note)
    return _told(asked, walk, str(result.output).strip()[:MAX_ANSWER])


def _told(asked: Asked, walk: _Walk, sentence: str) -> Told:
    """What the model said, filed, and with a note on what is wrong with it."""
    note = _record(asked, walk, sentence)
    unknown = _unknown_steps(asked.trace, sentence)
    if unknown:
        note = f"{note} The model cites steps that this run does not have: {', '.join(unknown)}.".strip()
    return Told(sentence or None, len(walk.made), note or ("" if sentence else "The model said nothing."))


def _instructions(settings: ExplainSettings) -> str:
    return (
        f"{skill.text(settings.instruction)}\n\nYou answer one question about one run. You may make {settings.budget} "
        "queries. Answer in at most 150 words, with a step id in brackets behind each claim."
    )


def _prompt(asked: Asked) -> str:
    return f"Question: {asked.question}\n\nWhat the trace says without a model:\n{asked.plain.text()}"


def _tool(walk: _Walk, tool: TraceTool) -> Tool[None]:
    from pydantic_ai import Tool

    def call(**arguments: Any) -> str:
        return walk.call(tool, arguments)

    schema = dict(tool.schema)
    schema["properties"] = {name: value for name, value in schema["properties"].items() if name != RUN_ID}
    return Tool.from_schema(call, tool.name, tool.description, schema, sequential=True)


def _unknown_steps(trace: Trace, sentence: str) -> list[str]:
    known = {step.id for step in trace.steps}
    return [found for found in dict.fromkeys(re.findall(r"\b[a-z_]+#\d+", sentence)) if found not in known]


def _record(asked: Asked, walk: _Walk, said: str) -> str:
    """File the nested run beside the run that it explained; what cannot be written is a note."""
    redactor = Redactor()
    call_id = f"explain-{uuid.uuid4().hex[:8]}"
    history = [
        {"variable": name, "place": str(arguments), "function": "explain_run", "code": name, "value": text[:2000]}
        for name, arguments, text in walk.made
    ]
    inner = {"history": history, "output": said, "counts": {"history": len(history), "output": len(said)}}
    outcome = f"{len(walk.made)} queries of at most {walk.budget}."
    call = ToolCall(
        call_id, "", (redactor.text(asked.question),), (), (), "", outcome, None, 0.0, has_inner=True, kind="model"
    )
    try:
        with Store.create(asked.folder) as store:
            store.append(walk.run_id, call)
            kept = InnerRun(call_id, 0, redactor.data(inner), is_trial=True)
            store.put_inner(walk.run_id, kept, TraceSettings().inner_runs)
    except TraceStoreError as error:
        return f"The model's own run was not recorded: {error}"
    return ""
