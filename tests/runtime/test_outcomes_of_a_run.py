"""How tests of every kind end, as pytest counts them, with each interpreter that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.conftest import Run, every_path, write_files
from selfdebug.errors import UsageError
from selfdebug.model import Outcome, PytestRun, When
from selfdebug.pytest_process import Interpreter, PytestRequest, PytestStartError, run_pytest

ZOO = {
    "pytest.ini": "[pytest]\naddopts = --lf -x\n",
    "test_zoo.py": """
        import unittest
        import pytest

        def test_passes(): pass
        def test_fails(): assert 0
        @pytest.mark.skip
        def test_skipped(): assert 0
        @pytest.mark.xfail
        def test_expected(): assert 0
        @pytest.mark.xfail
        def test_unexpected(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        @pytest.mark.parametrize("text", ["a::b", "[", "ü", "x/y"])
        def test_names(text): pass

        @pytest.fixture
        def early(): raise LookupError("early")
        @pytest.fixture
        def late():
            yield
            raise LookupError("late")
        def test_setup(early): pass
        def test_teardown(late): pass
        def test_both(late): assert 0

        class TestOld(unittest.TestCase):
            def test_passes(self): pass
            def test_fails(self): self.assertEqual(1, 2)
            def test_raises(self): {}["missing"]
            @unittest.skip("not today")
            def test_skipped(self): pass
            @unittest.expectedFailure
            def test_expected(self): self.fail()
            def tearDown(self):
                if self._testMethodName == "test_torn": raise OSError("torn")
            def test_torn(self): pass
    """,
}


@pytest.fixture(scope="module")
def zoo(each_interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> PytestRun:
    root = write_files(tmp_path_factory.mktemp("zoo"), ZOO)
    return run_pytest(PytestRequest(each_interpreter, root, timeout=60), run_id="zoo-1")


def test_every_outcome_is_the_one_that_pytest_counts(zoo: PytestRun) -> None:
    passed, failed, error = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR
    expected = {
        "test_passes": passed,
        "test_fails": failed,
        "test_skipped": Outcome.SKIPPED,
        "test_expected": Outcome.XFAILED,
        "test_unexpected": Outcome.XPASSED,
        "test_strict": failed,
        "test_names[a::b]": passed,
        "test_names[[]": passed,
        "test_names[\\xfc]": passed,
        "test_names[x/y]": passed,
        "test_setup": error,
        "test_teardown": error,
        "test_both": failed,
        "TestOld::test_expected": Outcome.XFAILED,
        "TestOld::test_fails": failed,
        "TestOld::test_passes": passed,
        "TestOld::test_raises": failed,
        "TestOld::test_skipped": Outcome.SKIPPED,
        "TestOld::test_torn": failed,
    }
    assert dict(zoo.outcomes) == {f"test_zoo.py::{name}": outcome for name, outcome in expected.items()}
    assert zoo.ended
    assert zoo.exit_code == 1
    assert zoo.collected == len(expected)
    assert zoo.id == "zoo-1"


def test_a_run_says_which_versions_ran(zoo: PytestRun, each_interpreter: Interpreter) -> None:
    assert (zoo.python, zoo.pytest) == (each_interpreter.version, each_interpreter.pytest_version)
    assert zoo.command[0] == str(each_interpreter.path)


def test_each_failing_phase_is_told_once_with_its_exception(zoo: PytestRun) -> None:
    told = [(str(failure.node_id).removeprefix("test_zoo.py::"), failure.when) for failure in zoo.failures]
    types = {str(failure.node_id).rsplit("::", 1)[-1]: failure.exception.type for failure in zoo.failures}
    assert sorted(told) == sorted(
        [
            ("test_fails", When.CALL),
            ("test_strict", When.CALL),
            ("test_setup", When.SETUP),
            ("test_teardown", When.TEARDOWN),
            ("test_both", When.CALL),
            ("test_both", When.TEARDOWN),
            ("TestOld::test_fails", When.CALL),
            ("TestOld::test_raises", When.CALL),
            ("TestOld::test_torn", When.CALL),
        ]
    )
    assert types["test_setup"] == "LookupError"
    assert types["test_raises"] == "KeyError"
    assert types["test_torn"] == "OSError"
    strict = next(failure for failure in zoo.failures if str(failure.node_id).endswith("test_strict"))
    assert "XPASS" in strict.exception.message


def test_the_outermost_frame_is_the_projects_own(zoo: PytestRun) -> None:
    outermost = [failure.frames[0].file for failure in zoo.failures if failure.frames]
    assert outermost
    assert None not in outermost


def test_the_options_of_the_project_do_not_end_the_run_early(run: Run) -> None:
    files = {"setup.cfg": "[tool:pytest]\naddopts = -x --sw\n", "test_it.py": "def test_a(): 1/0\ndef test_b(): 1/0\n"}
    assert len(run(files).failures) == 2


def test_only_the_named_tests_run(run: Run) -> None:
    files = {"test_it.py": "def test_a(): pass\ndef test_b(): pass\n", "test_other.py": "1/0\n"}
    done = run(files, node_ids=("test_it.py::test_b",))
    assert dict(done.outcomes) == {"test_it.py::test_b": Outcome.PASSED}
    assert done.proposed == ("test_it.py::test_b",)


def test_more_node_ids_than_a_command_line_holds_fit(run: Run) -> None:
    file = "d" * 200 + "/test_it.py"
    text = "import pytest\n@pytest.mark.parametrize('n', range(500))\ndef test_it(n): pass\ndef test_other(): pass\n"
    node_ids = tuple(f"{file}::test_it[{n}]" for n in range(500))
    done = run({file: text}, node_ids=node_ids)
    assert done.passed == set(node_ids)
    assert done.proposed == node_ids
    assert len(" ".join(done.command)) < 10_000


@pytest.mark.parametrize("node_id", ["-ptest_evil", "--rootdir=/", "@options", "", "a\nb", "a\0b"])
def test_a_node_id_never_becomes_an_option(interpreter: Interpreter, tmp_path: Path, node_id: str) -> None:
    with pytest.raises(UsageError, match="not the node id of a test"):
        run_pytest(PytestRequest(interpreter, tmp_path, node_ids=(node_id,)))


def test_no_tests_and_unknown_tests_are_told_by_the_exit_code(run: Run) -> None:
    nothing = run({"module.py": "x = 1\n"})
    assert (nothing.exit_code, nothing.ended, nothing.outcomes, nothing.collected) == (5, True, (), 0)
    unknown = run({"test_it.py": "def test_a(): pass\n"}, node_ids=("test_it.py::test_zzz",))
    assert (unknown.exit_code, unknown.outcomes) == (4, ())


def test_node_ids_are_relative_to_the_root_wherever_pytest_has_its_own(run: Run) -> None:
    files = {"app/pytest.ini": "[pytest]\n", "app/tests/test_it.py": "def test_a(): 1/0\n"}
    done = run(files, node_ids=("app/tests/test_it.py::test_a",))
    assert [failure.node_id for failure in done.failures] == ["app/tests/test_it.py::test_a"]
    again = run(files, node_ids=(str(done.failures[0].node_id),))
    assert again.failed == done.failed


def test_a_pytest_root_above_the_project_is_no_problem(tmp_path: Path, interpreter: Interpreter) -> None:
    write_files(tmp_path, {"pytest.ini": "[pytest]\n", "app/test_it.py": "def test_a(): 1/0\n"})
    done = run_pytest(PytestRequest(interpreter, tmp_path / "app"))
    assert done.failed == ("test_it.py::test_a",)


def test_collection_errors_have_a_place_and_do_not_hide_other_tests(run: Run) -> None:
    done = run(
        {
            "test_broken.py": "import helper\n",
            "helper.py": "settings = None\nvalue = settings.value\n",
            "test_syntax.py": "def broken(:\n    pass\n",
            "test_missing.py": "import no_such_module\n",
            "test_fine.py": "def test_a(): pass\n",
            "sub/conftest.py": "1/0\n",
            "sub/test_in_sub.py": "def test_b(): pass\n",
        }
    )
    by_node = {failure.node_id: failure for failure in done.failures}
    assert all(failure.when is When.COLLECT for failure in done.failures)
    assert by_node["test_broken.py"].exception.type == "AttributeError"
    assert str(by_node["test_broken.py"].deepest_source.place) == "helper.py:2"  # type: ignore[union-attr] # compared
    assert by_node["test_syntax.py"].exception.type == "SyntaxError"
    assert str(by_node["test_syntax.py"].deepest.place) == "test_syntax.py:1"  # type: ignore[union-attr] # compared
    assert by_node["test_missing.py"].exception.type == "ModuleNotFoundError"
    assert any(failure.exception.type == "ZeroDivisionError" for failure in done.failures)
    assert dict(done.outcomes)["test_broken.py"] is Outcome.ERROR
    assert done.passed == {"test_fine.py::test_a"}


def test_a_conftest_that_cannot_be_imported_is_an_error_that_quotes_it(run: Run) -> None:
    files = {"conftest.py": "import settings\n", "settings.py": "None.upper\n", "test_it.py": "def test_a(): pass\n"}
    with pytest.raises(PytestStartError, match="'NoneType' object has no attribute 'upper'") as caught:
        run(files)
    failure = caught.value.run.failures[0]
    assert (failure.node_id, failure.when, failure.exception.type) == ("conftest.py", When.COLLECT, "AttributeError")
    assert str(failure.deepest_source.place) == "settings.py:1"  # type: ignore[union-attr] # compared
    assert caught.value.run.exit_code == 4


def test_options_that_pytest_does_not_know_are_quoted(run: Run) -> None:
    with pytest.raises(PytestStartError, match="unrecognized arguments: --nope") as caught:
        run({"pytest.ini": "[pytest]\naddopts = --nope\n", "test_it.py": ""})
    assert "\x1b" not in str(caught.value)


def test_terminal_escapes_in_what_is_quoted_are_removed(run: Run) -> None:
    with pytest.raises(PytestStartError) as caught:
        run({"conftest.py": "raise ValueError('\\x1b[31mred\\x1b]0;title\\x07\\x9b1m')\n"})
    assert "red" in str(caught.value)
    assert str(caught.value).isprintable()


def test_an_error_in_a_hook_is_not_the_end_of_a_session(run: Run) -> None:
    files = {
        "conftest.py": "def pytest_collection_modifyitems(items):\n    items[7]\n",
        "test_it.py": "def test_a(): pass\n",
    }
    done = run(files)
    assert done.exit_code == 3
    assert not done.ended
    assert [(failure.node_id, str(failure.deepest.place)) for failure in done.failures if failure.deepest] == [
        (None, "conftest.py:2")
    ]
    assert done.failed == ()


def test_without_the_terminal_plugin_outcomes_are_the_same(run: Run) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = -p no:terminal\n",
        "test_it.py": "def test_a(): 1/0\ndef test_b(): pass\n",
    }
    done = run(files)
    assert done.failed == ("test_it.py::test_a",)
    assert done.passed == {"test_it.py::test_b"}


def test_with_xdist_every_test_is_told_once(run: Run) -> None:
    pytest.importorskip("xdist")
    done = run(
        {
            "pytest.ini": "[pytest]\naddopts = -n 2\n",
            "test_it.py": """
                import os, pytest
                @pytest.mark.parametrize("n", range(6))
                def test_it(n):
                    assert n != 3
                def test_environment():
                    assert [name for name in os.environ if name[:10] == "SELFDEBUG_"] == ["SELFDEBUG_RUN"]
                def test_crash():
                    os._exit(1)
            """,
            "test_broken.py": "None.attribute\n",
        }
    )
    outcomes = dict(done.outcomes)
    assert done.ended
    assert len(outcomes) == 9
    assert outcomes["test_it.py::test_it[3]"] is Outcome.FAILED
    assert outcomes["test_it.py::test_crash"] is Outcome.FAILED
    assert outcomes["test_broken.py"] is Outcome.ERROR
    assert outcomes["test_it.py::test_environment"] is Outcome.PASSED
    assert done.collected == 8
    told = {str(failure.node_id): failure for failure in done.failures}
    assert len(told) == len(done.failures) == 3
    assert told["test_it.py::test_it[3]"].exception.type == "AssertionError"
    assert "crashed" in told["test_it.py::test_crash"].exception.message


def test_subtests_each_tell_their_failure(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import unittest
                class TestIt(unittest.TestCase):
                    def test_sub(self):
                        for n in range(4):
                            with self.subTest(n=n):
                                assert n % 2 == 0, n
                    def test_all_pass(self):
                        for n in range(4):
                            with self.subTest(n=n):
                                pass
            """,
        }
    )
    assert dict(done.outcomes) == {
        "test_it.py::TestIt::test_sub": Outcome.FAILED,
        "test_it.py::TestIt::test_all_pass": Outcome.PASSED,
    }
    assert [failure.exception.message.split("\n")[0] for failure in done.failures][:2] == ["1", "3"]


