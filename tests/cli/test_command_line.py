"""The command line as a process: help, exits, documents, pipes, locales; each command is a real process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest import mock

import jsonschema
import pytest

from selfdebug.cli import invoke
from selfdebug.cli.app import COMMANDS
from selfdebug.cli.options import read_log
from selfdebug.errors import ExitCode, InputError
from selfdebug.reports.schema import schema
from selfdebug.version import __version__
from selfdebug.workspace import Workspace

HEAVY = {"libcst", "pygit2", "pytest", "rich", "selfdebug.model", "selfdebug.workspace", "selfdebug.repair"}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


def selfdebug(
    *arguments: str, cwd: Path | None = None, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> Done:
    """Call the command line in this process, with streams of its own."""
    written, said = BytesIO(), BytesIO()
    out, err = TextIOWrapper(written, encoding="utf-8"), TextIOWrapper(said, encoding="utf-8")
    with (
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, environ or {}),
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = invoke(list(arguments))
        for stream in (out, err):
            stream.flush()
    return Done(code, written.getvalue(), said.getvalue())


def process(*arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Done:
    """Run the command line as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "selfdebug", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **(environ or {})},
    )
    return Done(done.returncode, done.stdout, done.stderr)


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
        (["schema", "extra"], "Got unexpected extra argument"),
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


# ---------------------------------------------------------------- the commands that change nothing


def test_the_schema_is_printed() -> None:
    done = selfdebug("schema")
    assert (done.returncode, done.stdout) == (0, schema())


LOG = b"""\
Traceback (most recent call last):
  File "/ci/shop/cart.py", line 3, in total
    return price.amount
AttributeError: 'NoneType' object has no attribute 'amount'
"""


def test_failures_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("\n\nprice.amount\n")
    log = tmp_path / "ci.log"
    log.write_bytes(LOG)
    done = selfdebug("failures", str(log), "--root", str(tmp_path), "--log-root", "/ci/shop")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "FAILED a test without a name",
        "  AttributeError: 'NoneType' object has no attribute 'amount'",
        "  deepest in the project: cart.py:3 in total",
        "",
        "1 failure found.",
    ]
    piped = selfdebug("failures", "-", "--root", str(tmp_path), "--log-root", "/ci/shop", "--json", stdin=LOG)
    (failure,) = json.loads(piped.stdout)["failures"]
    assert failure["deepest"] == {"file": "cart.py", "line": 3, "function": "total"}


def test_failures_colours_only_on_demand(tmp_path: Path) -> None:
    log = tmp_path / "ci.log"
    log.write_bytes(LOG)
    assert b"\x1b[31;1mFAILED" in selfdebug("failures", str(log), "--color", "always").stdout
    assert b"\x1b[31;1mFAILED" in selfdebug("failures", str(log), environ={"FORCE_COLOR": "1"}).stdout
    assert b"\x1b" not in selfdebug("failures", str(log)).stdout


def test_doctor_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    done = selfdebug("doctor", "--json", "--python", sys.executable, cwd=tmp_path)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0
    assert sys.executable in checks["interpreter"]["sentence"]
    assert checks["git"]["status"] == "warn"
    assert [file.name for file in tmp_path.iterdir()] == ["pyproject.toml"]


