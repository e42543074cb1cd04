"""The delegate with a model, offline: a nested agent over the same queries, under a budget, its run recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from tracing.recorded_runs import query, record

from selfdebug.errors import UsageError
from selfdebug.explain import llm, questions
from selfdebug.explain.delegate import explain_run
from selfdebug.explain.llm import Told
from selfdebug.explain.settings import ExplainSettings
from selfdebug.trace.ask import load
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import QUERIES
from selfdebug.trace.records import Trace

QUESTION = "why this patch"


def told(folder: Path, model: Model, budget: int = 8, owner: Owner | None = None) -> Told:
    trace = load(folder, owner or Owner())
    assert isinstance(trace, Trace)
    settings = ExplainSettings(model="function", budget=budget, instruction="Answer in French.")
    plain = questions.answer(trace, QUESTION)
    return llm.answered(llm.Asked(folder, owner or Owner(), trace, QUESTION, plain), settings, model)


def returns(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def test_it_walks_the_queries_and_its_own_run_is_recorded(tmp_path: Path) -> None:
    record(tmp_path)
    seen: list[AgentInfo] = []

    def walk(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        answers = returns(messages)
        if not answers:
            return ModelResponse(parts=[ToolCallPart("who_wrote", {"key": "patch.diff"})])
        if len(answers) == 1:
            return ModelResponse(parts=[ToolCallPart("trace_node", {"step": "keep#8"})])
        assert "condition-prefix" in answers[1]
        return ModelResponse(parts=[TextPart("I kept it because the None made it false [keep#8].")])

    said = told(tmp_path, FunctionModel(walk))
    assert said == Told("I kept it because the None made it false [keep#8].", 2)
    assert {tool.name for tool in seen[0].function_tools} == set(QUERIES)
    assert all("run_id" not in tool.parameters_json_schema["properties"] for tool in seen[0].function_tools)
    assert "Answer in French." in str(seen[0].instructions)
    trace = load(tmp_path, Owner())
    assert isinstance(trace, Trace)
    (call,) = [call for call in trace.calls if call.kind == "model"]
    assert call.outcome == "2 queries of at most 8."
    assert "started by nobody in the run" in query(tmp_path, "inspect_tool_call", id=call.id).text()
    inside = query(tmp_path, "inspect_tool_run", id=call.id).text()
    assert "because the None made it false" in inside
    assert query(tmp_path, "inspect_tool_run", id=call.id, variable="trace_node").found
    assert query(tmp_path, "run_overview").data["cost"]["pytest_starts"] == 5, "it is no start of pytest"


def test_its_budget_ends_its_queries(tmp_path: Path) -> None:
    record(tmp_path)

    def stubborn(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        answers = returns(messages)
        if answers and "budget of 2 queries is spent" in answers[-1]:
            return ModelResponse(parts=[TextPart("Enough [keep#8].")])
        return ModelResponse(parts=[ToolCallPart("run_overview", {})])

    assert told(tmp_path, FunctionModel(stubborn), budget=2) == Told("Enough [keep#8].", 2)

    def endless(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("run_overview", {})])

    gave_up = told(tmp_path, FunctionModel(endless), budget=2)
    assert (gave_up.sentence, gave_up.calls) == (None, 2)
    assert "gave no answer (UsageLimitExceeded" in gave_up.note


def test_a_step_that_it_made_up_is_named(tmp_path: Path) -> None:
    record(tmp_path)
    said = told(tmp_path, TestModel(call_tools=[], custom_output_text="Because [keep#8] and [zebra#99]."))
    assert said.note == "The model cites steps that this run does not have: zebra#99."


def test_it_asks_about_the_callers_run_whatever_it_names(tmp_path: Path) -> None:
    record(tmp_path, run_id="mine", session="a")
    record(tmp_path, run_id="other", session="b")
    seen: list[str] = []

    def nosy(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        answers = returns(messages)
        if not answers:
            return ModelResponse(parts=[ToolCallPart("run_overview", {"run_id": "other"})])
        seen.extend(answers)
        return ModelResponse(parts=[TextPart("done")])

    told(tmp_path, FunctionModel(nosy), owner=Owner("a"))
    assert "other" not in seen[0]


def test_a_model_that_says_nothing_or_breaks_is_a_note(tmp_path: Path) -> None:
    record(tmp_path)
    assert told(tmp_path, TestModel(call_tools=[], custom_output_text="  ")).sentence is None

    def broken(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        raise OSError("no network")

    assert "OSError: no network" in told(tmp_path, FunctionModel(broken)).note


def test_the_answer_without_a_model_stands_beside_the_models(tmp_path: Path) -> None:
    record(tmp_path)
    answer = explain_run(tmp_path, Owner(), QUESTION, ExplainSettings(model="test", budget=20))
    assert answer.data["model"] == "test"
    assert "Without the model:" in answer.lines
    assert "I kept condition-prefix on customer" in answer.text()
    unknown = explain_run(tmp_path, Owner(), QUESTION, ExplainSettings(model="zebra:nine"))
    assert "Note: The model zebra:nine gave no answer (" in unknown.text()
    assert "I kept condition-prefix on customer" in unknown.text()


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(UsageError, match="selfdebug\\[llm\\]"):
        explain_run(tmp_path, Owner(), QUESTION, ExplainSettings(model="test"))
