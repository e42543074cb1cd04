"""The preloaded server says what a fresh process says, or nothing: on edits of all kinds, on projects of all kinds."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from gists import gist

from selfdebug.model import Tier
from selfdebug.pytest_process import Interpreter, PreloadedServer, PytestRequest, WarmServer, run_pytest

SUBJECT = "import json\n\nLIMIT = 1\n\ndef call(user):\n    return user.name\n"
TEST = "import subject\n\ndef test_none():\n    assert subject.call(None) == 'nobody'\n"
GOOD = "user.name if user else 'nobody'"


PYTHONS = [sys.executable, *filter(None, os.environ.get("SELFDEBUG_TEST_PYTHONS", "").split(os.pathsep))]


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda python: str(Path(python).parents[1].name))
def interpreter(request: pytest.FixtureRequest) -> Interpreter:
    return Interpreter.find(request.param)


def written(root: Path, files: Mapping[str, str]) -> Path:
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return root


EDITS = {
    "an import": "from decimal import Decimal\n" + SUBJECT.replace("user.name", "user and Decimal(1) or 'nobody'"),
    "a module's own level": SUBJECT.replace("LIMIT = 1", "LIMIT = 'nobody'").replace("user.name", "user or LIMIT"),
    "a signature": SUBJECT.replace("(user)", "(user, *more)").replace("user.name", GOOD),
    "a decorator": SUBJECT.replace("def call", "@(lambda call: lambda user: 'nobody')\ndef call"),
    "the inside of a function": SUBJECT.replace("user.name", GOOD),
    "an edit that does not compile": SUBJECT.replace("user.name", "user.."),
    "an import of nothing": "import nothing_of_this_name\n" + SUBJECT,
}


def test_edits_of_all_kinds_are_judged_as_in_a_fresh_process(tmp_path: Path, interpreter: Interpreter) -> None:
    written(tmp_path, {"subject.py": SUBJECT, "test_subject.py": TEST})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with PreloadedServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        for edit in EDITS.values():
            sources = {"subject.py": edit.encode()}
            run = server.run(sources, 60)
            assert run is not None, server.problem
            assert run.tier is Tier.PRELOADED
            assert gist(run) == gist(
                run_pytest(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",), sources=sources))
            )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_modules_start_and_open_when_they_are_imported_stays_in_the_child(
    tmp_path: Path, interpreter: Interpreter
) -> None:
    subject = """
        import asyncio, concurrent.futures, sqlite3, subprocess, tempfile, threading

        DATA = sqlite3.connect("data.db")
        DATA.execute("create table if not exists t (x)")
        LOOP = asyncio.new_event_loop()
        POOL = concurrent.futures.ThreadPoolExecutor(2)
        FOLDER = tempfile.mkdtemp()
        CHILD = subprocess.Popen(["sleep", "600"])
        threading.Thread(target=threading.Event().wait, daemon=True).start()

        async def name_of(user):
            return user.name

        def call(user):
            return LOOP.run_until_complete(name_of(POOL.submit(lambda: user).result()))
    """
    root = written(tmp_path, {"subject.py": subject, "test_subject.py": TEST})
    sources = {"subject.py": (root / "subject.py").read_bytes().replace(b"user.name", GOOD.encode())}
    with WarmServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as warm:
        assert warm.run(sources, 60) is None
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        runs = [server.run(sources, 60) for _ in range(2)]
    fresh = run_pytest(PytestRequest(interpreter, root, node_ids=("test_subject.py",), sources=sources))
    assert not fresh.failures
    assert [gist(run) for run in runs] == [gist(fresh), gist(fresh)], server.problem


def test_a_module_that_could_not_be_imported_is_judged(tmp_path: Path, interpreter: Interpreter) -> None:
    test = "import subject\n\ndef test_first():\n    assert subject.FIRST is None\n"
    root = written(tmp_path, {"subject.py": "NAMES = None\nFIRST = NAMES[0]\n", "test_subject.py": test})
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        run = server.run({"subject.py": b"NAMES = None\nFIRST = NAMES[0] if NAMES else None\n"}, 60)
    assert run is not None, server.problem
    assert not run.failures
    assert server.control is not None
    assert [failure.when for failure in server.control.failures] == ["collect"]


def test_modules_that_tests_write_are_never_those_of_an_earlier_run(tmp_path: Path, interpreter: Interpreter) -> None:
    test = """
        import sys, subject

        def test_none(tmp_path, monkeypatch):
            (tmp_path / "written.py").write_text(f"NAME = {subject.call(None)!r}")
            monkeypatch.syspath_prepend(tmp_path)
            import written
            assert written.NAME == "nobody"
    """
    subject = "def call(user):\n    return str(user or 'noboda')\n"
    root = written(tmp_path, {"subject.py": subject, "test_subject.py": test})
    for kind in (WarmServer, PreloadedServer):
        with kind(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
            for letter in "yxyx":  # of the same size, within one second
                run = server.run({"subject.py": subject.replace("noboda", f"nobod{letter}").encode()}, 60)
                assert run is not None, server.problem
                assert bool(run.failures) == (letter == "x")


# ---------------------------------------------------------------- libraries


def with_libraries(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """An environment in which modules outside the project can be imported."""
    return {**os.environ, "PYTHONPATH": str(written(folder, files))}


def test_libraries_are_imported_once_and_what_tests_import_is_not(tmp_path: Path, interpreter: Interpreter) -> None:
    log = tmp_path / "log"
    note = f"import os\nopen({str(log)!r}, 'a').write(__name__ + '\\n')\n"
    env = with_libraries(tmp_path / "lib", {"early.py": note, "late.py": note, "broken.py": "raise ValueError\n"})
    conftest = "import early\ntry:\n    import broken\nexcept ValueError:\n    pass\n"
    test = TEST.replace("    assert", "    import late\n    assert")
    root = written(tmp_path / "project", {"conftest.py": conftest, "subject.py": SUBJECT, "test_subject.py": test})
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",), env=env)) as server:
        for _ in range(3):
            assert server.run({"subject.py": SUBJECT.encode()}, 60) is not None, server.problem
    # The first run without an edit imports both; then the libraries are there, and each of four runs imports its own.
    assert log.read_text().split() == ["early", "late", "early", *["late"] * 4]


UNSURE = {
    "a library that reads what the project sets": (
        {"lib.py": "import os\nNAME = os.environ.get('NAME_OF_ALL')\n"},
        "import os\nos.environ['NAME_OF_ALL'] = 'all'\nimport lib\n",
        "a variable that the project sets",
    ),
    "a library that imports the project": (
        {"lib.py": "import sys\nsys.path.insert(0, ROOT)\nimport subject\n"},
        "import lib\n",
        "a library imports the project",
    ),
    "a library that starts a thread": (
        {"lib.py": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"},
        "import lib\n",
        "threads are running",
    ),
    "a library that patches others": (
        {"gevent/__init__.py": "", "gevent/monkey.py": ""},
        "import gevent.monkey\n",
        "exchanges parts of modules",
    ),
    "a library that another stands in for": (
        {
            "one.py": "import sys\nif 'conftest' in sys.modules:\n    import two\nelse:\n    import three\n",
            "two.py": "",
            "three.py": "",
        },
        "import one\n",
        "do not import the same modules",
    ),
    "a conftest that cannot be imported": ({}, "raise RuntimeError\n", "the tests ended their process"),
}


@pytest.mark.parametrize("name", UNSURE)
def test_nothing_is_said_where_it_is_not_sure(name: str, tmp_path: Path, interpreter: Interpreter) -> None:
    libraries, conftest, reason = UNSURE[name]
    root = tmp_path / "project"
    files = {file: text.replace("ROOT", repr(str(root))) for file, text in libraries.items()}
    env = with_libraries(tmp_path / "lib", files)
    written(root, {"conftest.py": conftest, "subject.py": SUBJECT, "test_subject.py": TEST})
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",), env=env)) as server:
        assert server.run({"subject.py": SUBJECT.replace("user.name", GOOD).encode()}, 60) is None
        assert reason in (server.problem or "")
        assert server.refusal == server.problem


def test_a_crash_and_a_hang_are_no_verdicts(tmp_path: Path, interpreter: Interpreter) -> None:
    root = written(tmp_path, {"subject.py": SUBJECT, "test_subject.py": TEST})
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        assert server.run({"subject.py": SUBJECT.encode()}, 60) is not None, server.problem
        for edit, problem in (
            ("__import__('os').abort()", "the tests ended their process"),
            ("__import__('os')._exit(0)", "the tests did not reach the end of their session"),
            ("__import__('time').sleep(60)", "the tests did not end in time"),
        ):
            assert server.run({"subject.py": SUBJECT.replace("user.name", edit).encode()}, 1) is None
            assert server.problem == problem
            assert server.is_beyond_forks
        run = server.run({"subject.py": SUBJECT.encode()}, 60)
        assert run is not None or server.refusal == "3 runs had no result"


def test_tests_that_share_a_file_are_judged_alone_only(tmp_path: Path, interpreter: Interpreter) -> None:
    subject = SUBJECT.replace("    return", "    open('shared.txt', 'a').close()\n    return")
    root = written(tmp_path, {"subject.py": subject, "test_subject.py": TEST})
    sources = {"subject.py": subject.replace("user.name", GOOD).encode()}
    for alone in (True, False):
        with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",)), alone=alone) as server:
            assert (server.run(sources, 60) is not None) == alone
            assert server.refusal == (None if alone else "the tests left traces outside their process")


def test_a_file_that_no_test_imports_is_left_to_an_edit_in_place(tmp_path: Path, interpreter: Interpreter) -> None:
    root = written(tmp_path, {"subject.py": SUBJECT, "other.py": "", "test_subject.py": TEST})
    with PreloadedServer(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        assert server.run({"other.py": b"A = 1\n"}, 60) is None
        assert server.problem == "the tests did not use the edited file"


@pytest.mark.parametrize("kind", [WarmServer, PreloadedServer])
def test_a_daemon_of_the_tests_does_not_outlive_its_run(
    kind: type[WarmServer | PreloadedServer], tmp_path: Path, interpreter: Interpreter
) -> None:
    # In a session of its own, without the environment of the run, with a parent that has ended.
    test = """
        import os, time, subject

        def test_none():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execve("/bin/sleep", ["sleep", "600"], {})
                os._exit(0)
            time.sleep(0.3)
            assert subject.call(None) == "nobody"
    """
    root = written(tmp_path, {"subject.py": SUBJECT, "test_subject.py": test})
    before = sleeping()
    with kind(PytestRequest(interpreter, root, node_ids=("test_subject.py",))) as server:
        server.run({"subject.py": SUBJECT.replace("user.name", GOOD).encode()}, 60)
        deadline = time.monotonic() + 5
        while sleeping() - before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not sleeping() - before


def sleeping() -> set[str]:
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and (folder / "cmdline").read_bytes() == b"sleep\x00600\x00":
                found.add(folder.name)
        except OSError:
            continue
    return found
