"""A limit of memory ends what exceeds it with one sentence, and is no verdict where the project is not to blame."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from selfdebug.config import load
from selfdebug.model import PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, WarmServer, run_pytest
from selfdebug.repair import repair

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no such limit")
LIMIT = 400
SUBJECT = "def call(user):\n    return user.name\n"
TEST = "import subject\n\ndef test_none():\n    assert subject.call(None) == 'nobody'\n"
GREEDY = SUBJECT.replace("user.name", "bytearray(1_000_000_000) and 'nobody'").encode()


def project(root: Path, subject: str) -> Path:
    (root / "subject.py").write_text(subject)
    (root / "test_subject.py").write_text(TEST)
    (root / "pyproject.toml").write_text(f"[tool.selfdebug]\nmemory-limit = {LIMIT}\n")
    return root


def run(root: Path, megabytes: int | None, sources: Mapping[str, bytes] = MappingProxyType({})) -> PytestRun:
    return run_pytest(PytestRequest(Interpreter.find(sys.executable).limited(megabytes), root, sources=sources))


def test_only_what_exceeds_the_limit_meets_it(tmp_path: Path) -> None:
    root = project(tmp_path, SUBJECT)
    greedy = run(root, LIMIT, {"subject.py": GREEDY})
    assert greedy.out_of_memory
    assert [failure.exception.type for failure in greedy.failures] == ["MemoryError"]
    assert not run(root, LIMIT).out_of_memory
    assert not run(root, None, {"subject.py": GREEDY}).failures


def test_children_of_the_tests_have_the_limit_too(tmp_path: Path) -> None:
    child = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(1_000_000_000)'], check=True)\n"
    root = project(tmp_path, SUBJECT)
    (root / "test_subject.py").write_text(f"def test_child():\n    {child.replace(chr(10), chr(10) + '    ')}\n")
    assert [failure.exception.short_type for failure in run(root, LIMIT).failures] == ["CalledProcessError"]
    assert not run(root, None).failures


def test_a_fork_that_runs_out_of_memory_says_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, SUBJECT)
    interpreter = Interpreter.find(sys.executable).limited(LIMIT)
    with WarmServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        assert server.run({"subject.py": GREEDY}, 60) is None
        assert server.problem == "a test ran out of memory"


def test_a_run_whose_tests_need_more_ends_with_one_sentence(tmp_path: Path) -> None:
    root = project(tmp_path, GREEDY.decode().replace("'nobody'", "user.name"))
    done = repair(load(root, None, {}), None, lambda _: None)
    assert (done.exit_code, done.exit_reason) == (1, "out-of-memory")
    assert done.sentence.startswith("The tests need more than the 400 MB that memory-limit allows each process; ")
    assert (root / "subject.py").read_text() == GREEDY.decode().replace("'nobody'", "user.name")
