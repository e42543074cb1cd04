"""The command line as a process: help, exits, documents, pipes, locales."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from invoked import process, selfdebug

from selfdebug.cli.app import COMMANDS
from selfdebug.cli.options import read_log
from selfdebug.errors import ExitCode, InputError
from selfdebug.reports.schema import schema
from selfdebug.version import __version__

HEAVY = {"libcst", "pygit2", "pytest", "rich", "selfdebug.model", "selfdebug.workspace", "selfdebug.repair"}


# ---------------------------------------------------------------- start and help


def test_help_and_version_are_quick() -> None:
    script = (
        "import sys\n"
        "from selfdebug.cli import invoke\n"
        "assert invoke(['--help']) == 0\n"
        "assert invoke(['--version']) == 0\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == [f"selfdebug {__version__}", "[]"]


def test_the_imports_of_help_stay_below_150_milliseconds() -> None:
    script = "import time; start = time.process_time(); import selfdebug.cli; print(time.process_time() - start)"
    times = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < 0.15


def test_the_first_run_of_the_tests_does_not_wait_for_what_comes_after_it() -> None:
    late = {"libcst", "pygit2", "selfdebug.repair.loop", "selfdebug.stages.propose", "selfdebug.stages.origin"}
    script = f"import sys, selfdebug.cli.run; print(sorted(set(sys.modules) & {late!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_the_overview_names_every_command_and_exit_code(word: str) -> None:
    done = selfdebug(word)
    assert done.returncode == 0
    for name, (_, _, summary) in COMMANDS.items():
        assert f"{name} ".encode() in done.stdout
        assert summary.encode() in done.stdout
    codes = [line.split()[0] for line in done.stdout.split(b"Exit codes of run:\n")[1].splitlines()]
    assert codes == [str(int(code)).encode() for code in ExitCode]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    done = selfdebug(name, "-h")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"Usage: selfdebug {name} ".encode())
    assert b"-h, --help" in done.stdout


@pytest.mark.parametrize("name", ["runs", "trace", "mcp", "skill"])
def test_no_sentence_of_a_command_is_cut_off(name: str) -> None:
    listed = selfdebug(name, "--help").stdout.decode().partition("Commands:\n")[2]
    assert listed
    assert not [line for line in listed.splitlines() if line.endswith("...")]


def test_the_version() -> None:
    done = process("--version")
    assert done.stdout == f"selfdebug {__version__}\n".encode()


def test_no_command_is_help_and_a_usage_error() -> None:
    done = process()
    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"Usage: selfdebug")


def test_click_completes_the_commands() -> None:
    done = process(environ={"_SELFDEBUG_COMPLETE": "bash_complete", "COMP_WORDS": "selfdebug ro", "COMP_CWORD": "1"})
    assert done.stdout == b"plain,rollback\n"


# ---------------------------------------------------------------- usage errors


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["frobnicate"], "No such command 'frobnicate'."),
        (["run", "--fromat", "json"], "No such option '--fromat'."),
        (["run", "--max-attempts", "0"], "Invalid value for '--max-attempts'"),
        (["run", "--timeout", "0"], "Invalid value for '--timeout'"),
        (["run", "--format", "pdf"], "Invalid value for '--format'"),
        (["run", "--root", "nowhere"], "The project root nowhere does not exist."),
        (["run", "--pytest-args", "'"], "--pytest-args cannot be split into arguments: No closing quotation."),
        (["run", "no.log"], "Cannot read the log no.log: No such file or directory."),
        (["run", "."], "Cannot read the log .: Is a directory."),
        (["batch", os.devnull], "is empty: give a file that holds the output of a failing test run."),
        (["schema", "run", "extra"], "Got unexpected extra argument (extra). Try 'selfdebug schema --help'."),
        (["mcp", "install"], "'--client'. Choose from: claude, codex, cursor, vscode. Try 'selfdebug mcp install -"),
    ],
)
def test_wrong_usage_is_one_sentence_and_64(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = selfdebug(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"selfdebug: ")
    assert sentence in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_log_whose_name_no_system_has() -> None:
    with pytest.raises(InputError, match="embedded null byte"):
        read_log("a\0b")


def test_two_formats_contradict_each_other(tmp_path: Path) -> None:
    done = selfdebug("run", "--format", "sarif", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (64, 64)
    assert done.stderr == b"selfdebug: --json and --format sarif contradict each other.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--json", "--fromat"],
        ["run", "--format", "json", "no.log"],
        ["run", "--format=json", "--root", "nowhere"],
    ],
)
def test_an_error_of_run_under_json_is_a_whole_report(tmp_path: Path, arguments: list[str]) -> None:
    done = selfdebug(*arguments, cwd=tmp_path)
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(schema()))
    assert (done.returncode, document["exit_code"], document["final_status"]) == (64, 64, "fail")
    assert document["message"] in done.stderr.decode()


def test_an_error_of_another_command_under_json_is_a_document(tmp_path: Path) -> None:
    done = selfdebug("rollback", "--json", cwd=tmp_path)
    assert done.returncode == 64
    assert json.loads(done.stdout) == {
        "exit_code": 64,
        "exit_reason": "usage",
        "message": "There is no kept run to undo in this project.",
    }


def test_a_log_that_is_called_json_asks_for_nothing(tmp_path: Path) -> None:
    done = selfdebug("run", "--", "--json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, b"")


@pytest.mark.parametrize("format_name", ["sarif", "rdjson"])
def test_an_error_under_another_machine_format_is_a_document_too(tmp_path: Path, format_name: str) -> None:
    done = selfdebug("run", "--format", format_name, "no.log", cwd=tmp_path)
    assert done.returncode == 64
    assert isinstance(json.loads(done.stdout), dict)


def test_hostile_arguments_reach_the_terminal_as_text(tmp_path: Path) -> None:
    done = selfdebug("run", "\x1b]0;owned\x07.log", cwd=tmp_path)
    assert done.returncode == 64
    assert b"\x1b" not in done.stderr
    assert b"\\x1b]0;owned\\x07.log" in done.stderr


# ---------------------------------------------------------------- unexpected ends


BROKEN = """\
import sys
import selfdebug.reports.schema
import selfdebug.cli.setup

