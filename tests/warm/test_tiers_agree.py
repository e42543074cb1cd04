"""The quick trials and fresh processes give the same verdicts, on every shared shape of a crash."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.subjects import copied, shape_subject, shapes
from benchmarks.tier_agreement import compared
from selfdebug.pytest_process import Interpreter


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: str(shape.name))
def test_candidates_of_several_families_are_judged_alike(shape: Path, tmp_path: Path) -> None:
    subject = shape_subject(copied(shape, tmp_path / shape.name / "project"), Interpreter.find(sys.executable))
    assert subject is not None
    found = list(compared("shapes", subject, each=2))
    assert found
    assert not [each for each in found if not each.agrees]
    assert any(each.warm for each in found)
    assert all(each.preloaded for each in found)
