"""The commands in libcst's own front end: real `python -m libcst.tool` processes in folders of their own, and calls.

A call says the same as a process where one file, or standard input, is rewritten: libcst itself starts none for that.
"""

import contextlib
import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from unittest import mock

import libcst as cst
import libcst.tool
import pytest
from libcst.codemod import CodemodContext, SkipFile

import codemods.selfdebug
from codemods.selfdebug.commands import CONFIG, BytesCommand, RemoveProbes
from codemods.selfdebug.failed_places import RECORD
from codemods.selfdebug.registry import guards
from codemods.selfdebug.unguided import default_rank

SOURCE = b"""\
import  os                     # two blanks
def  name(user) :\r
\tx = 1   # kept
\treturn user.name .upper( )  \r

"""
GUARDED = SOURCE.replace(b"\treturn", b"\tif user is None:\r\n\t\treturn\r\n\treturn")
GUARD = ("--line", "4", "--receiver", "user", "--guard", "early-return")
LOG = """\
Traceback (most recent call last):
  File "app/users.py", line 4, in name
    return user.name .upper( )
           ^^^^^^^^^
AttributeError: 'NoneType' object has no attribute 'name'
"""


def tool(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "libcst.tool", *arguments]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=False, timeout=120)


def called(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The same in this process."""
    out, err = StringIO(), StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "stdin", StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = libcst.tool.main("libcst.tool", list(arguments))
        except SystemExit as end:  # with a number, or with what is to be written before 1
            code = end.code if isinstance(end.code, int) else 1
            err.write("" if isinstance(end.code, int) else f"{end.code}\n")
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with our configuration and a few files with the same content."""
    (tmp_path / ".libcst.codemod.yaml").write_text(CONFIG)
    for name in ("app/users.py", "app/other.py", "app/deep/more.py", "lib.py", ".venv/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(SOURCE)
    return tmp_path


def changed(project: Path) -> dict[str, bytes]:
    """The files that differ from SOURCE."""
    files = {path.relative_to(project).as_posix(): path.read_bytes() for path in project.rglob("*.py")}
    return {name: data for name, data in files.items() if data != SOURCE}


def test_list_shows_the_commands(project: Path) -> None:
    listed = tool(project, "list").stdout
    for name in ("NullGuard", "Probe", "RemoveProbes"):
        assert f"selfdebug.commands.{name} - " in listed
    assert "BytesCommand" not in listed


def test_a_configuration_that_lists_codemods_is_enough(project: Path) -> None:
    result = tool(project, "codemod", "selfdebug.NullGuard", *GUARD, "app/users.py")
    assert result.returncode == 0, result.stderr
    assert changed(project) == {"app/users.py": GUARDED}


def test_no_configuration_is_needed_with_x(tmp_path: Path) -> None:
    (tmp_path / "users.py").write_bytes(SOURCE)
    result = tool(tmp_path, "codemod", "-x", "selfdebug.NullGuard", *GUARD, "users.py")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "users.py").read_bytes() == GUARDED


def test_the_formatter_of_another_configuration_is_not_run(project: Path) -> None:
    (project / ".libcst.codemod.yaml").write_text("modules: ['codemods']\nformatter: ['false']\n")
    result = called(project, "codemod", "selfdebug.NullGuard", *GUARD, "app/users.py")
    assert result.returncode == 0, result.stderr
    assert changed(project) == {"app/users.py": GUARDED}


def test_our_configuration_formats_nothing_for_other_codemods_either(project: Path) -> None:
    source = b"def  f( x ):\r\n\treturn  'a {}' .format( x )\r\n"
    (project / "lib.py").write_bytes(source)
    command = "convert_percent_format_to_fstring.ConvertPercentFormatStringCommand"
    (project / "lib.py").write_bytes(source.replace(b"'a {}' .format( x )", b"'a %s' % x"))
    result = called(project, "codemod", command, "lib.py")
    assert result.returncode == 0, result.stderr
    assert changed(project) == {"lib.py": source.replace(b"'a {}' .format( x )", b"f'a {x}'")}


def test_the_configuration_of_this_repository_is_the_one_that_init_writes() -> None:
    assert (Path(__file__).parents[2] / ".libcst.codemod.yaml").read_text() == CONFIG


def test_standard_input_becomes_standard_output(project: Path) -> None:
    source = "def f(user):\n    return user.name  # c\n"
    arguments = ("--line", "2", "--column", "11", "--guard", "early-return", "-")
    result = tool(project, "codemod", "selfdebug.NullGuard", *arguments, stdin=source)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "def f(user):\n    if user is None:\n        return\n    return user.name  # c\n\n"


def test_a_diff_leaves_the_file_alone(project: Path) -> None:
    result = called(project, "codemod", "selfdebug.NullGuard", *GUARD, "-u", "1", "lib.py")
    assert result.returncode == 0, result.stderr
    assert not changed(project)
    assert "+\tif user is None:" in result.stdout
    assert len([line for line in result.stdout.splitlines() if line.startswith(("+\t", "-\t"))]) == 2


def test_several_paths_and_jobs_work_together(project: Path) -> None:
    for number in range(6):
        (project / "app" / f"more{number}.py").write_bytes(SOURCE)
    result = tool(project, "codemod", "selfdebug.NullGuard", *GUARD, "-j", "2", "app", "lib.py")
    assert result.returncode == 0, result.stderr
    files = changed(project)
    assert set(files.values()) == {GUARDED}
    assert len(files) == 10


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_log_says_which_file_is_guarded(project: Path, jobs: str) -> None:
    (project / "log.txt").write_text(LOG)
    for number in range(6):
        (project / "app" / f"more{number}.py").write_bytes(SOURCE)
    arguments = ("--failure", "log.txt", "--guard", "early-return", "-j", jobs, ".")
    result = tool(project, "codemod", "selfdebug.NullGuard", *arguments)
    assert result.returncode == 0, result.stderr
    assert changed(project) == {"app/users.py": GUARDED}


def test_the_last_recorded_failure_is_used_where_nothing_else_is_said(project: Path) -> None:
    (project / RECORD).parent.mkdir()
    entries = [
        {"file": "app/users.py", "line": 4, "receiver": "user", "column": 8},
        {"file": "lib.py", "line": 4, "receiver": "user", "column": None},
    ]
    (project / RECORD).write_text(json.dumps({"failures": entries}))
    result = tool(project, "codemod", "selfdebug.NullGuard", "--guard", "early-return", ".")
    assert result.returncode == 0, result.stderr
    assert changed(project) == {"app/users.py": GUARDED, "lib.py": GUARDED}


def test_several_places_in_one_file_are_guarded(project: Path) -> None:
    source = b"def f(a):\n    return a.x\ndef g(b):\n    return b.y\n"
    (project / "lib.py").write_bytes(source)
    (project / "log.txt").write_text(
        "lib.py:2: AttributeError: 'NoneType' object has no attribute 'x'\n"
        "lib.py:4: AttributeError: 'NoneType' object has no attribute 'y'\n"
    )
    result = called(
        project, "codemod", "selfdebug.NullGuard", "--failure", "log.txt", "--guard", "early-return", "lib.py"
    )
    assert result.returncode == 0, result.stderr
    guard = "    if {0} is None:\n        return\n    return {0}."
    expected = source.decode().replace("    return a.", guard.format("a")).replace("    return b.", guard.format("b"))
    assert (project / "lib.py").read_text() == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("lib.py",), "say where: --line N"),
        (("-",), "say where: --line N"),
        (("--failure", "missing.txt", "lib.py"), "missing.txt cannot be read: No such file"),
        (("--failure", "empty.txt", "-"), "names no frame outside of tests and libraries"),
    ],
)
def test_without_a_place_one_sentence_says_what_is_missing(
    project: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (project / "empty.txt").touch()
    result = called(project, "codemod", "selfdebug.NullGuard", *arguments, stdin="x = a.b\n")
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not changed(project)


def test_without_a_guard_the_first_that_fits_is_taken(project: Path) -> None:
    source = b"def f(user):\n    if user.name:\n        return 1\n"
    (project / "lib.py").write_bytes(source)
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", "2", "lib.py")
    assert result.returncode == 0, result.stderr
    assert (project / "lib.py").read_bytes() == source.replace(b"if user", b"if user is not None and user")


def test_with_a_default_a_guard_that_uses_it_is_taken(project: Path) -> None:
    source = b"def f(user):\n    return user.name\n"
    (project / "lib.py").write_bytes(source)
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", "2", "--default", "'nobody'", "lib.py")
    assert result.returncode == 0, result.stderr
    assert b"'nobody'" in (project / "lib.py").read_bytes()


def test_a_guard_that_does_not_exist_is_a_usage_error(project: Path) -> None:
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", "4", "--guard", "no-such", "lib.py")
    assert result.returncode == 2
    assert "early-return" in result.stderr


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"try:\n    a.b\nexcept B :\n    c\n", "libcst does not write this file back byte for byte"),
        (b"x = 1\n\n\n", "no such receiver is used at line 2"),
        (b"x = 1\na.b = c.d\n", "line 2 has several receivers: `a`, `c`"),
        (b"x = 1\na.b\n", "early-return: "),
    ],
)
def test_a_file_that_cannot_be_guarded_is_skipped_with_the_reason(project: Path, source: bytes, reason: str) -> None:
    (project / "lib.py").write_bytes(source)
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", "2", "--guard", "early-return", "lib.py")
    assert f"Skipped codemodding {project / 'lib.py'}: {reason}" in result.stderr
    assert "Traceback" not in result.stderr
    assert (project / "lib.py").read_bytes() == source


