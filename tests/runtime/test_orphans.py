"""A daemon that has left everything by which a run is known ends with that run, and nobody else's process does."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfdebug.config import Settings
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.pytest_process.orphans import adopting, nothing_is_left
from selfdebug.repair import repair

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let a process adopt")
SECONDS = str(600 + os.getpid())  # of no daemon of a test that runs elsewhere at the same time
DAEMON = f"""
import os, time

def test_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep", "{SECONDS}"], {{}})
        os._exit(0)
    time.sleep(0.3)
"""


def daemons() -> set[int]:
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and (folder / "cmdline").read_bytes() == f"sleep\0{SECONDS}\0".encode():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def adopts() -> int:
    value = ctypes.c_int()
    ctypes.CDLL(None).prctl(37, ctypes.byref(value), 0, 0, 0)
    return value.value


@pytest.mark.parametrize("ending", ["", "    os._exit(3)\n"])
def test_a_daemon_ends_with_its_run(tmp_path: Path, ending: str) -> None:
    (tmp_path / "test_daemon.py").write_text(DAEMON + ending)
    with adopting():
        run_pytest(PytestRequest(Interpreter.find(sys.executable), tmp_path))
        assert adopts() == 1
        assert not daemons()
    assert adopts() == 0


@pytest.mark.parametrize("way", ["subprocess.Popen", "lambda command: os.fork() or os.execvp('sleep', command)"])
def test_a_plain_child_ends_with_its_run(tmp_path: Path, way: str) -> None:
    code = f"import os, subprocess\n\ndef test_child():\n    ({way})(['sleep', '{SECONDS}'])\n"
    (tmp_path / "test_child.py").write_text(code)
    with adopting():
        run_pytest(PytestRequest(Interpreter.find(sys.executable), tmp_path))
        assert not daemons()
        assert nothing_is_left()
    assert not nothing_is_left(), "only who adopts can tell"


def test_a_repair_adopts(tmp_path: Path) -> None:
    (tmp_path / "test_daemon.py").write_text(DAEMON)
    assert repair(Settings(root=tmp_path), None, lambda _: None).exit_code == 0
    assert not daemons()
    assert adopts() == 0


def test_children_of_the_program_itself_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    with subprocess.Popen(["sleep", "60"]) as own, adopting():
        run_pytest(PytestRequest(Interpreter.find(sys.executable), tmp_path))
        assert own.poll() is None
        own.kill()


def test_only_the_last_of_several_runs_ends_what_was_adopted(tmp_path: Path) -> None:
    for name, seconds in (("short", 0), ("long", 4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_daemon.py").write_text(f"{DAEMON}    time.sleep({seconds})\n")
    interpreter = Interpreter.find(sys.executable)
    with adopting():
        longer = threading.Thread(target=run_pytest, args=(PytestRequest(interpreter, tmp_path / "long"),))
        longer.start()
        deadline = time.monotonic() + 60
        while not daemons() and time.monotonic() < deadline:
            time.sleep(0.05)
        (first,) = daemons()
        run_pytest(PytestRequest(interpreter, tmp_path / "short"))
        if longer.is_alive():
            assert first in daemons()
        longer.join()
        assert not daemons()


def test_a_thread_beside_the_main_one_does_not_adopt() -> None:
    seen: list[int] = []

    def body() -> None:
        with adopting():
            seen.append(adopts())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == [0]