def test_only_the_last_of_several_attempts_counts(run: Run) -> None:
    """As the plugins for flaky tests do it: they give each earlier attempt the outcome "rerun"."""
    done = run(
        {
            "conftest.py": """
                from _pytest.runner import runtestprotocol
                def pytest_runtest_protocol(item, nextitem):
                    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                    for attempt in (1, 2, 3):
                        item._initrequest() if attempt > 1 else None
                        reports = runtestprotocol(item, nextitem=nextitem, log=False)
                        for report in reports:
                            if report.failed and attempt < 3:
                                report.outcome = "rerun"
                            item.ihook.pytest_runtest_logreport(report=report)
                        if not any(report.outcome == "rerun" for report in reports):
                            break
                    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
                    return True
            """,
            "test_it.py": """
                attempts = []
                def test_flaky():
                    attempts.append(1)
                    assert len(attempts) == 2
                def test_broken():
                    attempts.append(1)
                    raise ValueError(len(attempts))
            """,
        }
    )
    assert dict(done.outcomes) == {"test_it.py::test_flaky": Outcome.PASSED, "test_it.py::test_broken": Outcome.FAILED}
    assert [failure.exception.message for failure in done.failures] == ["5"]


def test_outcomes_that_plugins_change_afterwards_are_those_that_count(run: Run) -> None:
    done = run(
        {
            "conftest.py": """
                import pytest
                @pytest.hookimpl(tryfirst=True)
                def pytest_runtest_logreport(report):
                    if "turned" in report.nodeid and report.when == "call":
                        report.outcome = "failed"
                @pytest.fixture
                def expects():
                    pytest.xfail("in the fixture")
            """,
            "test_it.py": "def test_turned(): pass\ndef test_in_setup(expects): pass\n",
        }
    )
    assert dict(done.outcomes) == {
        "test_it.py::test_turned": Outcome.FAILED,
        "test_it.py::test_in_setup": Outcome.XFAILED,
    }
    assert [failure.exception.message for failure in done.failures] == ["failed without an exception"]


