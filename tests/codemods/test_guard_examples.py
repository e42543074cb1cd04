"""The examples and refusals of every guard, as they are, with CRLF and with tabs; an applied guard refuses."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from codemods.selfdebug.base import Example, Guard, Refusal, RefusedError, apply, marked
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source

EXAMPLES = [
    pytest.param(guard, example, id=f"{guard.id}-{number}")
    for guard in guards().values()
    for number, example in enumerate(guard.examples)
]
REFUSALS = [
    pytest.param(guard, refusal, id=f"{guard.id}-{number}")
    for guard in guards().values()
    for number, refusal in enumerate(guard.refusals)
]


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def tabs(text: str) -> str:
    return re.sub(r"^(    )+", lambda blanks: "\t" * (len(blanks[0]) // 4), text, flags=re.MULTILINE)


def has_block(text: str) -> bool:
    """Whether the example shows how the file indents (otherwise four blanks are right in any form)."""
    return "\n    " in text


def plain(text: str) -> str:
    return text


@pytest.mark.parametrize("form", [plain, crlf, tabs])
@pytest.mark.parametrize(("guard", "example"), EXAMPLES)
def test_example(guard: Guard, example: Example, form: Callable[[str], str]) -> None:
    if form is tabs and not has_block(example.before):
        form = plain
    before, target = marked(form(example.before))
    assert apply(before, target, guard, example.parameters).apply_to(before).decode() == form(example.after)


@pytest.mark.parametrize(("guard", "refusal"), REFUSALS)
def test_refusal(guard: Guard, refusal: Refusal) -> None:
    before, target = marked(refusal.before)
    with pytest.raises(RefusedError, match=re.escape(refusal.reason)):
        apply(before, target, guard, refusal.parameters)


@pytest.mark.parametrize(("guard", "example"), EXAMPLES)
def test_examples_compile(guard: Guard, example: Example) -> None:
    assert Source.parse(example.after.encode()).tree.body
    assert guard.id.replace("-", "_") in type(guard).__module__
