"""What the recorder functions keep of probed expressions, and that they change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.conftest import write_files
from selfdebug.model import PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

FILES = {
    "module.py": "def first(xs): return xs[0]\n",
    "at_import.py": "",
    "test_it.py": """
        import threading
        import at_import, module, pytest

        def test_works(): assert module.first([[1]]) == [1]
        def test_fails(): module.first(None)
        def test_changed_later():
            xs = [[1]]
            module.first(xs).append(2)
        def test_many():
            for n in range(3000): module.first([n])
        def test_many_objects():
            for n in range(700): module.first([object()])
        def test_threads():
            threads = [threading.Thread(target=module.first, args=([7],)) for _ in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        def test_caught_often():
            for n in range(100):
                with pytest.raises(TypeError): module.first(None)
        def test_comprehension(): assert [module.first(x) for x in [[1], [2]]] == [1, 2]
    """,
}
PROBED = b"""\
def first(xs):
    token = "hunter2"
    try:
        return __selfdebug_probe__(3, __selfdebug_probe__(2, xs)[0])
    except BaseException:
        __selfdebug_caught__(1)
        raise
"""


@pytest.fixture(scope="module")
def probed(each_interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> PytestRun:
    root = write_files(tmp_path_factory.mktemp("probed"), FILES)
    sources = {"module.py": PROBED, "at_import.py": b"VALUE = __selfdebug_probe__(9, None)\n"}
    return run_pytest(PytestRequest(each_interpreter, root, sources=sources, record_probes=True, timeout=90))


def reprs(run: PytestRun, test: str, number: int) -> list[str]:
    return [hit.value.repr for hit in run.hits if hit.node_id == f"test_it.py::{test}" and hit.id == number]


def test_probes_change_no_outcome(probed: PytestRun) -> None:
    assert probed.failed == ("test_it.py::test_fails",)
    assert len(probed.passed) == 7
    assert probed.failures[0].exception.type == "TypeError"


def test_values_belong_to_their_test_and_function(probed: PytestRun) -> None:
    assert reprs(probed, "test_works", 2) == ["[[1]]"]
    assert reprs(probed, "test_works", 3) == ["[1]"]
    assert reprs(probed, "test_fails", 2) == ["None"]
    assert reprs(probed, "test_fails", 3) == []
    assert {hit.function for hit in probed.hits if hit.id == 2} == {"first"}


def test_values_at_import_belong_to_the_collected_file(probed: PytestRun) -> None:
    (hit,) = [hit for hit in probed.hits if hit.id == 9]
    assert (hit.node_id, hit.function, hit.value.is_none) == ("test_it.py", "<module>", True)


def test_a_value_is_told_as_it_was_at_that_time(probed: PytestRun) -> None:
    assert reprs(probed, "test_changed_later", 3) == ["[1]"]


def test_of_many_evaluations_the_first_and_the_last_are_kept(probed: PytestRun) -> None:
    kept = reprs(probed, "test_many", 3)
    assert kept == [str(n) for n in [*range(20), *range(2960, 3000)]]
    late = [hit.value for hit in probed.hits if hit.node_id == "test_it.py::test_many_objects" and hit.id == 3][-1]
    assert (late.type, late.repr, late.truncated) == ("object", "<object>", True)


def test_sequence_numbers_are_in_the_order_of_evaluation(probed: PytestRun) -> None:
    of_one_test = [hit.sequence for hit in probed.hits if hit.node_id == "test_it.py::test_comprehension"]
    assert of_one_test == sorted(of_one_test)
    assert len(set(of_one_test)) == 4


def test_threads_are_recorded(probed: PytestRun) -> None:
    assert reprs(probed, "test_threads", 3) == ["7"] * 8


def test_a_caught_exception_comes_with_the_local_variables(probed: PytestRun) -> None:
    (catch,) = [catch for catch in probed.catches if catch.node_id == "test_it.py::test_fails"]
    assert (catch.id, catch.function, catch.exception.type) == (1, "first", "TypeError")
    values = dict(catch.locals)
    assert values["xs"].is_none
    assert values["token"].redacted
    assert "hunter2" not in repr(probed.catches)
    (before,) = [hit for hit in probed.hits if hit.node_id == catch.node_id]
    assert before.sequence < catch.sequence


def test_catches_are_bounded(probed: PytestRun) -> None:
    assert len([catch for catch in probed.catches if catch.node_id == "test_it.py::test_caught_often"]) == 40


def test_without_being_asked_there_are_no_recorder_functions(interpreter: Interpreter, tmp_path: Path) -> None:
    done = run_pytest(PytestRequest(interpreter, write_files(tmp_path, FILES), sources={"module.py": PROBED}))
    assert {failure.exception.name for failure in done.failures} >= {"__selfdebug_caught__"}
    assert done.hits == ()


def test_what_was_recorded_before_a_crash_is_not_lost(interpreter: Interpreter, tmp_path: Path) -> None:
    files = {
        "module.py": "",
        "test_it.py": """
            import os, module
            def test_it():
                try:
                    module.first(None)
                finally:
                    os._exit(3)
        """,
    }
    root = write_files(tmp_path, files)
    done = run_pytest(PytestRequest(interpreter, root, sources={"module.py": PROBED}, record_probes=True))
    assert not done.ended
    assert [hit.value.repr for hit in done.hits] == ["None"]
    assert [catch.exception.type for catch in done.catches] == ["TypeError"]
