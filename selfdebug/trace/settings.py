"""What is recorded and how much of it is kept: `[tool.selfdebug.trace]` of pyproject.toml as one frozen record."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from selfdebug.config import read_toml
from selfdebug.errors import UsageError


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Parts to leave out, what else to redact, and the bounds of the store.

    `include_values = False` keeps types and None-ness of the program's values only; `include_events = False` keeps
    neither what the steps read and wrote nor the starts of pytest; `include_narrative = False` keeps no sentences.
    `redact_keys` and `redact_patterns` are regular expressions, for names and for text. `max_age` is in days,
    `max_size` in megabytes; `events` and `inner_runs` are a run's, `runs` a session's.
    """

    include_narrative: bool = True
    include_events: bool = True
    include_values: bool = True
    redact_keys: tuple[str, ...] = ()
    redact_patterns: tuple[str, ...] = ()
    sessions: int = 64
    one_shots: int = 8
    runs: int = 32
    events: int = 2000
    inner_runs: int = 20
    max_age: int = 90
    max_size: int = 256


def load(config: Path) -> TraceSettings:
    """The settings of the TOML file `config`; the defaults where it has no such table or does not exist.

    Raises UsageError, naming the key and the file, for an unknown key or a value that cannot be used.
    """
    return from_table(read_subtable(config, "trace"), config)


def read_subtable(config: Path, name: str) -> dict[str, Any]:
    """The table `[tool.selfdebug.<name>]` of a TOML file, empty where there is none. Raises UsageError."""
    table: Any = read_toml(config) if config.exists() else {}
    for key in ("tool", "selfdebug", name):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"[tool.selfdebug.{name}] in {config} must be a table.")
    return table


def from_table(table: dict[str, Any], config: Path) -> TraceSettings:
    """The settings that a TOML table asks for; `config` is named in errors. Raises UsageError."""
    known = {field.name: field.default for field in fields(TraceSettings)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            raise UsageError(
                f'Unknown key "{key}" under [tool.selfdebug.trace] in {config}; known: {", ".join(known)}.'
            )
        wanted = _wrong(value, known[name])
        if wanted:
            raise UsageError(f'"{key}" under [tool.selfdebug.trace] in {config} must be {wanted}, not {value!r}.')
        values[name] = tuple(value) if isinstance(value, list) else value
    return TraceSettings(**values)


def _wrong(value: object, default: object) -> str | None:
    """What is wanted instead of `value`, or None when it fits."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, int):
        return (
            None
            if isinstance(value, int) and not isinstance(value, bool) and value >= 1
            else "a whole number of at least 1"
        )
    if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return "a list of regular expressions"
    for item in value:
        try:
            re.compile(item)
        except re.error as error:
            return f"a list of regular expressions ({item!r}: {error})"
    return None
