"""`selfdebug report`: the page of a past run, made from what its trace kept."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from invoked import selfdebug

from selfdebug.demo import lay_out


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project after a run that kept a patch."""
    folder = lay_out(tmp_path_factory.mktemp("report") / "shop")
    assert selfdebug("run", cwd=folder).returncode == 0
    return folder


def test_the_last_run_becomes_a_page(shop: Path) -> None:
    done = selfdebug("report", "--html", "run.html", cwd=shop)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"Wrote run.html.\n")
    written = (shop / "run.html").read_text()
    assert '<mark title="the receiver">customer</mark>.orders' in written
    assert '<details class="step"><summary><code>ingest#0</code>' in written
    assert selfdebug("report", cwd=shop).stdout.decode() == written


def test_a_run_that_came_from_elsewhere_becomes_the_same_page(shop: Path, tmp_path: Path) -> None:
    listed = json.loads(selfdebug("runs", "recorded", "--json", cwd=shop).stdout)
    run_id = listed["runs"][0]["id"]
    assert selfdebug("runs", "export", run_id, "--output", str(tmp_path / "run.json"), cwd=shop).returncode == 0
    elsewhere = lay_out(tmp_path / "elsewhere")
    assert selfdebug("runs", "import", str(tmp_path / "run.json"), cwd=elsewhere).returncode == 0
    page = selfdebug("report", run_id, cwd=elsewhere)
    assert page.returncode == 0
    assert page.stdout == selfdebug("report", run_id, cwd=shop).stdout


def test_where_no_run_is_there_is_no_page(tmp_path: Path) -> None:
    done = selfdebug("report", cwd=lay_out(tmp_path / "shop"))
    assert done.returncode == 64
    assert b"No completed run is recorded here yet" in done.stderr


def test_a_run_without_values_has_no_page_and_says_so(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "shop")
    with (folder / "pyproject.toml").open("a") as settings:
        settings.write("\n[tool.selfdebug.trace]\ninclude_values = false\n")
    assert selfdebug("run", cwd=folder).returncode == 0
    done = selfdebug("report", cwd=folder)
    assert done.returncode == 64
    assert re.search(rb"No report of run \S+ was kept: .* leave values out", done.stderr)


@pytest.mark.parametrize(
    ("data", "sentence"), [(b"\0damage", b"is damaged"), (zlib.compress(b"{}"), b"not of a form known here")]
)
def test_a_damaged_report_is_one_sentence(shop: Path, tmp_path: Path, data: bytes, sentence: bytes) -> None:
    folder = shutil.copytree(shop, tmp_path / "shop")
    with closing(sqlite3.connect(next(folder.rglob("trace.sqlite3")))) as db, db:
        db.execute("UPDATE reports SET data = ?", (data,))
    done = selfdebug("report", cwd=folder)
    assert done.returncode == 64
    assert sentence in done.stderr
    assert done.stderr.count(b"\n") == 1
