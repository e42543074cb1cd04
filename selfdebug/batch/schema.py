"""The JSON Schema of `selfdebug batch --json`, shipped beside this file."""

from __future__ import annotations

from pathlib import Path


def batch_schema() -> bytes:
    """The schema as a JSON document."""
    return Path(__file__).with_name("schema.json").read_bytes()
