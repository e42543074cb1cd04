"""The warm server runs a choice of what it has collected, and records probes where it is asked to."""

from __future__ import annotations

import sys
from pathlib import Path

from selfdebug.model import Outcome
from selfdebug.pytest_process import Interpreter, PytestRequest, WarmServer

SUBJECT = "def name(user):\n    return user.title()\n"
TESTS = """
import pytest
from subject import name

class TestName:
    @pytest.mark.parametrize("given", ["a", "b[c::d]"])
    def test_some(self, given):
        assert name(given)

    def test_none(self):
        assert name(None) == ""

def test_other():
    assert name("c") == "C"
"""
GUARDED = b"def name(user):\n    return __selfdebug_probe__(7, user.title() if user is not None else '')\n"


def test_other_tests_of_the_collected_files_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/pytest.ini").write_text("[pytest]\npythonpath = ..\n")
    (tmp_path / "subject.py").write_text(SUBJECT)
    (tmp_path / "inner/test_name.py").write_text(TESTS)
    none, file = "inner/test_name.py::TestName::test_none", "inner/test_name.py"
    chosen = {
        (file + "::TestName::test_some",): ["test_some[a]", "test_some[b[c::d]]"],
        (file + "::TestName::test_some[b[c::d]]", file + "::test_other"): ["test_some[b[c::d]]", "test_other"],
        (file + "::TestName",): ["test_some[a]", "test_some[b[c::d]]", "test_none"],
        ("inner/",): ["test_some[a]", "test_some[b[c::d]]", "test_none", "test_other"],
        (".",): ["test_some[a]", "test_some[b[c::d]]", "test_none", "test_other"],
        (file + "::test_oth",): [],
    }
    interpreter = Interpreter.find(sys.executable)
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=(none,)), collect=(file,)) as server:
        sources = {"subject.py": GUARDED}
        done = server.run_some([none], sources, 60, probes=True)
        assert done is not None, server.problem
        assert dict(done.outcomes) == {none: Outcome.PASSED}
        assert [(hit.id, hit.node_id, hit.value.repr) for hit in done.hits] == [(7, none, "''")]
        for asked, names in chosen.items():
            done = server.run_some(asked, sources, 60, probes=True)
            assert done is not None, server.problem
            assert [node.partition("::")[2].removeprefix("TestName::") for node, _ in done.outcomes] == names
        assert server.control is not None
        assert dict(server.control.outcomes) == {none: Outcome.FAILED}
