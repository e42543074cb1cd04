"""Guards and probes at random places of standard library files: refused, or what they give is as it must be."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest
from full_sweep import sweep_probes
from guard_sweep import Report, sweep

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = [("csv.py", False), ("gettext.py", True), ("textwrap.py", False), ("asyncio/streams.py", True)]


@pytest.mark.parametrize(("name", "crlf"), FILES)
def test_guards_refuse_or_are_right(name: str, crlf: bool) -> None:
    data = (LIBRARY / name).read_bytes()
    report = Report()
    sweep(data.replace(b"\n", b"\r\n") if crlf else data, random.Random(name), 4, report)
    assert not report.wrong
    assert report.tried >= 20
    assert report.made


@pytest.mark.parametrize(("name", "crlf"), FILES)
def test_probes_go_in_and_out_at_statements_of_every_kind(name: str, crlf: bool) -> None:
    data = (LIBRARY / name).read_bytes()
    report = Report()
    sweep_probes(data.replace(b"\n", b"\r\n") if crlf else data, random.Random(name), 1, report)
    assert not report.wrong
    assert len(report.made) >= 8, "kinds of statements"
