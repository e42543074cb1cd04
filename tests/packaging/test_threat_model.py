"""docs/threat-model.md: each row names tests, and these are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| threat", "| ---"))
]


def test_each_row_points_to_tests_that_exist() -> None:
    assert len(ROWS) > 20
    for row in ROWS:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row.split("|")[3])
        assert named, row
        for file, test in named:
            tree = ast.parse((ROOT / file).read_bytes())
            assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file}::{test}"
