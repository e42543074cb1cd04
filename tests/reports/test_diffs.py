"""The diffs are judged by the tools that people apply them with: git and GNU patch."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from selfdebug.model import EditedFile
from selfdebug.reports import render
from selfdebug.reports.diffs import Block, blocks, quoted, unified
from selfdebug.reports.evidence import readable_diff
from selfdebug.reports.run_document import document
from selfdebug.reports.samples import COMPARED, KEPT

LONG = b"".join(b"line %d\n" % number for number in range(1, 200))
EDITS = {
    "one line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "first line of a file": (LONG, b"new\n" + LONG),
    "last line of a file": (LONG, LONG + b"new\n"),
    "two hunks": (LONG, LONG.replace(b"line 5\n", b"").replace(b"line 150\n", b"line 150\nmore\n")),
    "two hunks that touch": (LONG, LONG.replace(b"line 5\n", b"5\n").replace(b"line 11\n", b"11\n")),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nif b:\r\n\tb\r\nc\r\n"),
    "mixed line ends": (b"a\r\nb\nc\rd\n", b"a\r\nB\nc\rd\n"),
    "no final newline": (b"a\nb\nc", b"a\nb\nC"),
    "final newline comes": (b"a\nb", b"a\nb\n"),
    "final newline goes": (b"a\nb\n", b"a\nb"),
    "form feed and separators": ("a\x0cb\nc\u2028d\ne\x85\n".encode(), "a\x0cb\nC\u2028d\ne\x85\n".encode()),
    "not utf-8": (b"x = '\xe9'\ny = 1\n", b"x = '\xe9'\ny = 2\n"),
    "tabs and trailing blanks": (b"if a: \n\tb  \n\n", b"if a: \n\tif b: b  \n\n"),
    "bom": (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n"),
}
NAMES = [
    "plain.py",
    "with space.py",
    "a folder/with space.py",
    "ümläut/日本.py",
    'quo"te.py',
    "back\\slash.py",
    "tab\there.py",
    "quo'te $HOME `x`.py",
    " leading.py",
    os.fsdecode(b"latin-\xe9.py"),
]
Tool = Callable[[Path, bytes], None]
GIT = ["git", "-c", "core.autocrlf=false", "-c", "core.whitespace=cr-at-eol"]


def apply_with_git(folder: Path, diff: bytes) -> None:
    subprocess.run([*GIT, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*GIT, "apply", "--whitespace=nowarn", "-"], cwd=folder, input=diff, check=True)


def apply_with_patch(folder: Path, diff: bytes) -> None:
    subprocess.run(["patch", "-p1", "--silent"], cwd=folder, input=diff, check=True)


needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="GNU patch is not installed here")
TOOLS = [pytest.param(apply_with_git, id="git"), pytest.param(apply_with_patch, id="patch", marks=needs_patch)]
NAMED = [pytest.param(apply_with_git, name, id=f"git-{name!a}") for name in [*NAMES, "line\nend.py"]] + [
    pytest.param(apply_with_patch, name, id=f"patch-{name!a}", marks=needs_patch) for name in NAMES
]  # GNU patch refuses a name with a line end in it


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("edit", EDITS)
def test_a_diff_of_any_bytes_applies(tmp_path: Path, edit: str, tool: Tool) -> None:
    before, after = EDITS[edit]
    (tmp_path / "subject.py").write_bytes(before)
    tool(tmp_path, unified("subject.py", before, after))
    assert (tmp_path / "subject.py").read_bytes() == after


@pytest.mark.parametrize(("tool", "name"), NAMED)
def test_a_diff_of_any_name_applies(tmp_path: Path, tool: Tool, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"a\r\nb\n")
    tool(tmp_path, unified(name, b"a\r\nb\n", b"a\r\nB\n"))
    assert file.read_bytes() == b"a\r\nB\n"


def test_the_format_joins_the_files_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_bytes(b"1\r\n")
    (tmp_path / "c.py").write_bytes(b"2")
    repair = replace(KEPT, diffs=(EditedFile("a b.py", b"1\r\n", b"one\r\n"), EditedFile("c.py", b"2", b"two")))
    apply_with_git(tmp_path, render("diff", repair))
    assert (tmp_path / "a b.py").read_bytes() == b"one\r\n"
    assert (tmp_path / "c.py").read_bytes() == b"two"


def test_random_edits_apply(tmp_path: Path) -> None:
    source = random.Random(7)
    diffs, expected = [], {}
    for number in range(60):
        lines = [source.choice([b"a", b"b", b"", b"c\r"]) for _ in range(source.randrange(1, 30))]
        edited = list(lines)
        for _ in range(source.randrange(1, 5)):
            place = source.randrange(len(edited) + 1)
            edited[place : place + source.randrange(3)] = [b"new"] * source.randrange(3)
        before = b"\n".join(lines) + source.choice([b"", b"\n"])
        after = b"\n".join(edited) + source.choice([b"", b"\n"])
        if before and after:
            name = f"file{number}.py"
            (tmp_path / name).write_bytes(before)
            diffs.append(unified(name, before, after))
            expected[name] = after
    apply_with_git(tmp_path, b"".join(diffs))
    assert {name: (tmp_path / name).read_bytes() for name in expected} == expected


def test_equal_files_have_no_diff() -> None:
    assert unified("a.py", b"x\n", b"x\n") == b""
    assert blocks(b"x\n", b"x\n") == ()


def test_the_diff_is_as_small_as_the_edit() -> None:
    after = LONG.replace(b"line 100\n", b"line 100 and more\n")
    assert unified("a.py", LONG, after).count(b"\n") == 3 + 1 + 3 + 2 + 3
    assert blocks(LONG, after) == (Block(99, (b"line 100\n",), (b"line 100 and more\n",)),)


def test_a_diff_for_reading_is_in_the_encoding_of_the_file() -> None:
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    repair = replace(KEPT, diffs=(EditedFile("a.py", before, before + b"y = 1\n"),))
    assert " x = 'é'\n" in readable_diff(repair.diffs)
    broken = b"# coding: no-such-codec\nx = 1\n"
    repair = replace(KEPT, diffs=(EditedFile("a.py", broken, broken + b"y = '\xe9'\n"),))
    assert "+y = '\ufffd'\n" in readable_diff(repair.diffs)


def test_every_diff_of_the_document_is_in_the_encoding_of_the_file() -> None:
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    attempt = COMPARED.attempts[0]
    kept, others = attempt.kept, attempt.alternatives
    assert kept is not None
    patch = replace(kept, before=before, after=before + b"y = 1\n")
    changed = tuple(replace(other, patch=replace(patch, after=before + b"y = 2\n")) for other in others)
    turn = replace(attempt, kept=patch, alternatives=changed)
    found = document(replace(COMPARED, diffs=(EditedFile(patch.file, before, patch.after),), attempts=(turn,)))
    (shown,) = found["patches"]
    (guard,) = shown["guards"]
    diffs = [found["diff"], shown["diff"], *(other["diff"] for other in guard["alternatives"])]
    assert len(diffs) > 2
    assert all(" x = 'é'\n" in diff for diff in diffs)


def test_only_names_that_need_it_are_quoted() -> None:
    assert quoted("a b/ü.py") == "a b/ü.py"
    assert quoted('a"\\\x01\n') == '"a\\"\\\\\\001\\n"'