def test_tests_see_the_environment_of_the_user(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SETTING", "42")
    monkeypatch.setenv("PYTHONPATH", "/tmp/mine")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    done = run(
        {
            "test_it.py": """
                import os, sys
                def test_environment():
                    assert os.environ["MY_SETTING"] == "42"
                    assert os.environ["PYTHONPATH"] == "/tmp/mine"
                    assert "PYTEST_XDIST_WORKER" not in os.environ
                    assert [name for name in os.environ if name.startswith("SELFDEBUG_")] == ["SELFDEBUG_RUN"]
                    assert not any("selfdebug" in entry and "runtime" in entry for entry in sys.path)
            """
        }
    )
    assert done.failures == ()
    assert done.passed


@pytest.mark.usefixtures("with_each_plugin")
def test_nothing_is_left_in_the_project(run: Run, tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = --junitxml=r.xml --cov=package --cov-report=html --cov-fail-under=99\n",
        "package/__init__.py": "from . import module\n",
        "package/module.py": "def f():\n    return 1\n",
        "test_it.py": """
            import os, tempfile, hypothesis, hypothesis.strategies as st
            import package
            @hypothesis.given(st.integers())
            def test_property(n):
                assert n < 50
            def test_leaves_things(tmp_path):
                (tmp_path / "locked").mkdir()
                (tmp_path / "locked" / "file").write_text("x")
                (tmp_path / "locked").chmod(0)
                tempfile.mkdtemp()
        """,
    }
    done = run(files)
    assert done.exit_code == 1  # for the property, not for the coverage
    assert done.passed == {"test_it.py::test_leaves_things"}
    assert sorted(every_path(tmp_path / "project")) == sorted([*files, "package"])


@pytest.mark.usefixtures("with_each_plugin")
@pytest.mark.parametrize("imports", ["", "import hypothesis\n"], ids=["unused", "used"])
def test_hypothesis_is_imported_by_the_tests_or_by_nobody(run: Run, tmp_path: Path, imports: str) -> None:
    ended = f"import atexit, pathlib, sys\natexit.register(lambda: pathlib.Path({str(tmp_path / 'ended')!r})"
    ended += ".write_text(str('hypothesis' in sys.modules)))\n"
    assert run({"conftest.py": ended, "test_it.py": f"{imports}def test_it(): pass\n"}).passed
    assert (tmp_path / "ended").read_text() == str(bool(imports))
