"""The loads of the measurement of tracing, and its clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.origin_cost import SNOOPED, Bench
from benchmarks.origin_loads import CLOCK, LOADS, TEST
from selfdebug.model import Pass
from selfdebug.pytest_process import Interpreter


@pytest.mark.parametrize("load", LOADS)
def test_a_load_gives_none_however_long_it_runs(load: str) -> None:
    names: dict[str, object] = {}
    exec(LOADS[load], names)
    work = names["work"]
    assert callable(work)
    assert [work(turns) for turns in (1, 11)] == [None, None]


def test_the_clock_tells_the_test_from_the_end_of_the_process(tmp_path: Path) -> None:
    for name, text in {"load.py": LOADS["json"], "test_load.py": TEST, "conftest.py": CLOCK}.items():
        (tmp_path / name).write_text(text)
    bench = Bench(tmp_path, Interpreter.find(None))
    assert bench.command(turns=2) * 2 == bench.seconds() > bench.seconds(whole=False) > 0
    assert bench.command(turns=2, whole=False) * 2 == bench.seconds(whole=False)
    assert bench.traced(Pass.CALLS, 2) * 2 == bench.seconds()
    assert {"work", "walked"} <= {function.name for function in bench.suspects(2).functions}


def test_the_snooped_test_is_the_same_but_for_its_tracer() -> None:
    assert "pysnooper.snoop(os.devnull, depth=50)(load.work)(int(" in SNOOPED
    assert SNOOPED.count("load.work") == TEST.count("load.work") == 1
