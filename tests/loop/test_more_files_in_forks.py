"""Forks may run tests of more files than the failing one, unless one of those is no good for forks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from selfdebug.config import Settings
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.repair.screening import Screened, Screening

SUBJECT = "def name(user):\n    return user.name.title()\n"
FIXED = b"def name(user):\n    return user.name.title() if user else ''\n"
TEST = "from subject import name\n\n\ndef test_name():\n    assert name(None) == ''\n"
OTHER = "from subject import name\n\n\ndef test_other():\n    assert name(type('U', (), {'name': 'u'})) == 'U'\n"
THREAD = "import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"


@pytest.mark.parametrize(("start", "also"), [("", ("test_other.py",)), (THREAD, ())], ids=["plain", "a thread"])
def test_other_files_are_collected_as_long_as_that_does_no_harm(
    tmp_path: Path, start: str, also: tuple[str, ...]
) -> None:
    for file, text in {"subject.py": SUBJECT, "test_subject.py": TEST, "test_other.py": start + OTHER}.items():
        (tmp_path / file).write_text(text)
    interpreter = Interpreter.find(Path(sys.executable))
    group = run_pytest(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))).failures
    screening = Screening(Settings(root=tmp_path), interpreter, also=("test_other.py",))
    try:
        node_ids = ["test_subject.py::test_name"]
        run = screening.run(Screened(group, node_ids, {}), {"subject.py": FIXED}, "one")
        assert run is not None
        assert run.passed == {"test_subject.py::test_name"}
        assert screening.also == also
        other = screening.run_some(["test_other.py::test_other"], {"subject.py": FIXED}, "two")
        assert (other is not None and other.passed == {"test_other.py::test_other"}) is bool(also)
        screening.also = ("test_other.py",)
        screening.prepare(Screened(group, node_ids, {}))
        assert screening.also == also
    finally:
        screening.close()


@pytest.mark.parametrize(("port", "is_told"), [(0, True), (45871, False)])
def test_a_port_that_another_run_would_want_as_well_is_not_left_to_forks(
    tmp_path: Path, port: int, is_told: bool
) -> None:
    bound = f"    with socket.socket() as server:\n        server.bind(('127.0.0.1', {port}))\n    assert name"
    (tmp_path / "subject.py").write_text(SUBJECT)
    (tmp_path / "test_subject.py").write_text("import socket\n" + TEST.replace("    assert name", bound))
    interpreter = Interpreter.find(Path(sys.executable))
    group = run_pytest(PytestRequest(interpreter, tmp_path)).failures
    screening = Screening(Settings(root=tmp_path), interpreter)
    try:
        run = screening.run(Screened(group, ["test_subject.py::test_name"], {}), {"subject.py": FIXED}, "one")
        assert (run is not None) is is_told
    finally:
        screening.close()
