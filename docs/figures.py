"""Writes docs/benchmarks.md from the figures in docs/benchmarks/, so that none of them is typed by hand.

python -m benchmarks NAME --folder docs/benchmarks    measure, one after another
python docs/figures.py [--into FILE]                  write the page

A second session of one benchmark is kept as NAME--WORD.json and .svg.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE / "benchmarks.md"
FIGURES = HERE / "benchmarks"

INTRODUCTION = """\
# Benchmarks

`python -m benchmarks` lists them; `python -m benchmarks NAME --folder DIR` runs one and writes its figures into a
folder, as JSON and as an SVG picture. Ways to do the same thing are timed turn by turn in one session; figures are
medians with the lowest and the highest beside them. Seconds are those of one machine at one time, so only the ratios
say anything about another one. This page is made from the JSON files by `python docs/figures.py`.
"""


def page() -> str:
    """The whole page: every benchmark with what its module says of it, and the figures where there are some."""
    sys.path.insert(0, str(HERE.parent))
    from benchmarks.__main__ import MEASUREMENTS

    parts = [INTRODUCTION]
    for name, module in MEASUREMENTS.items():
        parts.append(f"## {name}\n\n{_described(importlib.import_module(module).__doc__ or '')}\n")
        for file in (*FIGURES.glob(f"{name}.json"), *sorted(FIGURES.glob(f"{name}--*.json"))):
            parts.append("\n".join(_figures(file.stem, json.loads(file.read_text(encoding="utf-8")))) + "\n")
    return "\n".join(parts)


def _described(text: str) -> str:
    """A docstring as Markdown: its commands become blocks of code."""
    paragraphs = [paragraph.strip("\n") for paragraph in text.strip().split("\n\n")]
    return "\n\n".join(
        f"```console\n{paragraph.strip()}\n```" if paragraph.strip().startswith("python -m ") else paragraph
        for paragraph in paragraphs
    )


def _figures(name: str, document: dict[str, Any]) -> Iterator[str]:
    session, peaks = document["session"], document.get("peaks", {})
    yield (
        f"Measured on {session['date']}: Python {session['python']}, {session['system']}, {session['cores']} cores, "
        f"load {session['load']} when it ended."
    )
    yield f"\n```console\n{document['command']}\n```\n"
    if "rows" in document:
        yield from _counts(document["rows"])
        if (FIGURES / f"{name}.svg").exists():
            yield f"\n![{name}](benchmarks/{name}.svg)"
        return
    memory = " peak MB |" if peaks else ""
    yield f"| | way | seconds | lowest | highest | {document['caption']} |{memory}"
    yield f"| --- | --- | ---: | ---: | ---: | ---: |{' ---: |' if peaks else ''}"
    for each in document["timings"]:
        peak = f" {peaks.get(each['subject'] + ': ' + each['way'], '')} |" if peaks else ""
        seconds = " | ".join(_seconds(each[key]) for key in ("median", "low", "high"))
        yield f"| {each['subject']} | {each['way']} | {seconds} | {each['ratio']:.2f} |{peak}"
    if not peaks:
        yield f"\n![{name}](benchmarks/{name}.svg)"


def _counts(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A table of counts, whose first column is a name."""
    name, *columns = rows[0]
    yield f"| | {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * len(columns)}"
    for row in rows:
        yield f"| {row[name]} | {' | '.join(str(row[column]) for column in columns)} |"


def _seconds(value: float) -> str:
    """Three digits that count, and never less than two places."""
    places = max(2, 2 - math.floor(math.log10(value)))
    return f"{value:.{places}f}"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=PAGE)
    parser.parse_args().into.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
