"""Tests that fork, hang, print without end, close what is not theirs or leave early neither hang nor fool a run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtime.conftest import Run, every_path, write_files
from selfdebug.model import Outcome, When
from selfdebug.pytest_process import Interpreter, PytestRequest, PytestStartError, run_pytest
from selfdebug.pytest_process.descendants import end_all

NAP = "import time\nfor _ in range(600):\n    time.sleep(0.1)\n"


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pid_in(path: Path) -> int:
    """The process id that a test of the project wrote down."""
    return int(path.read_text())


def test_a_test_that_ignores_sigterm_is_killed_at_the_timeout(run: Run, quick_timeout: float) -> None:
    done = run(
        {
            "test_it.py": """
                import signal, time
                def test_first(): pass
                def test_stubborn():
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    while True:
                        time.sleep(0.1)
            """
        },
        timeout=quick_timeout,
    )
    assert done.timed_out
    assert not done.ended
    assert done.exit_code is None
    assert dict(done.outcomes) == {"test_it.py::test_first": Outcome.PASSED}
    assert done.running == "test_it.py::test_stubborn"
    assert done.seconds < quick_timeout + 10


@pytest.mark.parametrize("keeps_environment", [True, False])
def test_a_daemon_in_a_session_of_its_own_is_ended(run: Run, tmp_path: Path, keeps_environment: bool) -> None:
    note = tmp_path / "pid"
    done = run(
        {
            "test_it.py": f"""
                import os, subprocess, sys
                NAP = {NAP!r}
                def test_daemon():
                    env = dict(os.environ) if {keeps_environment} else {{}}
                    nap = [sys.executable, "-c", NAP]
                    child = subprocess.Popen(nap, env=env, start_new_session={keeps_environment})
                    open({str(note)!r}, "w").write(str(child.pid))
            """
        },
    )
    assert done.passed == {"test_it.py::test_daemon"}
    assert done.seconds < 20
    assert not is_alive(pid_in(note))


def test_a_daemon_that_left_by_forking_twice_is_ended_and_does_not_hold_up_the_run(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    done = run(
        {
            "test_it.py": f"""
                import os, signal, time
                def test_daemon():
                    if os.fork() == 0:
                        os.setsid()
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        if os.fork() == 0:
                            open({str(note)!r}, "w").write(str(os.getpid()))
                            time.sleep(60)
                        os._exit(0)
                    time.sleep(0.5)
            """
        },
    )
    assert done.passed == {"test_it.py::test_daemon"}
    assert done.seconds < 20
    assert not is_alive(pid_in(note))


def test_a_test_that_forks_in_a_loop_is_ended(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "group"
    run(
        {
            "test_it.py": f"""
                import os, time
                def test_fork():
                    if os.fork() == 0:
                        os.setsid()
                        open({str(note)!r}, "w").write(str(os.getpid()))
                        while True:   # one living process at a time, with an ever new number
                            if os.fork():
                                os._exit(0)
                            time.sleep(0.002)
                    time.sleep(0.5)
            """
        },
    )
    session = pid_in(note)
    time.sleep(0.2)
    members = [
        entry
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and is_alive(int(entry.name)) and _session_of(entry) == session
    ]
    assert members == []


@pytest.mark.parametrize("pause", [0, 0.0005, 0.01])
def test_a_line_of_processes_that_replace_each_other_is_ended(tmp_path: Path, pause: float) -> None:
    """However fast: by the time that one is seen it may be gone, but all of them have one process group."""
    code = f"""
import os, time
os.setsid()
print(os.getpid(), flush=True)
os.close(1)
while True:
    if os.fork():
        os._exit(0)
    time.sleep({pause})
"""
    marker = f"marker-{tmp_path.name}-{pause}"
    environment = {**os.environ, "SELFDEBUG_TEST_MARKER": marker}
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert child.stdout is not None
    session = int(child.stdout.readline())
    child.stdout.close()
    child.wait()
    try:
        assert end_all(None, marker, grace=0.1)
        time.sleep(0.2)
        members = [
            entry
            for entry in Path("/proc").iterdir()
            if entry.name.isdecimal() and _session_of(entry) == session and is_alive(int(entry.name))
        ]
        assert members == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)


def _session_of(entry: Path) -> int | None:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None


def test_endless_output_is_bounded_and_ended(run: Run, quick_timeout: float) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                def test_noise():
                    os.write(2, b"first words\\n")
                    while True:
                        os.write(2, b"x" * 65536)
            """
        },
        pytest_args=("-s",),
        timeout=quick_timeout,
    )
    assert done.timed_out
    assert done.is_output_cut
    assert "first words" in done.output
    assert "bytes left out" in done.output
    assert len(done.output) < 600_000


def test_closing_standard_output_does_not_end_or_hang_the_run(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os, time
                def test_close():
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, 1)
                    os.dup2(nowhere, 2)
                    time.sleep(0.3)
                def test_after(): pass
            """
        },
        pytest_args=("-s",),
    )
    assert done.passed == {"test_it.py::test_close", "test_it.py::test_after"}


def test_closing_every_descriptor_does_not_silence_the_plugin(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                def test_close_all():
                    os.closerange(3, 4096)
                def test_after():
                    assert 1 == 2
            """
        },
        pytest_args=("-s", "-p", "no:faulthandler"),
    )
    assert dict(done.outcomes)["test_it.py::test_after"] is Outcome.FAILED


