"""The commands beside run: schema, failures, doctor, runs, rollback, diff --run, init."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from invoked import selfdebug

from selfdebug.reports.schema import schema
from selfdebug.workspace import Workspace

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


CHAINED = b"""\
============================= FAILURES =============================
  + Exception Group Traceback (most recent call last):
  |   File "/ci/shop/app.py", line 9, in serve
  |     raise ExceptionGroup("two", [a, b])
  | ExceptionGroup: two (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/ci/shop/cart.py", line 3, in total
    |     return price.amount
    | AttributeError: nope
    +------------------------------------
"""
CAUSED = b"""\
Traceback (most recent call last):
  File "/ci/shop/cart.py", line 3, in total
    return prices["x"]
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/ci/shop/tests/test_cart.py", line 7, in test_total
    total()
  File "/ci/shop/cart.py", line 5, in total
    raise RuntimeError("no price")
RuntimeError: no price
"""


def test_failures_tells_causes_and_groups() -> None:
    caused = selfdebug("failures", "--log-root", "/ci/shop", stdin=CAUSED).stdout.decode()
    assert "  RuntimeError: no price\n" in caused
    assert "  caused by KeyError at cart.py:3 in total\n" in caused
    grouped = selfdebug("failures", "--log-root", "/ci/shop", stdin=CHAINED).stdout.decode()
    assert "  holds AttributeError at cart.py:3 in total\n" in grouped


def test_failures_at_a_terminal_asks_for_a_log() -> None:
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "selfdebug", "failures"], stdin=slave, capture_output=True, check=False
    )
    os.close(master)
    os.close(slave)
    assert (done.returncode, done.stdout) == (64, b"")
    assert b"Give the LOG to read" in done.stderr


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


def interrupted_run(root: Path) -> None:
    """A run that changed a.py from x to y and was then killed."""
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
    subprocess.run([sys.executable, "-c", script], cwd=root, check=False)


def test_doctor_in_a_repository_with_a_run_that_was_interrupted(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.py").write_bytes(b"x\n")
    interrupted_run(tmp_path)
    assert (tmp_path / "a.py").read_bytes() == b"y\n"
    done = selfdebug("doctor", cwd=tmp_path)
    assert b"warn  journal: run run-1 is going on or was interrupted" in done.stdout
    assert b"ok    git:" in done.stdout
    done = selfdebug("rollback", "run-0", cwd=tmp_path)  # finishes the interrupted one first
    assert (done.returncode, (tmp_path / "a.py").read_bytes()) == (64, b"x\n")
    assert b"Run run-1 had been interrupted" in done.stderr


@pytest.mark.parametrize("command", ["run", "probe", "why", "ci"])
def test_what_was_put_back_is_said_beside_an_error(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    interrupted_run(tmp_path)
    done = selfdebug(command, "-", "--root", str(tmp_path), stdin=b"")
    assert (tmp_path / "a.py").read_bytes() == b"x\n"
    assert b"Run run-1 had been interrupted" in done.stderr + done.stdout
    assert done.returncode != 0


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


def test_an_interrupted_run_is_rolled_back(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    interrupted_run(tmp_path)
    done = selfdebug("rollback", "--json", "--root", str(tmp_path))
    assert (done.returncode, (tmp_path / "a.py").read_bytes()) == (0, b"x\n")
    assert json.loads(done.stdout)["restored"] == ["a.py"]


@pytest.mark.parametrize(
    "command",
    [
        ["runs"],
        ["runs", "recorded"],
        ["failures", "log.txt"],
        ["diff", "--run"],
        ["guard"],
        ["explain"],
        ["report", "--html", "page.html"],
        ["trace", "run_overview"],
        ["batch", "log.txt"],
        ["init"],
    ],
    ids=" ".join,
)
def test_whatever_comes_next_rolls_an_interrupted_run_back_before_it_looks(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    (tmp_path / "log.txt").write_bytes(b"1 passed")
    interrupted_run(tmp_path)
    done = selfdebug(*command, cwd=tmp_path)
    assert (tmp_path / "a.py").read_bytes() == b"x\n"
    assert b"Run run-1 had been interrupted: a.py put back." in done.stderr
    assert b"had been interrupted" not in selfdebug(*command, cwd=tmp_path).stderr


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