def broken():
    raise {error}

selfdebug.cli.setup.shipped_schema = broken
from selfdebug.cli import main
main(["schema"])
"""


def test_an_unexpected_exception_is_one_sentence_and_3() -> None:
    script = BROKEN.format(error="ZeroDivisionError('by zero')")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert "ZeroDivisionError: by zero" in done.stderr
    assert "report it at https://" in done.stderr
    environ = {**os.environ, "SELFDEBUG_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 3
    assert "Traceback (most recent call last)" in done.stderr


def test_a_report_that_cannot_be_written_hides_nothing() -> None:
    script = (
        "import selfdebug.reports\n"
        "def broken(*_):\n"
        "    raise ValueError('no report')\n"
        "selfdebug.reports.render = broken\n"
        "from selfdebug.cli import main\n"
        "main(['run', '--json', 'no.log'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == (
        "selfdebug: Cannot read the log no.log: No such file or directory.\n"
        "selfdebug: No json report could be written: no report\n"
    )


def test_an_interrupt_is_130() -> None:
    script = BROKEN.format(error="KeyboardInterrupt")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nselfdebug: Interrupted.\n")


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m selfdebug schema | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
@pytest.mark.parametrize("command", ["failures log", "runs", "doctor", "run --dry-run --color always"])
def test_a_stream_that_the_caller_closed_is_no_error(command: str, closed: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("nothing fails here\n")
    (tmp_path / "setup.cfg").touch()
    shell = f"{sys.executable} -m selfdebug {command} {closed}"
    ended = subprocess.run(["sh", "-c", shell], check=False, cwd=tmp_path, stderr=subprocess.PIPE)
    assert ended.returncode != 3, ended.stderr
    assert b"Internal error" not in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_no_file_gets_the_descriptor_of_a_closed_stream(tmp_path: Path) -> None:
    code = (
        "import os, sys; from selfdebug.cli import output; output.replace_closed();"
        "print('lost'); sys.stdout.flush(); file = open('log', 'w');"
        "os.system('echo printed by a child'); assert file.fileno() > 2"
    )
    subprocess.run(["sh", "-c", f'{sys.executable} -c "{code}" <&- >&- 2>&-'], check=True, cwd=tmp_path)
    assert (tmp_path / "log").read_bytes() == b""


def test_closed_streams_are_quiet() -> None:
    command = f"{sys.executable} -m selfdebug schema >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "selfdebug", "schema"], stdout=full, stderr=-1, check=False)
    assert done.returncode == 3
    assert done.stderr == b"selfdebug: Cannot write to standard output: No space left on device.\n"


def test_a_poor_locale_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    environ = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("failures", stdin="E   ValueError: ümläut\n\na.py:1: ValueError\n".encode(), environ=environ)
    assert done.returncode == 0
    done.stdout.decode("ascii")


def test_an_interruption_while_the_program_is_loaded_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    program = [sys.executable, "-m", "selfdebug", "--version"]
    done = subprocess.run(program, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