def test_standard_input_that_cannot_be_guarded_fails_with_the_reason(project: Path) -> None:
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", "9", "-", stdin="x = a.b\n")
    assert result.returncode == 1
    assert "WARNING: no such receiver is used at line 9" in result.stderr
    assert not result.stdout.strip()


def test_a_log_serves_standard_input_with_its_first_failure(project: Path) -> None:
    (project / "log.txt").write_text(LOG)
    arguments = ("--failure", "log.txt", "--guard", "early-return", "-")
    result = called(project, "codemod", "selfdebug.NullGuard", *arguments, stdin=SOURCE.decode().replace("\r", ""))
    assert "\tif user is None:\n\t\treturn\n" in result.stdout


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe4\n"])
def test_the_encoding_stays(project: Path, mark: bytes) -> None:
    (project / "lib.py").write_bytes(mark + b"def f(a):\n    return a.b")
    line = str(2 + mark.count(b"\n"))
    result = called(project, "codemod", "selfdebug.NullGuard", "--line", line, "--guard", "early-return", "lib.py")
    assert result.returncode == 0, result.stderr
    expected = mark + b"def f(a):\n    if a is None:\n        return\n    return a.b"
    assert (project / "lib.py").read_bytes() == expected


def test_a_probe_prints_and_comes_out_again(project: Path) -> None:
    source = SOURCE + b"name(None)\n"
    (project / "lib.py").write_bytes(source)
    assert tool(project, "codemod", "selfdebug.Probe", "--line", "4", "lib.py").returncode == 0
    command = [sys.executable, "-I", "lib.py"]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    assert "DBG-PROBE frame=name line=4 locals={'user': None, 'x': 1}" in run.stdout
    assert "DBG-CAUGHT AttributeError line=4 error='NoneType' object has no attribute 'name'" in run.stdout
    assert tool(project, "codemod", "selfdebug.RemoveProbes", ".").returncode == 0
    assert changed(project) == {"lib.py": source}


