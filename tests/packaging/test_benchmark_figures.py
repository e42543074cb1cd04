"""The page of benchmarks is what its script makes of the figures, and the list of benchmarks is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.__main__ import MEASUREMENTS

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_figures(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    subprocess.run([sys.executable, "docs/figures.py", "--into", str(page)], cwd=ROOT, check=True)
    assert page.read_text() == (ROOT / "docs" / "benchmarks.md").read_text()
    for file in (ROOT / "docs" / "benchmarks").glob("*.json"):
        assert f"## {file.stem.partition('--')[0]}\n" in page.read_text()
        assert json.loads(file.read_text())["command"] in page.read_text()


def test_each_benchmark_is_listed_with_what_it_measures() -> None:
    listed = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in MEASUREMENTS:
        assert any(line.split()[:1] == [name] and len(line.split()) > 3 for line in listed.stdout.splitlines()), name
    unknown = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, capture_output=True, check=False
    )
    assert unknown.returncode == 64


def measured(folder: Path, scale: str) -> float:
    """The peak of memory over a log of so many hundredths of 100 MB."""
    command = [sys.executable, "-m", "benchmarks", "limits", "--only", "log", "--scale", scale, "--folder", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    figures = json.loads((folder / "limits.json").read_text())
    assert [timing["way"] for timing in figures["timings"]] == ["failures"]
    assert (folder / "limits.svg").read_text().startswith("<svg")
    return float(figures["peaks"]["a log of 100 MB: failures"])


def test_the_memory_of_reading_a_log_does_not_grow_with_it(tmp_path: Path) -> None:
    short, long = measured(tmp_path, "0.02"), measured(tmp_path, "0.06")
    assert 0 < long < short + 10
