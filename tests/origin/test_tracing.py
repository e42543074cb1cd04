"""What the tracer respects, what it bounds, and how chains tell of what it could not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from origin.traced_programs import chains, has_monitoring, short, traced, write

CRASH = """
def main():
    name = None
    return name.upper()
"""
TEST = """
import app

def test_it():
    app.main()
"""


def test_a_trace_function_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "app.py", CRASH)
    write(tmp_path, "test_app.py", TEST)
    write(
        tmp_path, "early.py", "import sys\ndef other(frame, event, argument):\n    return None\nsys.settrace(other)\n"
    )
    write(
        tmp_path,
        "test_later.py",
        """
        import sys
        import early

        def test_it_is_still_there():
            assert sys.gettrace() is early.other
        """,
    )
    write(tmp_path, "pytest.ini", "[pytest]\naddopts = -p early\n")
    run = traced(tmp_path)
    trace = run.trace_of("test_app.py::test_it")
    assert trace is not None
    if not has_monitoring(run):
        assert "trace function is set already" in trace.gap
        assert trace.frames == ()
    assert "test_later.py::test_it_is_still_there" in run.passed


def test_all_hooks_are_given_back(tmp_path: Path) -> None:
    write(
        tmp_path,
        "test_app.py",
        """
        import atexit, sys

        def leave():
            held = [sys.monitoring.get_tool(number) for number in range(6)] if hasattr(sys, "monitoring") else []
            open("left", "w").write(repr((sys.gettrace(), [tool for tool in held if tool])))

        atexit.register(leave)

        def test_it():
            assert None
        """,
    )
    assert traced(tmp_path).failed == ("test_app.py::test_it",)
    assert (tmp_path / "left").read_text() == "(None, [])"


def test_no_code_of_the_program_is_asked_for_a_value(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app.py",
        """
        ASKED = []

        class Shy:
            def __init__(self):
                self.value = None

            def __repr__(self):
                ASKED.append("repr")
                return "shy"

            def __eq__(self, other):
                ASKED.append("eq")
                return False

            def __hash__(self):
                ASKED.append("hash")
                return 1

            @property
            def costly(self):
                ASKED.append("property")
                return self.value

        def main():
            shy = Shy()
            table = {}
            table["x"] = shy
            asked = list(ASKED)
            assert asked == [], asked
            return shy.value.upper()
        """,
    )
    write(tmp_path, "test_app.py", TEST)
    (links,) = chains(tmp_path, traced(tmp_path)).values()
    assert short(links) == ["app:5 explicit-none"]


def test_secrets_do_not_leave_the_process(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app.py",
        """
        def main(password, port):
            token = "ghp_" + "a" * 36
            name = None
            return name.upper(password, port, token)
        """,
    )
    write(tmp_path, "test_app.py", TEST.replace("main()", "main('hunter2', 80)"))
    trace = traced(tmp_path).trace_of("test_app.py::test_it")
    assert trace is not None
    texts = [value.text for frame in trace.frames for step in frame.steps for _, value in (*step.reads, *step.stores)]
    texts += [value.text for frame in trace.frames for _, value in frame.arguments]
    assert "80" in texts
    assert not [text for text in texts if "hunter2" in text or "ghp_" in text]


def test_the_frames_that_failed_stay_whole_when_the_trace_is_full(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app.py",
        """
        def count():
            total = 0
            for number in range(40_000):
                total += number
                total -= number
            return total

        def main():
            name = None
            count()
            return name.upper()
        """,
    )
    write(tmp_path, "test_app.py", TEST)
    run = traced(tmp_path)
    trace = run.trace_of("test_app.py::test_it")
    assert trace is not None
    assert trace.is_cut
    assert sum(len(frame.steps) for frame in trace.frames) < 150_000
    (links,) = chains(tmp_path, run).values()
    assert short(links) == ["app:9 explicit-none"]


def test_a_failure_of_the_collection_is_traced(tmp_path: Path) -> None:
    write(tmp_path, "settings.py", "HOST = {}.get('host')\n")
    write(tmp_path, "test_app.py", "import settings\nURL = settings.HOST.upper()\n\ndef test_it():\n    pass\n")
    (links,) = chains(tmp_path, traced(tmp_path)).values()
    assert short(links) == ["settings:1 assignment", "settings:1 missing-key"]


@pytest.mark.parametrize("generated", ["exec", "eval"])
def test_generated_code_is_a_gap(tmp_path: Path, generated: str) -> None:
    make = {
        "exec": "names = {}\n    exec('def find(): return None', names)\n    found = names['find']()",
        "eval": "found = eval('None')",
    }[generated]
    write(tmp_path, "app.py", f"def main():\n    {make}\n    return found.upper()\n")
    write(tmp_path, "test_app.py", TEST)
    (links,) = chains(tmp_path, traced(tmp_path)).values()
    assert [link.kind for link in links] == ["assignment", "outside"]
    assert "outside the project" in links[-1].sentence
