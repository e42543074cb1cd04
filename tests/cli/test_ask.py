"""`run --ask` in a real pseudo-terminal: what is shown, each answer, Ctrl-C, a narrow window; without a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from invoked import command, process

from selfdebug.cli.ask import understood
from selfdebug.repair.choice import Skip, Stop, Take

PROMPT = b"Keep which?"
SHOP = """\
def price(item):
    return item.price * 2


def names(users):
    found = []
    for user in users:
        found.append(user.name.title())
    return found
"""
TESTS = """\
from types import SimpleNamespace as N
from shop import names, price

def test_no_price():
    assert not price(None)

def test_price():
    assert price(N(price=2)) == 4

def test_names():
    assert names([N(name="bob"), None]) == ["Bob"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return tmp_path


@dataclass
class Terminal:
    """A process whose standard input and standard error are a terminal of its own, and what that has shown."""

    child: subprocess.Popen[bytes]
    controller: int
    shown: bytes = b""

    def wait_for(self, text: bytes, count: int = 1, seconds: float = 120.0) -> None:
        """Read until `text` has been shown `count` times."""
        until = time.monotonic() + seconds
        while self.shown.count(text) < count:
            assert time.monotonic() < until, self.shown.decode()
            assert self._read(), self.shown.decode()

    def type(self, text: bytes) -> None:
        """Press keys."""
        os.write(self.controller, text)

    def end(self) -> tuple[int, str]:
        """Wait for the end; the exit code and the report, which may be longer than a pipe holds."""
        with ThreadPoolExecutor(1) as beside:
            report = beside.submit(self.child.communicate)
            while self._read():
                pass
            written, _ = report.result(timeout=60)
        os.close(self.controller)
        return self.child.returncode, written.decode()

    @property
    def text(self) -> str:
        """What was shown, without escapes and without the lines of progress that were written over."""
        return re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"\r\x1b\[2K[^\r\n]*(?=\r\x1b)", "", self.shown.decode()))

    def _read(self) -> bool:
        if select.select([self.controller], [], [], 1.0)[0]:
            try:
                data = os.read(self.controller, 65_536)
            except OSError:  # the other side is closed
                return False
            self.shown += data
            return bool(data)
        return self.child.poll() is None


def ask(root: Path, *options: str, columns: int = 100) -> Terminal:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(
        command("run", "--ask", "--root", str(root), *options),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        preexec_fn=take_terminal,  # noqa: PLW1509 - for Ctrl-C it has to be the controlling terminal; no threads run here
        env={**os.environ, "TERM": "xterm", "COLUMNS": "", "NO_COLOR": ""},
    )
    os.close(terminal)
    return Terminal(child, controller)


def test_a_person_takes_one_of_several_and_what_was_taken_stays(root: Path) -> None:
    terminal = ask(root, columns=34)
    terminal.wait_for(PROMPT)
    terminal.type(b"no idea\n")
    terminal.wait_for(PROMPT, 2)
    first = terminal.text
    terminal.type(b"2\n")
    terminal.wait_for(PROMPT, 3)
    terminal.type(b"\x04")
    code, report = terminal.end()
    assert code == 1, report
    # The evidence of each patch: the diff, the difference, how often the guard acts, what the tests hold.
    assert first.count("FAILED test_shop.py::test_no_price") == 1
    assert "[1] (comes first)" in first and "[2] " in first
    assert "  -    return item.price * 2" in first
    words = " ".join(first.split())
    assert "The guard acted once in 1 of the 2 tests that come to it: test_shop.py::test_no_price (1)." in words
    assert "with [1] and" in words
    assert "Tests pin it:" in words or "No test of test_shop.py" in words
    assert "Answer with a number" in words
    long = [line for line in first.replace("\r", "").split("\n") if len(line) > 34]
    assert not [line for line in long if not re.match(r"  [ +-]|FAILED|Keep which", line)]
    _, second = re.split(r"^\[2\]", first.replace("\r", ""), maxsplit=1, flags=re.MULTILINE)
    shown = re.split(r"^\[3\]|^Answer", second, maxsplit=1, flags=re.MULTILINE)[0]
    added = [line[3:] for line in shown.splitlines() if line.startswith("  +")]
    written = (root / "shop.py").read_text()
    assert added
    assert all(line in written.splitlines() for line in added)
    assert "found.append(user.name.title())\n    return found" in written  # the second failure was left
    assert "The run was stopped before it was repaired." in report


def test_all_that_follow_can_be_taken_at_once(root: Path) -> None:
    terminal = ask(root, "--json")
    terminal.wait_for(PROMPT)
    terminal.type(b"a\n")
    code, report = terminal.end()
    assert code == 0, report
    assert terminal.shown.count(PROMPT) == 1
    assert '"final_status": "pass"' in report
    assert report.startswith("{")


def test_skipping_all_leaves_everything_as_it_was(root: Path) -> None:
    terminal = ask(root)
    for count in (1, 2):
        terminal.wait_for(PROMPT, count)
        terminal.type(b"s\n")
    code, report = terminal.end()
    assert (code, (root / "shop.py").read_text()) == (1, SHOP)
    assert "No patch was taken. It was skipped." in report


def test_ctrl_c_rolls_back(root: Path) -> None:
    terminal = ask(root)
    terminal.wait_for(PROMPT)
    terminal.type(b"1\n")
    terminal.wait_for(PROMPT, 2)
    assert (root / "shop.py").read_text() != SHOP
    terminal.type(b"\x03")
    code, report = terminal.end()
    assert (code, (root / "shop.py").read_text()) == (130, SHOP), report


def test_without_a_terminal_nobody_can_be_asked(root: Path) -> None:
    done = process("run", "--ask", "--root", str(root), stdin=b"1\n")
    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.startswith(b"selfdebug: --ask asks on a terminal, but standard input is none")
    assert (root / "shop.py").read_text() == SHOP


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("1\n", Take(0)),
        (" 3 \n", Take(2)),
        ("4\n", None),
        ("0\n", None),
        ("-1\n", None),
        ("\u0663\n", None),
        ("\n", None),
        ("A\n", Take(0, for_all=True)),
        ("skip\n", Skip()),
        ("q\n", Stop()),
        ("yes\n", None),
    ],
)
def test_an_answer_is_understood_or_asked_for_again(said: str, answer: object) -> None:
    assert understood(said, 3) == answer
