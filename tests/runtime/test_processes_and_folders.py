"""Processes and temporary folders by themselves: bounds of the output, what a killed run left, odd permissions."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.conftest import write_files
from selfdebug.errors import EnvironmentUnusableError
from selfdebug.pytest_process import Interpreter, PytestRequest, descendants, folders, run_pytest
from selfdebug.pytest_process.child import BoundedOutput, Launch, run_child
from selfdebug.pytest_process.descendants import end_all, living
from selfdebug.pytest_process.last_words import last_telling_lines
from selfdebug.pytest_process.project import ProjectFiles
from selfdebug.pytest_process.records import read_records


@given(st.lists(st.text("ab\n", max_size=50)), st.integers(0, 20), st.integers(1, 20))
def test_bounded_output_keeps_both_ends(chunks: list[str], head: int, tail: int) -> None:
    output = BoundedOutput(head, tail)
    for chunk in chunks:
        output.add(chunk.encode())
    whole = "".join(chunks)
    first, *rest = re.split(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", output.text())
    if not output.is_cut:
        assert (first, rest) == (whole, [])
    else:
        missing, last = rest
        assert first == whole[:head]
        assert whole.endswith(last)
        assert tail <= len(last) <= 2 * tail
        assert len(first) + int(missing) + len(last) == len(whole)


def test_output_that_is_no_text_is_shown_as_far_as_it_is() -> None:
    output = BoundedOutput()
    output.add(b"a\xff")
    output.add(b"\xc3")
    output.add(b"\xa9")
    assert output.text() == "a\ufffdé"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", ""),
        ("===== 1 =====\n\n-----\n", ""),
        ("hello\nworld\n", "hello / world"),
        ("E   KeyError: 'x'\nlast", "KeyError: 'x'"),
        ("\x1b[31mERROR: bad\x1b[0m\n  inifile: x", "ERROR: bad"),
        ("Traceback\nModuleNotFoundError: No module named 'x'\n", "ModuleNotFoundError: No module named 'x'"),
        ("error " + "x" * 1000, "error " + "x" * 394),
    ],
)
def test_the_telling_lines_of_an_output(output: str, expected: str) -> None:
    assert last_telling_lines(output) == expected


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnusableError, match="cannot be started"):
        run_child(Launch((str(tmp_path / "nothing"),), tmp_path, {}, "m"), 5.0)


def test_something_is_done_while_the_program_runs(tmp_path: Path) -> None:
    """The program ends only after it has been done."""
    program = "until test -e done; do sleep 0.01; done; echo seen"
    ended = run_child(
        Launch(("sh", "-c", program), tmp_path, dict(os.environ), uuid.uuid4().hex),
        20.0,
        None,
        (tmp_path / "done").touch,
    )
    assert (ended.output, ended.timed_out) == ("seen\n", False)


def test_what_fails_meanwhile_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def fail() -> None:
        while not (pid.exists() and pid.read_text().endswith("\n")):
            time.sleep(0.01)
        raise RuntimeError("meanwhile")

    launch = Launch(("sh", "-c", "echo $$ > pid; sleep 20"), tmp_path, dict(os.environ), uuid.uuid4().hex)
    with pytest.raises(RuntimeError, match="meanwhile"):
        run_child(launch, 20.0, None, fail)
    assert not Path("/proc", pid.read_text().strip()).exists()


def test_an_interrupt_at_any_moment_of_the_start_leaves_no_process(tmp_path: Path) -> None:
    launch = Launch(("sleep", "31"), tmp_path, dict(os.environ), uuid.uuid4().hex)
    before = living_children()
    for number in range(60):
        interrupt = threading.Timer(number / 20_000, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            interrupt.start()
            run_child(launch, 20.0)
        assert living_children() <= before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_start_beside_the_main_thread_holds_nothing_back(tmp_path: Path) -> None:
    launch = Launch(("true",), tmp_path, dict(os.environ), uuid.uuid4().hex)
    with ThreadPoolExecutor(1) as beside:
        assert beside.submit(run_child, launch, 20.0).result().exit_code == 0


def living_children() -> set[str]:
    """The processes that this one has started and not waited for."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_a_run_whose_parent_was_killed_is_cleared_away_by_the_next(tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    note = tmp_path / "pid"
    root = write_files(
        tmp_path / "project",
        {
            "test_it.py": f"""
                import os, time
                def test_slow():
                    open({str(note)!r}, "w").write(str(os.getpid()))
                    time.sleep(60)
            """
        },
    )
    code = (
        "import sys; from pathlib import Path; from selfdebug.pytest_process import *; "
        "run_pytest(PytestRequest(Interpreter.find(sys.executable), Path(sys.argv[1])))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(root)], env={**os.environ, "TMPDIR": str(place)})
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (note.exists() and note.read_text()):
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    orphan = int(note.read_text())
    assert Path(f"/proc/{orphan}").exists()
    assert [path.name.split("-")[:2] for path in place.iterdir()] == [["sd", str(parent.pid)]]
    (place / "sd-99999999-x").write_text("a file, not one of ours")
    (place / f"sd-{os.getpid()}-x").mkdir()
    (place / f"sd-{2**70}-x").mkdir()
    folders._clear_abandoned(str(place))
    assert {path.name for path in place.iterdir()} == {"sd-99999999-x", f"sd-{os.getpid()}-x", f"sd-{2**70}-x"}
    assert not Path(f"/proc/{orphan}").exists() or "Z" in Path(f"/proc/{orphan}/stat").read_text()


def test_folders_without_permissions_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("kept")
    (root / "a" / "b").chmod(0)
    (root / "a").chmod(0o500)
    folders.remove_tree(root)
    assert not root.exists()
    assert (tmp_path / "outside").read_text() == "kept"


def test_whatever_cannot_be_removed_is_made_writable_or_left(tmp_path: Path) -> None:
    """As `shutil.rmtree` calls it; the owner of the machine, who may remove everything, never gets there."""
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link", "missing"):
        folders._remove_stubborn(tmp_path, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_without_proc_the_process_group_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descendants, "_PROC", tmp_path / "nowhere")
    command = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)")
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    assert living(child.pid, "marker") == {child.pid}
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    assert end_all(child.pid, "marker", grace=5.0)
    reaper.join()
    assert child.returncode == -signal.SIGTERM
    child.stdout.close()
    assert living(None, "marker") == frozenset()


