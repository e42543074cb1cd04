"""`explain_run`: answers a whole question, without a model first, and with one where one is configured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from selfdebug.explain import questions
from selfdebug.explain.settings import ExplainSettings
from selfdebug.explain.story import story
from selfdebug.trace.ask import load
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import Answer

MAX_QUESTION = 2000


def explain_run(
    folder: Path, owner: Owner, question: str, settings: ExplainSettings, run_id: str | None = None
) -> Answer:
    """Answer a question about a run of the caller from the store in `folder`.

    With a model, its answer comes first and the one without a model after it; where the model cannot be used, a note
    says why. Raises UsageError when a model is set and the extra that runs it is not installed.
    """
    trace = load(folder, owner, run_id)
    if isinstance(trace, Answer):
        return trace
    if len(question) > MAX_QUESTION:
        return Answer(
            (f"A question has at most {MAX_QUESTION} characters; this one has {len(question)}.",), found=False
        )
    plain = questions.answer(trace, question) if question.strip() else story(trace)
    if settings.model is None or not question.strip():
        return plain
    from selfdebug.explain import llm

    told = llm.answered(llm.Asked(folder, owner, trace, question, plain), settings)
    if told.sentence is None:
        return replace(plain, notes=(*plain.notes, told.note))
    lines = (*told.sentence.split("\n"), "", "Without the model:", *plain.lines)
    data = {**plain.data, "model": settings.model, "model_answer": told.sentence, "calls": told.calls}
    notes = (*plain.notes, told.note) if told.note else plain.notes
    return replace(plain, lines=lines, data=data, found=True, notes=notes)