def test_leaving_early_with_success_is_not_a_pass(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                def test_quit():
                    print("1 passed in 0.01s", flush=True)
                    os._exit(0)
            """
        },
        pytest_args=("-s",),
    )
    assert done.exit_code == 0
    assert "1 passed" in done.output
    assert not done.ended
    assert done.passed == frozenset()
    assert done.running == "test_it.py::test_quit"


@pytest.mark.parametrize("leave", ["pytest.exit('done', returncode=0)", "raise KeyboardInterrupt"])
def test_stopping_the_session_from_a_test_proves_nothing(run: Run, leave: str) -> None:
    done = run(
        {
            "test_it.py": f"""
                import pytest
                def test_before(): pass
                def test_stop(): {leave}
                def test_after(): assert 0
            """
        },
    )
    assert not done.ended
    assert done.passed == {"test_it.py::test_before"}
    assert done.running == "test_it.py::test_stop"


def test_leaving_in_the_teardown_of_a_passed_test_is_not_a_pass(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os, pytest
                @pytest.fixture
                def leaver():
                    yield
                    os._exit(0)
                def test_quit(leaver): pass
            """
        },
    )
    assert not done.ended
    assert done.passed == frozenset()


def test_killing_itself_is_told_by_the_signal(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os, signal
                def test_kill(): os.kill(os.getpid(), signal.SIGKILL)
            """
        },
    )
    assert done.exit_code == -9
    assert not done.ended
    assert not done.timed_out


def test_a_forked_copy_that_goes_on_with_the_session_tells_nothing(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                def test_fork():
                    pid = os.fork()
                    if pid:
                        os.waitpid(pid, 0)
                    else:
                        assert 0, "in the copy"
                def test_after(): pass
            """
        },
    )
    assert done.ended
    assert dict(done.outcomes) == {"test_it.py::test_fork": Outcome.PASSED, "test_it.py::test_after": Outcome.PASSED}
    assert done.failures == ()


def test_changing_directory_and_environment_does_not_lose_records(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                def test_move(tmp_path):
                    os.chdir(tmp_path)
                    os.environ.clear()
                def test_after():
                    assert {}["k"]
            """
        },
    )
    assert done.ended
    assert [failure.exception.type for failure in done.failures] == ["KeyError"]
    assert done.failures[0].deepest is not None
    assert done.failures[0].deepest.file == "test_it.py"


def test_deleting_the_folder_of_the_records_proves_nothing(run: Run) -> None:
    files = {
        "test_it.py": """
            import gc, os, shutil
            def test_delete():
                journal = [o for o in gc.get_objects() if type(o).__name__ == "Journal"][0]
                shutil.rmtree(os.path.dirname(journal._base))
            def test_after(): pass
        """
    }
    with pytest.raises(PytestStartError, match="before its session began"):
        run(files)


def test_replacing_the_functions_that_we_use_does_not_silence_the_plugin(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import json, linecache, os, time
                def test_replaced(monkeypatch):
                    def boom(*a, **k):
                        raise SystemError("replaced")
                    for module, name in [(os, "open"), (os, "write"), (json, "dumps"), (time, "perf_counter")]:
                        monkeypatch.setattr(module, name, boom)
                    None.attribute
            """
        },
    )
    assert done.ended
    assert [failure.exception.type for failure in done.failures] == ["AttributeError"]


def test_running_out_of_descriptors_loses_no_failure(run: Run) -> None:
    done = run(
        {
            "test_it.py": """
                import os
                held = []
                def test_use_up():
                    try:
                        while True:
                            held.append(os.open(os.devnull, os.O_RDONLY))
                    except OSError:
                        pass
                    try:
                        assert 0
                    finally:
                        pass
                def test_free():
                    for descriptor in held:
                        os.close(descriptor)
            """
        },
    )
    assert dict(done.outcomes) == {"test_it.py::test_use_up": Outcome.FAILED, "test_it.py::test_free": Outcome.PASSED}
    assert [failure.node_id for failure in done.failures] == ["test_it.py::test_use_up"]


def test_sys_exit_while_collecting_is_a_failure_with_a_place(run: Run) -> None:
    done = run({"test_it.py": "import sys\nsys.exit(0)\n", "test_other.py": "def test_ok(): pass\n"})
    assert [(failure.when, failure.exception.type) for failure in done.failures] == [(When.COLLECT, "SystemExit")]
    assert done.failures[0].deepest is not None
    assert str(done.failures[0].deepest.place) == "test_it.py:2"
    assert not done.passed


def test_an_interrupted_run_leaves_no_process_and_no_folder(
    interpreter: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`progress` raising stands for whatever interrupts the caller, such as Ctrl-C."""
    note = tmp_path / "pid"
    root = write_files(
        tmp_path / "project",
        {
            "test_it.py": f"""
                import os, time
                def test_first(): open({str(note)!r}, "w").write(str(os.getpid()))
                def test_second(): time.sleep(60)
            """
        },
    )
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))

    def interrupt(done: int, _collected: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pytest(PytestRequest(interpreter, root), progress=interrupt)
    assert not is_alive(pid_in(note))
    assert [path for path in place.iterdir() if path.name.startswith("sd-")] == []
    assert sorted(every_path(root)) == ["test_it.py"]
