"""Forks may run tests of more files than the failing one, unless one of those is no good for forks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from selfdebug.config import Settings
from selfdebug.pytest_process import Interpreter, run_pytest
from selfdebug.repair.screening import Screening

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
    group = run_pytest(interpreter, tmp_path, node_ids=["test_subject.py"]).failures
    screening = Screening(Settings(root=tmp_path), interpreter, also=("test_other.py",))
    try:
        node_ids = ["test_subject.py::test_name"]
        run = screening.run(group, node_ids, {}, {"subject.py": FIXED}, "one")
        assert run is not None
        assert run.passed == {"test_subject.py::test_name"}
        assert screening.also == also
        other = screening.run_some(["test_other.py::test_other"], {"subject.py": FIXED}, "two")
        assert (other is not None and other.passed == {"test_other.py::test_other"}) is bool(also)
        screening.also = ("test_other.py",)
        screening.prepare(group, node_ids, {})
        assert screening.also == also
    finally:
        screening.close()
