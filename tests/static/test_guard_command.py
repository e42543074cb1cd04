"""`selfdebug guard` on whole projects: what is found, what checkers say, what is written and undone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from invoked import process, selfdebug

from selfdebug.errors import InputError
from selfdebug.static.checkers import read_complaints

SUBJECT = """\
import re
from typing import Optional


class User:
    name: Optional[str] = None

    def __enter__(self) -> "User":
        return self

    def __exit__(self, *rest: object) -> None: ...

    def __call__(self) -> int:
        return 1


def find(key: str) -> Optional[User]:
    return None


def listed(key: str) -> Optional[list[int]]:
    return None


def number(key: str) -> Optional[int]:
    return None


def use(key: str) -> None:
    print("\N{PARTY POPPER}", find(key).name, find("b").name)
    user = find(key)
    user.name
    user()
    for one in listed(key):
        print(one)
    with user:
        pass
    rows = listed(key)
    print(rows[0])
    n = number(key)
    print(n + 1)
    print(1 + n)
    print(re.match("a", key).group())
    print(number)
"""
WRONG = [30, 30, 32, 33, 34, 36, 39, 41, 42, 43]


def project(folder: Path, **files: str) -> Path:
    """A project of these files (`__` for a slash)."""
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(text.encode())
    return folder


# ---------------------------------------------------------------- our own reading


def test_functions_of_other_modules_are_known(tmp_path: Path) -> None:
    folder = project(
        tmp_path,
        src__shop__register="def find(key) -> int | None: ...\n",
        src__shop__till="from shop.register import find\ndef f(): return find(1) + 1\n",
        src__shop__broken="def f(:\n",
        tests__test_till="def test_it(p=None): p.x\n",
    )
    done = selfdebug("guard", cwd=folder)
    assert done.stdout.decode().splitlines() == [
        "src/shop/till.py:2:17: find(1) may be None: find() is annotated to return None, too [guard: early-return]",
        "1 unguarded use in 2 files.",
    ]
    assert done.stderr.decode() == "src/shop/broken.py was not looked at: line 1 does not parse: invalid syntax.\n"
    assert done.returncode == 1
    with_tests = selfdebug("guard", "tests", "--include-tests", "--json", cwd=folder)
    (spot,) = json.loads(with_tests.stdout)["spots"]
    assert (spot["file"], spot["line"], spot["column"], spot["code"]) == ("tests/test_till.py", 1, 21, "p")


def test_what_is_fixed_can_be_undone_and_leaves_nothing_to_find(tmp_path: Path) -> None:
    names = {f"m{number}": f"def f{number}(p=None):\r\n\tp.x\t# kept\r\n" for number in range(9)}
    folder = project(tmp_path, **names)
    before = {file: file.read_bytes() for file in folder.glob("*.py")}
    shown = process("guard", "--diff", "--jobs", "2", cwd=folder)
    assert shown.returncode == 1
    assert {file: file.read_bytes() for file in folder.glob("*.py")} == before
    fixed = process("guard", "--fix", "--jobs", "2", cwd=folder)
    assert fixed.returncode == 0
    assert (folder / "m3.py").read_bytes() == (b"def f3(p=None):\r\n\tif p is not None:\r\n\t\tp.x\t# kept\r\n")
    assert selfdebug("guard", cwd=folder).stdout == b"9 files, nothing found.\n"
    run_id = fixed.stderr.decode().split()[-1]
    assert run_id.startswith("guard-")
    assert selfdebug("rollback", run_id, cwd=folder).returncode == 0
    assert {file: file.read_bytes() for file in folder.glob("*.py")} == before
    again = subprocess.run(
        ["patch", "-p1", "--binary"], cwd=folder, input=shown.stdout, capture_output=True, check=False
    )
    assert again.returncode == 0
    assert selfdebug("guard", cwd=folder).returncode == 0


# ---------------------------------------------------------------- checkers


def by_mypy(folder: Path) -> bytes:
    """What mypy says of the subject."""
    command = [sys.executable, "-m", "mypy", "--output", "json", "--strict", "--cache-dir=/dev/null", "subject.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


def by_pyright(folder: Path) -> bytes:
    """The document that pyright writes, in its form, for the places that it names in the subject."""
    member, operand = (
        ("reportOptionalMemberAccess", '"name" is not a known attribute of "None"'),
        (
            "reportOptionalOperand",
            'Operator "+" not supported for "None"',
        ),
    )
    said = [
        (30, 27, *member),
        (30, 43, *member),
        (32, 9, *member),
        (33, 4, "reportOptionalCall", 'Object of type "None" cannot be called'),
        (34, 15, "reportOptionalIterable", 'Object of type "None" cannot be used as iterable value'),
        (36, 9, "reportOptionalContextManager", 'Object of type "None" cannot be used with "with" '),
        (39, 10, "reportOptionalSubscript", 'Object of type "None" is not subscriptable'),
        (41, 10, *operand),
        (42, 10, "reportOperatorIssue", 'Operator "+" not supported for types "Literal[1]" and "int | None"\n  more'),
        (43, 29, "reportOptionalMemberAccess", '"group" is not a known attribute of "None"'),
        (44, 4, "reportOperatorIssue", 'Operator "+" not supported for types "str" and "int"'),
        (44, 4, "reportUnusedExpression", 'Expression value is unused, like "None"'),
    ]
    diagnostics = [
        {
            "file": str(folder / "subject.py"),
            "severity": "error",
            "message": message,
            "range": {"start": {"line": line - 1, "character": column}, "end": {"line": line - 1, "character": 99}},
            "rule": rule,
        }
        for line, column, rule, message in said
    ]
    return json.dumps({"version": "1.1.411", "generalDiagnostics": diagnostics, "summary": {}}).encode()


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=lambda checker: checker.__name__)
def test_each_complaint_of_a_checker_is_found_at_its_use(tmp_path: Path, checker: object) -> None:
    subject = SUBJECT if checker is by_pyright else SUBJECT.replace("\N{PARTY POPPER}", "!")
    folder = project(tmp_path, subject=subject)
    assert callable(checker)
    (folder / "said.json").write_bytes(checker(folder))
    done = selfdebug("guard", "--from", "said.json", "--json", cwd=folder)
    spots = json.loads(done.stdout)["spots"]
    lines, codes = (WRONG, ["find(key)", 'find("b")']) if checker is by_pyright else (WRONG[1:], ["find(key)", "user"])
    assert [spot["line"] for spot in spots] == lines  # mypy says the same of one line only once
    assert [spot["code"] for spot in spots[:2]] == codes
    assert all(spot["reason"].startswith(("mypy: ", "pyright: ")) for spot in spots)
    assert done.stderr == b""


def test_complaints_of_a_file_that_has_changed_are_counted_and_nothing_is_guessed(tmp_path: Path) -> None:
    folder = project(tmp_path, subject="def use(): pass\n", other="def f(p): return p.name\n")
    (folder / "said.json").write_bytes(by_pyright(folder))
    done = selfdebug("guard", "--from", "said.json", cwd=folder)
    assert done.stdout == b"2 files, nothing found.\n"
    assert done.stderr == b"subject.py: 10 complaints without a single use that is left unguarded.\n"
    assert done.returncode == 0


def test_columns_that_mypy_miscounts_are_not_trusted(tmp_path: Path) -> None:
    folder = project(tmp_path, subject=SUBJECT)
    (folder / "said.json").write_bytes(by_mypy(folder))
    done = selfdebug("guard", "--from", "said.json", "--json", cwd=folder)
    assert [spot["line"] for spot in json.loads(done.stdout)["spots"]] == WRONG[2:]
    assert done.stderr == b"subject.py: 1 complaint without a single use that is left unguarded.\n"


def test_a_complaint_about_a_file_outside_the_project_is_left_out(tmp_path: Path) -> None:
    said = {"file": "../secret.py", "line": 1, "column": 0, "message": '"None" not callable'}
    assert read_complaints(json.dumps(said).encode(), tmp_path) == {}


@pytest.mark.parametrize(
    "data",
    [
        b'{"generalDiagnostics": [1]}',
        b'{"generalDiagnostics": [{"rule": "reportOptionalCall", "message": "None"}]}',
        b'{"message": 1}\n{"line": 1}\n',
        b'{"message": "\\"None\\" not callable", "file": "a.py", "line": "x", "column": 0}\n',
        b"{broken\n",
    ],
)
def test_what_no_checker_wrote_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="This is no report of mypy"):
        read_complaints(data, tmp_path)


@pytest.mark.parametrize("data", [b"", b"Success: no issues found in 1 source file\n", b"\xff\xfe"])
def test_a_report_without_complaints_is_none(tmp_path: Path, data: bytes) -> None:
    assert read_complaints(data, tmp_path) == {}


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("notes.txt", 64, "selfdebug: notes.txt is no Python file.\n"),
        ("../elsewhere", 64, "selfdebug: ../elsewhere is not in the project {root}; --root DIR names another one.\n"),
        (
            "../elsewhere/a.py",
            64,
            "selfdebug: ../elsewhere/a.py is not in the project {root}; --root DIR names another one.\n",
        ),
        (
            "missing",
            64,
            "selfdebug: Invalid value for '[PATHS]...': Path 'missing' does not exist. Try 'selfdebug guard --help'.\n",
        ),
        ("tests", 0, "There is no Python file to look at besides tests (--include-tests).\n"),
        ("..", 1, ""),
        ("a.py", 1, ""),
    ],
)
def test_a_path_that_holds_no_file_of_the_project_is_said_to_hold_none(
    tmp_path: Path, path: str, code: int, said: str
) -> None:
    folder = project(tmp_path / "project", a=SUBJECT, tests__test_a="")
    (folder / "notes.txt").write_text("")
    project(tmp_path / "elsewhere", a=SUBJECT)
    done = selfdebug("guard", path, cwd=folder)
    assert (done.returncode, done.stderr.decode()) == (code, said.format(root=folder))


@pytest.mark.parametrize("other", ["--fix", "--json"])
def test_a_diff_is_not_something_else_as_well(tmp_path: Path, other: str) -> None:
    folder = project(tmp_path, m="def f(p=None):\n    p.x\n")
    done = selfdebug("guard", "--diff", other, cwd=folder)
    assert done.returncode == 64
    assert done.stderr.decode() == f"selfdebug: --diff and {other} contradict each other.\n"
    assert (folder / "m.py").read_bytes() == b"def f(p=None):\n    p.x\n"


# ---------------------------------------------------------------- libcst's own front end


def test_the_codemod_guards_a_file_statically(tmp_path: Path) -> None:
    folder = project(tmp_path, m="def f(p=None):\n    p.x  # kept\n")
    assert selfdebug("init", cwd=folder).returncode == 0
    command = [sys.executable, "-m", "libcst.tool", "codemod", "selfdebug.NullGuard", "--static", "m.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "m.py").read_bytes() == b"def f(p=None):\n    if p is not None:\n        p.x  # kept\n"