def test_a_probe_goes_where_a_log_says(project: Path) -> None:
    (project / "log.txt").write_text(LOG)
    assert tool(project, "codemod", "selfdebug.Probe", "--failure", "log.txt", "app").returncode == 0
    assert list(changed(project)) == ["app/users.py"]
    assert tool(project, "codemod", "-x", "selfdebug.RemoveProbes", "app").returncode == 0
    assert not changed(project)


def test_importing_the_package_imports_no_libcst() -> None:
    script = "import sys, codemods.selfdebug, selfdebug; print('libcst' in sys.modules, codemods.selfdebug.__all__)"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert printed == "False ['NullGuard', 'Probe', 'RemoveProbes']\n"


def test_only_the_commands_are_exported() -> None:
    assert codemods.selfdebug.RemoveProbes is RemoveProbes
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = codemods.selfdebug.Nothing


def test_the_plainest_guard_of_a_family_comes_first() -> None:
    ranked = [guard.id for guard in sorted(guards().values(), key=default_rank)]
    assert ranked.index("condition-prefix") < ranked.index("condition-or")
    assert ranked.index("continue-loop") < ranked.index("break-loop")
    assert ranked.index("condition-prefix") < ranked.index("conditional-expression") < ranked.index("early-return")


class _Inexact(BytesCommand):
    """Gives back what libcst cannot write."""

    def rewritten(self, _source: bytes) -> bytes:
        return b"try:\n    a\nexcept B :\n    c\n"


def test_a_result_that_libcst_cannot_write_is_skipped() -> None:
    command = _Inexact(CodemodContext(filename="not-there.py"))
    with pytest.raises(SkipFile, match="would not write the changed file"):
        command.transform_module(cst.parse_module("a\n"))
