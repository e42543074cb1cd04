"""Times ways to do the same thing, turn by turn in one session, and writes what came out as a table, JSON and SVG.

Only ratios mean anything on another machine; they are of medians, and the spread stands beside them.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from selfdebug.config import usable_cores


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of one way, and by how much `base` takes longer (`ratio`, of the medians)."""

    subject: str
    way: str
    median: float
    low: float
    high: float
    ratio: float
    rounds: int


def interleaved(
    subject: str,
    ways: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
    warm_up: int = 1,
) -> list[Timing]:
    """Time each way once a round, after `warm_up` rounds that do not count; the first way is the base."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + warm_up):
        for name, way in ways.items():
            began = clock()
            way()
            if number >= warm_up:
                seconds[name].append(clock() - began)
    base = statistics.median(next(iter(seconds.values())))
    return [
        Timing(subject, name, middle := statistics.median(taken), min(taken), max(taken), base / middle, rounds)
        for name, taken in seconds.items()
    ]


def cpu_of_children() -> float:
    """The CPU seconds of all processes that this one has waited for: what a busy machine does not change much."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


QUICKER = "times as quick as the first way"
_PLACES = {"--folder": "DIR", "--python": "PYTHON"}


def report(
    title: str,
    timings: list[Timing],
    folder: Path | None,
    peaks: Mapping[str, float] | None = None,
    caption: str = QUICKER,
) -> None:
    """Print a table; write `title`.json and .svg into `folder`, if one is given.

    `peaks` are the highest resident memory of subjects, in MB; `caption` says what the ratios are.
    """
    print(f"{'':28} {'way':34} {'median ms':>10} {'lowest':>9} {'highest':>9} {'times':>8}")
    for each in timings:
        figures = f"{each.median * 1000:10.2f} {each.low * 1000:9.2f} {each.high * 1000:9.2f} {each.ratio:8.1f}"
        print(f"{each.subject:28} {each.way:34} {figures}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            "title": title,
            "command": command_line(title),
            "session": session(),
            "timings": [asdict(each) for each in timings],
            "peaks": dict(peaks or {}),
            "caption": caption,
        }
        (folder / f"{title}.json").write_text(json.dumps(document, indent=1) + "\n")
        (folder / f"{title}.svg").write_text(drawn(title, timings, caption))


def command_line(title: str) -> str:
    """The command line of this process, with the places of this machine as words."""
    options = sys.argv[2:]
    shown = [_PLACES.get(before, each) for before, each in zip(["", *options], options, strict=False)]
    return shlex.join(["python", "-m", "benchmarks", title, *shown])


def session() -> dict[str, object]:
    """When and on what kind of machine: what a reader needs to judge figures, and nothing that names the machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": usable_cores(),
        "load": round(os.getloadavg()[0], 1),
    }


def drawn(title: str, timings: list[Timing], caption: str = QUICKER) -> str:
    """A bar for each way, as long as its ratio."""
    height = 24
    widest = max(each.ratio for each in timings)
    rows = []
    for number, each in enumerate(timings):
        y = 40 + number * height
        width = max(2.0, 320 * each.ratio / widest)
        label = escape(f"{each.subject}: {each.way}")
        rows.append(f'<text x="10" y="{y + 14}">{label}</text>')
        rows.append(f'<rect x="420" y="{y}" width="{width:.0f}" height="{height - 6}" fill="#4477aa"/>')
        rows.append(f'<text x="{426 + width:.0f}" y="{y + 14}">{each.ratio:.1f}</text>')
    total = 50 + len(timings) * height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{total}" font-family="sans-serif" font-size="12">'
    )
    heading = f'<text x="10" y="22" font-weight="bold">{escape(title)}: {escape(caption)}</text>'
    return "\n".join([head, heading, *rows, "</svg>", ""])