def test_doctor_fails_where_a_run_would(tmp_path: Path) -> None:
    done = selfdebug("doctor", "--python", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 1
    assert b"fail  interpreter: there is no Python interpreter in the folder" in done.stdout
    (tmp_path / "pyproject.toml").write_text("[tool.selfdebug]\nspeed = 1\n")
    done = selfdebug("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert b'fail  settings: Unknown key "speed"' in done.stdout


def test_doctor_in_a_repository_with_a_run_that_was_interrupted(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.py").write_bytes(b"x\n")
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from selfdebug.workspace import Workspace\n"
        "workspace = Workspace.open(Path('.'))\n"
        "with workspace.lock('run-1'):\n"
        "    workspace.snapshot(['a.py'], 'run-1')\n"
        "    workspace.write('a.py', b'y\\n')\n"
        "    os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert (tmp_path / "a.py").read_bytes() == b"y\n"
    done = selfdebug("doctor", cwd=tmp_path)
    assert b"warn  journal: run run-1 is going on or was interrupted" in done.stdout
    assert b"ok    git:" in done.stdout
    done = selfdebug("rollback", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "a.py").read_bytes() == b"x\n"


def test_doctor_names_the_run_that_holds_the_project(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)
    with workspace.lock("busy-run"):
        done = selfdebug("doctor", "--root", str(tmp_path))
    assert b"warn  lock: Another selfdebug run (busy-run)" in done.stdout


# ---------------------------------------------------------------- runs, rollback


def kept_run(root: Path) -> str:
    """A run that changed a.py from x to y, kept."""
    run_id = f"run-{uuid.uuid4().hex[:8]}"
    workspace = Workspace.open(root)
    with workspace.lock(run_id):
        workspace.snapshot(["a.py"], run_id)
        workspace.write("a.py", b"y\n")
        workspace.keep("one guard")
    return run_id


def test_a_kept_run_is_listed_and_undone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    assert b"No run" in selfdebug("runs", "--root", str(tmp_path)).stdout
    run_id = kept_run(tmp_path)
    done = selfdebug("runs", "--root", str(tmp_path))
    assert done.stdout.startswith(run_id.encode())
    assert done.stdout.endswith(b"  kept         a.py\n")
    (listed,) = json.loads(selfdebug("runs", "--json", "--root", str(tmp_path)).stdout)["runs"]
    assert (listed["run_id"], listed["status"], listed["files"]) == (run_id, "kept", ["a.py"])
    done = selfdebug("rollback", run_id, "--root", str(tmp_path))
    assert (done.returncode, (tmp_path / "a.py").read_bytes()) == (0, b"x\n")
    assert selfdebug("rollback", run_id, "--root", str(tmp_path)).returncode == 64


def test_what_a_run_changed_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\r\n")
    assert selfdebug("diff", "--run", "--root", str(tmp_path)).returncode == 64
    first = kept_run(tmp_path)
    shown = selfdebug("diff", "--run", "--root", str(tmp_path))
    assert (shown.returncode, shown.stdout.split(b"@@\n")[1]) == (0, b"-x\r\n+y\n")
    assert first.encode() in shown.stderr
    assert selfdebug("diff", "--run", first, "--root", str(tmp_path)).stdout == shown.stdout
    missing = selfdebug("diff", "--run", "run-0", "--root", str(tmp_path))
    assert (missing.returncode, missing.stderr) == (64, b"selfdebug: There is no kept run run-0 in this project.\n")
    (copy,) = (tmp_path / ".selfdebug" / "runs" / first).glob("*.bak")
    copy.write_bytes(b"z\n")
    damaged = selfdebug("diff", "--run", "--root", str(tmp_path))
    assert (damaged.returncode, damaged.stdout) == (3, b"")
    assert b"The saved copy of a.py is gone or damaged." in damaged.stderr


def test_a_file_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    kept_run(tmp_path)
    (tmp_path / "a.py").write_bytes(b"mine\n")
    done = selfdebug("rollback", "--json", "--root", str(tmp_path))
    assert done.returncode != 0
    assert "changed since" in json.loads(done.stdout)["message"]
    assert (tmp_path / "a.py").read_bytes() == b"mine\n"


# ---------------------------------------------------------------- init


def test_init_writes_what_libcst_reads(tmp_path: Path) -> None:
    done = selfdebug("init", "--root", str(tmp_path))
    assert done.returncode == 0
    from libcst.tool import _find_and_load_config

    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        config = _find_and_load_config("libcst.tool")
    finally:
        os.chdir(here)
    assert "codemods" in config["modules"]
    source = b"a = 1  \r\n\tb\n\n"
    assert subprocess.run(config["formatter"], input=source, capture_output=True, check=True).stdout == source


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("modules:\n- codemods\n", "it lists the module codemods already"),
        ('modules: ["libcst.codemod.commands", "codemods"]\n', "it lists the module codemods already"),
        ("modules:\n- other.codemods\n", "add codemods to its list"),
        ("# codemods\n", "add codemods to its list"),
        (b"\xff", "add codemods to its list"),
    ],
)
def test_init_keeps_an_existing_file(tmp_path: Path, text: str | bytes, advice: str) -> None:
    file = tmp_path / ".libcst.codemod.yaml"
    content = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(content)
    done = selfdebug("init", "--root", str(tmp_path))
    assert (done.returncode, file.read_bytes()) == (0, content)
    assert advice in done.stdout.decode()
    assert selfdebug("init", "--force", "--root", str(tmp_path)).returncode == 0
    assert b"codemods" in file.read_bytes() != content


def test_init_cannot_write(tmp_path: Path) -> None:
    (tmp_path / ".libcst.codemod.yaml").mkdir()
    done = selfdebug("init", "--force", "--root", str(tmp_path))
    assert done.returncode == 64
    assert b"Cannot write" in done.stderr
