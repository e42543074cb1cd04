"""`--output` of run, batch and merge: several reports of one run, in files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from invoked import selfdebug

from selfdebug.demo import lay_out


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo project, outside git."""
    return lay_out(tmp_path / "shop")


def test_one_run_writes_several_reports(shop: Path) -> None:
    patch, board = shop / "it.patch", shop / "board.json"
    outputs = ["--output", "it.patch", "--output", f"gitlab={board}", "--output", "it.XML", "--output", "it.md"]
    done = selfdebug("run", "--dry-run", *outputs, "--format", "json", cwd=shop)
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert patch.read_text() == document["patches"][0]["diff"]
    assert [issue["severity"] for issue in json.loads(board.read_bytes())] == ["minor"]
    assert ET.parse(shop / "it.XML").getroot().tag == "testsuites"
    assert (shop / "it.md").read_text().startswith("## selfdebug: ")


def test_a_file_without_a_telling_suffix_gets_the_format_of_standard_output(shop: Path) -> None:
    done = selfdebug("run", "--root", "nowhere", "--format", "gitlab", "--output", "quality", cwd=shop)
    assert done.returncode == 64
    assert json.loads((shop / "quality").read_bytes()) == []


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("report", "the suffix tells no format; write FORMAT=report with one of text, "),
        ("pdf=x.bin", "the suffix tells no format"),
        ("nowhere/it.json", "there is no folder nowhere"),
        ("json=", "names no file"),
        ("json=shop", "names no file"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_before_the_run(shop: Path, word: str, sentence: str) -> None:
    done = selfdebug("run", "--output", word, cwd=shop)
    assert done.returncode == 64
    assert sentence in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_an_equals_sign_in_a_file_name_is_part_of_the_name(shop: Path) -> None:
    done = selfdebug("run", "--root", "nowhere", "--output", "a=b.json", cwd=shop)
    assert done.returncode == 64
    written = json.loads((shop / "a=b.json").read_bytes())
    assert (written["exit_code"], written["exit_reason"]) == (64, "usage")
    assert written["message"] in done.stderr.decode()


def test_a_batch_that_ends_early_says_so_in_each_file(shop: Path) -> None:
    outputs = ["--output=it.json", "--output=it.log", "--output=it.patch"]
    done = selfdebug("batch", "--root", "nowhere", *outputs, cwd=shop)
    written = json.loads((shop / "it.json").read_bytes())
    assert (done.returncode, written["exit_code"], written["exit_reason"]) == (64, 64, "usage")
    assert written["message"] in done.stderr.decode()
    assert (shop / "it.log").read_text() == f"{written['message']}\n"
    assert (shop / "it.patch").read_bytes() == b""
    merged = selfdebug("merge", "it.json", "--output", "merged.json", cwd=shop)
    assert merged.returncode == 64
    assert json.loads((shop / "merged.json").read_bytes())["message"] in merged.stderr.decode()


@pytest.mark.parametrize("word", ["it.html", "sarif=it.sarif", "page"])
def test_a_format_that_a_batch_does_not_write_is_refused_before_the_run(shop: Path, word: str) -> None:
    done = selfdebug("batch", "--output", word, cwd=shop)
    assert done.returncode == 64
    assert f"write FORMAT={word} with one of text, json, diff." in done.stderr.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is made with /dev/full")
def test_a_report_that_cannot_be_written_is_one_sentence_after_the_others(shop: Path) -> None:
    (shop / "full.json").symlink_to("/dev/full")
    done = selfdebug("run", "--root", "nowhere", "--output", "full.json", cwd=shop)
    assert done.returncode == 3
    assert done.stderr.decode() == f"selfdebug: Cannot write full.json: {os.strerror(28)}.\n"
