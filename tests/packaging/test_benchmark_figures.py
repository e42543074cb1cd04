"""The page of benchmarks is what its script makes of the figures, and the list of benchmarks is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_from_the_figures(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    subprocess.run([sys.executable, "docs/figures.py", "--into", str(page)], cwd=ROOT, check=True)
    assert page.read_text() == (ROOT / "docs" / "benchmarks.md").read_text()
    for file in (ROOT / "docs" / "benchmarks").glob("*.json"):
        assert f"## {file.stem}\n" in page.read_text()


def test_each_benchmark_is_listed_with_what_it_measures() -> None:
    listed = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("snapshot", "plugin-overhead", "batch", "limits"):
        assert any(line.split()[:1] == [name] and len(line.split()) > 3 for line in listed.stdout.splitlines()), name
    unknown = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, capture_output=True, check=False
    )
    assert unknown.returncode == 64


def test_limits_are_measured_at_a_hundredth(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "limits",
        "--only",
        "log",
        "--scale",
        "0.01",
        "--folder",
        str(tmp_path),
    ]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    figures = json.loads((tmp_path / "limits.json").read_text())
    assert [timing["way"] for timing in figures["timings"]] == ["failures"]
    assert 0 < figures["peaks"]["a log of 100 MB: failures"] < 500
    assert (tmp_path / "limits.svg").read_text().startswith("<svg")
