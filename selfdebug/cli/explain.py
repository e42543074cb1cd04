"""`selfdebug explain`: the story of a run, or the answer to a question about it."""

from __future__ import annotations

from pathlib import Path

import click

from selfdebug.cli import options
from selfdebug.cli.trace import caller, run_option, session_option, show, state_of
from selfdebug.trace.ask import load
from selfdebug.trace.queries.base import Answer


@click.command()
@click.argument("words", nargs=-1, metavar="[RUN] [QUESTION...]")
@run_option
@options.root_option
@session_option
@options.json_option
def explain(words: tuple[str, ...], run_id: str | None, root: Path | None, session: str | None, as_json: bool) -> int:
    """Tell the story of a run, or answer a question about it, with the step behind each claim.

    RUN is the id of a run of yours; without it the one that ended last. QUESTION is for example: why this patch, why
    not early-return, why this file, why rolled back, where did user come from, what changed, how long, is it safe.
    """
    folder, state = state_of(root)
    owner = caller(session)
    trace = load(state, owner, run_id or (words[0] if words and is_run_id(words[0]) else None))
    if isinstance(trace, Answer):
        return show(trace, "explain", as_json)
    question = " ".join(words[1:] if words and words[0] == trace.run.id else words)
    if not question:
        from selfdebug.explain.story import story

        return show(story(trace), "explain", as_json)
    from selfdebug.explain.delegate import explain_run
    from selfdebug.explain.settings import load as load_settings

    settings = load_settings(folder / "pyproject.toml")
    return show(explain_run(state, owner, question, settings, trace.run.id), "explain", as_json)


def is_run_id(word: str) -> bool:
    """Whether a word is the id of a run rather than the first word of a question."""
    return (
        any(character.isdigit() for character in word)
        and word.replace("-", "").replace(".", "").isalnum()
        and len(word) > 5
    )