@pytest.mark.parametrize("marker", ["", "m", "/", "PATH="])
def test_what_may_stand_in_any_environment_marks_nobody(marker: str) -> None:
    """A file for the marker that was never written is empty: it must not end every process of the user."""
    assert living(None, marker) == frozenset()


def test_nothing_to_end_is_fine() -> None:
    assert end_all(None, "no process carries this", grace=0.1)
    assert living(None, "no process carries this") == frozenset()


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "records.1").write_bytes(
        b'{"kind":"collected","count":3}\n\xff\xfe\nnull\n{"kind":"unknown"}\n{"kind":"te'
    )
    recorded = read_records(tmp_path / "records", ProjectFiles(tmp_path))
    assert recorded.collected == 3
    assert not recorded.is_greeted


def test_paths_of_frames_become_files_of_the_project(tmp_path: Path) -> None:
    write_files(tmp_path, {"root/a.py": "", "root/venv/pyvenv.cfg": "", "root/venv/lib/x.py": "", "outside.py": ""})
    (tmp_path / "root" / "link.py").symlink_to(tmp_path / "outside.py")
    (tmp_path / "root" / "loop.py").symlink_to(tmp_path / "root" / "loop.py")
    files = ProjectFiles(tmp_path / "root")
    assert files.file(str(tmp_path / "root" / "a.py")) == "a.py"
    assert files.file(str(tmp_path / "root" / "." / "a.py")) == "a.py"
    for other in ("venv/lib/x.py", "../outside.py", "link.py", "loop.py"):
        assert files.file(str(tmp_path / "root" / other)) is None, other
    assert files.file("<string>") is None
    assert files.file("a\0b") is None


def test_temporary_files_of_tests_go_with_the_run(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "project",
        {
            "test_it.py": """
                import socket, tempfile
                def test_leaves(tmp_path):
                    assert len(tempfile.gettempdir()) < 60
                    tempfile.mkdtemp(prefix="left-behind-by-a-test-")
                    server = socket.socket(socket.AF_UNIX)
                    server.bind(tempfile.mkdtemp() + "/socket")
            """
        },
    )
    assert run_pytest(PytestRequest(interpreter, root)).passed
    assert not list(Path(tempfile.gettempdir()).glob("left-behind-by-a-test-*"))


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o700])
def test_removing_a_tree_leaves_the_mode_of_its_parent(tmp_path: Path, mode: int) -> None:
    shelf = tmp_path / "shelf"
    (shelf / "tree" / "inner").mkdir(parents=True)
    (shelf / "tree" / "inner" / "file").write_text("x")
    shelf.chmod(mode)
    gone = shelf / "tree" / "gone"
    folders.remove_tree(gone)  # not there: the error arises at the top of the tree
    folders.remove_tree(shelf / "tree" / "inner" / "file")  # no folder: so does this one
    folders.remove_tree(shelf / "tree")
    assert not (shelf / "tree").exists()
    assert stat.S_IMODE(shelf.stat().st_mode) == mode
