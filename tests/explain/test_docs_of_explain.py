"""docs/explain.md says what is so: its settings are the defaults, its table names the queries."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict
from pathlib import Path

from selfdebug.explain.settings import ExplainSettings
from selfdebug.trace.queries import QUERIES
from selfdebug.trace.settings import TraceSettings

TEXT = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")


def test_the_settings_it_shows_are_all_there_are_and_the_defaults() -> None:
    tables = tomllib.loads(TEXT.split("```toml\n")[1].split("```")[0])["tool"]["selfdebug"]
    defaults = {
        key: list(value) if isinstance(value, tuple) else value for key, value in asdict(TraceSettings()).items()
    }
    assert tables["trace"] == {**defaults, "redact_keys": ["^iban$"]}
    assert tables["explain"] == {**asdict(ExplainSettings()), "model": "provider:name"}


def test_its_table_names_each_query_with_what_it_requires() -> None:
    rows = re.findall(r"^\| `([a-z_]+)((?: [A-Z]+)*)` \|", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == list(QUERIES)
    for name, arguments in rows:
        required = [parameter.name.upper() for parameter in QUERIES[name].parameters if parameter.required]
        assert arguments.split() == required
