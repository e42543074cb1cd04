"""The JSON Schema of `selfdebug run --json`, shipped beside this file."""

from __future__ import annotations

from pathlib import Path


def schema() -> bytes:
    """The schema as a JSON document."""
    return Path(__file__).with_name("schema.json").read_bytes()
