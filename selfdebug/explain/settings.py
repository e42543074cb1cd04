"""How a run is explained: `[tool.selfdebug.explain]` of pyproject.toml as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from selfdebug.errors import UsageError
from selfdebug.trace.settings import read_subtable

MAX_BUDGET = 50


class Mode(StrEnum):
    """What an agent gets once it has read the skill: the eleven tools, or one that answers whole questions."""

    INLINE = "inline"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class ExplainSettings:
    """The mode; the user's own instruction, appended to the skill; the delegate's model and its budget of calls.

    `model` is what pydantic-ai calls a model (`provider:name`), None for answers without one. Keys of providers are
    read by that library from the environment; they are never settings and never stored.
    """

    mode: Mode = Mode.INLINE
    instruction: str = ""
    model: str | None = None
    budget: int = 8


def load(config: Path) -> ExplainSettings:
    """The settings of the TOML file `config`; the defaults where it has no such table or does not exist.

    Raises UsageError, naming the key and the file, for an unknown key or a value that cannot be used.
    """
    values: dict[str, Any] = {}
    for key, value in read_subtable(config, "explain").items():
        wanted = _wrong(key, value)
        if wanted is not None:
            raise UsageError(f'"{key}" under [tool.selfdebug.explain] in {config} must be {wanted}, not {value!r}.')
        values[key] = Mode(value) if key == "mode" else value
    return ExplainSettings(**values)


def _wrong(key: str, value: object) -> str | None:
    """What is wanted instead of the value, or None when it fits. Raises UsageError for an unknown key."""
    if key == "mode":
        return None if value in list(Mode) else " or ".join(f'"{mode}"' for mode in Mode)
    if key in ("instruction", "model"):
        return None if isinstance(value, str) else "text"
    if key == "budget":
        fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_BUDGET
        return None if fits else f"a whole number from 1 to {MAX_BUDGET}"
    return "left out: the keys are mode, instruction, model, budget"
