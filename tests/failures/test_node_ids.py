"""Names of tests in logs -> node ids that really run them here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from selfdebug.model import Failure, Frame, When
from selfdebug.stages.failures import grammar, node_ids_to_run, read_log


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(
        "import unittest\n\n\ndef test_plain():\n    assert 0\n\n\nclass CaseTest(unittest.TestCase):\n"
        "    def test_method(self):\n        assert 0\n\n\ndef decoy():\n    pass\n"
    )
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "tests.py").write_text("def test_x():\n    pass\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "node_id"),
    [
        ("tests/test_a.py::test_plain", "tests/test_a.py::test_plain"),
        ("tests/test_a.py", "tests/test_a.py"),
        ("test_method (tests.test_a.CaseTest.test_method)", "tests/test_a.py::CaseTest::test_method"),
        ("test_method (tests.test_a.CaseTest)", "tests/test_a.py::CaseTest::test_method"),
        ("test_method (tests.test_a.CaseTest) [one] (i=1)", "tests/test_a.py::CaseTest::test_method"),
        ("setUpClass (tests.test_a.CaseTest)", "tests/test_a.py::CaseTest"),
        ("setUpModule (tests.test_a)", "tests/test_a.py"),
        ("tests.test_a.test_plain", "tests/test_a.py::test_plain"),
        ("tests.test_a.CaseTest.test_method", "tests/test_a.py::CaseTest::test_method"),
        ("test_x (shop.tests)", "src/shop/tests.py::test_x"),
        ("test_a (unittest.loader._FailedTest)", "tests/test_a.py"),
        ("test_a (unittest.loader._FailedTest.test_a)", "tests/test_a.py"),
        ("test_method (test_a.CaseTest.test_method)", "tests/test_a.py::CaseTest::test_method"),
    ],
)
def test_a_runners_name_becomes_a_node_id(project: Path, name: str, node_id: str) -> None:
    assert node_ids_to_run([_failure(name)], project) == ((node_id,), ())


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("src/shop/names.py::shop.names.load", "--doctest-modules"),
        ("src/shop/names.py::shop.names", "--doctest-modules"),
        ("notes.txt::notes.txt", "--doctest-glob=notes.txt"),
    ],
)
def test_a_doctest_is_named_with_the_option_that_collects_it(project: Path, name: str, option: str) -> None:
    (project / name.partition("::")[0]).write_text('""">>> 1\n2\n"""\n')
    assert node_ids_to_run([_failure(name)], project) == (
        (name,),
        (f"{name} is a doctest: pytest runs it with --pytest-args={option}.",),
    )


def test_what_cannot_be_mapped_is_said_once(project: Path) -> None:
    unknown = _failure("tests/test_gone.py::test_b")
    node_ids, sentences = node_ids_to_run([unknown, unknown, _failure(None)], project)
    assert node_ids == ()
    assert len(sentences) == 2
    assert "tests/test_gone.py::test_b" in sentences[0]
    assert "does not say which test" in sentences[1]


def test_a_nameless_failure_is_run_by_the_test_in_its_frames(project: Path) -> None:
    frame = Frame("tests/test_a.py", 10, "test_method", file="tests/test_a.py", is_test=True)
    assert node_ids_to_run([_failure(None, frame)], project)[0] == ("tests/test_a.py::CaseTest::test_method",)


def test_a_node_id_of_another_folder_follows_its_frame(project: Path) -> None:
    frame = Frame("test_a.py", 5, "test_plain", file="tests/test_a.py", is_test=True)
    assert node_ids_to_run([_failure("test_a.py::test_plain", frame)], project)[0] == ("tests/test_a.py::test_plain",)


def test_a_name_never_leads_out_of_the_root(project: Path) -> None:
    (project.parent / "evil.py").write_text("")
    assert node_ids_to_run([_failure("../evil.py::test_x")], project)[0] == ()


@pytest.mark.parametrize("runner", [["-m", "unittest", "tests.test_a"], ["-m", "pytest", "-q", "tests/test_a.py"]])
def test_the_node_ids_of_a_real_log_select_the_failing_tests(project: Path, runner: list[str]) -> None:
    (project / "tests" / "__init__.py").touch()
    done = subprocess.run([sys.executable, *runner], cwd=project, capture_output=True, check=False)
    log = read_log(done.stdout + done.stderr, project)
    node_ids, sentences = node_ids_to_run(log.failures, project)
    assert sentences == ()
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *node_ids],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stdout
    assert "tests/test_a.py::CaseTest::test_method" in listed.stdout


def _failure(name: str | None, *frames: Frame) -> Failure:
    return Failure(name, When.CALL, grammar.exception_of("ValueError", "no"), frames)
