"""A file probed for plain Python prints what the failing statement saw, in an interpreter without this project."""

import subprocess
import sys
from pathlib import Path

import pytest

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.standalone import add_probe, remove_probes

SOURCE = b'''\
"""Doc."""

from __future__ import annotations
import sys

def full_name(user, password="hunter2"):
    last = user.last
    return (user.first.title()
            + last.title())

class User:
    first, last = "ada", None

print(full_name(User))
'''


def run(folder: Path, source: bytes, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter without this project on its path."""
    (folder / "program.py").write_bytes(source)
    command = [sys.executable, "-I", "-X", "utf8", "program.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def seen(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("DBG-")]


def test_names_values_and_the_exception_are_printed_with_lines_of_the_original(tmp_path: Path) -> None:
    result = run(tmp_path, add_probe(SOURCE, 8))
    shown = "{'user': <class '__main__.User'>, 'password': <redacted>, 'last': None}"
    assert seen(result.stdout) == [
        f"DBG-PROBE frame=full_name line=9 locals={shown}",
        "DBG-VALUE line=9 code='user' value=<class '__main__.User'>",
        "DBG-VALUE line=9 code='user.first' value='ada'",
        *[line for line in seen(result.stdout) if "code='user.first.title'" in line],
        "DBG-VALUE line=9 code='user.first.title()' value='Ada'",
        "DBG-VALUE line=9 code='last' value=None",
        "DBG-CAUGHT AttributeError line=9 error='NoneType' object has no attribute 'title'",
    ]
    assert result.returncode == 1
    assert result.stderr.endswith("AttributeError: 'NoneType' object has no attribute 'title'\n")


def test_nothing_is_printed_where_nothing_is_raised(tmp_path: Path) -> None:
    source = SOURCE.replace(b"None", b'"lovelace"')
    result = run(tmp_path, add_probe(source, 8))
    assert (result.stdout, result.stderr, result.returncode) == ("AdaLovelace\n", "", 0)


@pytest.mark.parametrize("line", [4, 6, 7, 8, 11, 12, 14])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_removing_gives_back_the_bytes(line: int, newline: bytes) -> None:
    source = SOURCE.replace(b"\n", newline)
    probed = add_probe(source, line)
    assert probed.count(newline) == probed.count(b"\n")
    assert remove_probes(probed) == source


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfx = a.b",
        b"@a.b\ndef f(): pass\n",
        b"#!/usr/bin/env python\n# coding: latin-1\n'\xe4'\nx = a['\xe4']\n",
        b"if a:\n    b.c\n",
    ],
)
def test_removing_gives_back_bytes_of_any_beginning(source: bytes) -> None:
    lines = source.count(b"\n") or 1
    probed = add_probe(source, lines)
    compile(probed, "probed", "exec")
    assert probed.startswith((b"exec(", source[:3]))
    assert probed.count(b"exec(") == 1
    assert remove_probes(probed) == source


def test_removing_without_the_line_of_recorders_works_too() -> None:
    probed = add_probe(b"x = a\n", 1)
    assert remove_probes(probed.partition(b"\n")[2]) == b"x = a\n"


def test_a_line_of_recorders_that_was_edited_stays() -> None:
    probed = add_probe(b"x = a\n", 1).replace(b"exec(", b"exec (")
    assert remove_probes(probed).endswith(b"\nx = a\n")


def test_a_second_probe_is_refused() -> None:
    with pytest.raises(RefusedError, match="has a probe already"):
        add_probe(add_probe(b"x = a\n", 1), 2)


def test_values_cannot_break_the_output(tmp_path: Path) -> None:
    source = b"""\
class Odd:
    def __repr__(self): raise RuntimeError("no repr")
class Loud(Exception):
    def __str__(self): raise RuntimeError("no text")
class Rude:
    def __repr__(self): return "two\\nlines \\udc80 \\xe9"
class Long:
    def __repr__(self): return "x" * 10_000
headers = {"Authorization": "Bearer abc", "Accept": "text"}
odd, rude, long, deep = Odd(), Rude(), Long(), [[[[[[[[1]]]]]]]]
class list: pass
posing = list()
def fail(*arguments): raise Loud
fail(odd, rude, long, deep, headers, posing)
"""
    result = run(tmp_path, add_probe(source, 14))
    lines = seen(result.stdout)
    values = {line.split(" ")[2]: line.partition(" value=")[2] for line in lines if line.startswith("DBG-VALUE")}
    assert "Odd" in values["code='odd'"]
    assert values["code='rude'"] == "two\\nlines \\udc80 é"
    assert len(values["code='long'"]) < 250
    assert "..." in values["code='deep'"]
    assert values["code='posing'"] == "<list: its text raises TypeError>"
    assert "abc" not in result.stdout
    assert "'Accept': 'text'" in values["code='headers'"]
    assert lines[-1] == "DBG-CAUGHT Loud line=14 error=<Loud: its text raises RuntimeError>"
    assert "Loud" in result.stderr


def test_a_closed_standard_output_changes_nothing(tmp_path: Path) -> None:
    for close in (
        b"sys.stdout.close()",
        b"sys.stdout = None",
        b"sys.stdout = open('/dev/null', 'w', encoding='ascii')",
    ):
        result = run(tmp_path, add_probe(b"import sys\n" + close + b"\nx = '\xc3\xa4'\nx.nothing\n", 4))
        assert result.stderr.endswith("AttributeError: 'str' object has no attribute 'nothing'\n")


def test_values_are_those_of_the_last_time_the_statement_began(tmp_path: Path) -> None:
    source = b"for a, b in [(1, 2), (0, 3), (None, 4)]:\n    a is None and a.x or a and b.real\n"
    result = run(tmp_path, add_probe(source, 2))
    values = [line.partition("code=")[2] for line in seen(result.stdout) if line.startswith("DBG-VALUE")]
    assert values == ["'a' value=None", "'a is None' value=True", "'a' value=None"]


def test_files_know_their_own_probes(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_bytes(add_probe(b"def g(x):\n\n\n    return x.other\n", 4))
    source = b"import sys; sys.path.insert(0, '')\nimport other\ndef f(x):\n    return other.g(x)\nf(None)\n"
    result = run(tmp_path, add_probe(source, 4))
    assert [line for line in seen(result.stdout) if "code='x'" in line] == [
        "DBG-VALUE line=4 code='x' value=None",
        "DBG-VALUE line=4 code='x' value=None",
    ]
    assert [line.partition(" locals")[0] for line in seen(result.stdout) if "PROBE" in line] == [
        "DBG-PROBE frame=g line=4",
        "DBG-PROBE frame=f line=4",
    ]


def test_recorders_that_are_there_already_are_used(tmp_path: Path) -> None:
    source = (
        b"import builtins\nbuiltins.__selfdebug_probe__ = lambda number, value: value\n"
        b"builtins.__selfdebug_caught__ = lambda number: print('theirs', number)\nexec(open('probed.py').read())\n"
    )
    (tmp_path / "probed.py").write_bytes(add_probe(b"None.x\nNone .y\na = None\na.z\n", 4).replace(b"None.x", b"0"))
    result = run(tmp_path, source.replace(b"None .y", b""))
    assert "DBG" not in result.stdout
