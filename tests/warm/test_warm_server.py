"""The warm server says what a fresh process says, or nothing: on all ways to hold a function, on hostile projects."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gists import gist

from selfdebug.pytest_process import Interpreter, PytestRequest, WarmServer, run_pytest

BAD, GOOD = "    return user.name", "    return user.name if user else 'nobody'"
TEST = """
    import subject

    def test_none():
        assert subject.call(None) == "nobody"
"""


PYTHONS = [sys.executable, *filter(None, os.environ.get("SELFDEBUG_TEST_PYTHONS", "").split(os.pathsep))]


@pytest.fixture(scope="session", params=PYTHONS, ids=lambda python: str(Path(python).parents[1].name))
def interpreter(request: pytest.FixtureRequest) -> Interpreter:
    return Interpreter.find(request.param)


@dataclass(frozen=True)
class Case:
    """A project with a failing test, and an edit of `subject.py` that replaces `before` by `after`."""

    subject: str
    before: str = BAD
    after: str = GOOD
    test: str = TEST
    others: Mapping[str, str] = field(default_factory=dict)


def written(root: Path, case: Case) -> dict[str, bytes]:
    """Write the project; return the sources of the edit."""
    files = {"subject.py": case.subject, "test_subject.py": case.test, **case.others}
    for name, text in files.items():
        (root / name).write_text(textwrap.dedent(text).lstrip("\n"))
    source = (root / "subject.py").read_text()
    assert case.before in source
    return {"subject.py": source.replace(case.before, case.after).encode()}


AGREE = {
    "a plain function": Case("def call(user):\n    return user.name\n"),
    "a wrong edit": Case("def call(user):\n    return user.name\n", after="    return user.title"),
    "a method": Case(
        """
        class Page:
            def title(self, user):
                return user.name

        def call(user):
            return Page().title(user)
        """,
        before="        return user.name",
        after="        return user.name if user else 'nobody'",
    ),
    "a property, a static and a class method": Case(
        """
        class Page:
            user = None
            @property
            def title(self):
                user = self.user
                return user.name
            @classmethod
            def make(cls):
                return cls()
            @staticmethod
            def idle():
                return None

        def call(user):
            Page.idle()
            return Page.make().title
        """,
        before="        return user.name",
        after="        return user.name if user else 'nobody'",
    ),
    "a decorated function": Case(
        """
        import functools

        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper

        @logged
        def call(user):
            return user.name
        """
    ),
    "the inside of a decorator": Case(
        """
        def named(function):
            def wrapper(user):
                return function(user.name)
            return wrapper

        @named
        def call(name):
            return name
        """,
        before="user.name",
        after="user.name if user else 'nobody'",
    ),
    "a partial and a table of functions": Case(
        """
        import functools

        def name_of(prefix, user):
            return user.name

        TABLE = {"name": functools.partial(name_of, "")}
        del name_of

        def call(user):
            return TABLE["name"](user)
        """
    ),
    "a cached function": Case("import functools\n\n@functools.lru_cache\ndef call(user):\n    return user.name\n"),
    "a dispatched function": Case(
        """
        import functools

        @functools.singledispatch
        def call(user):
            raise TypeError(user)

        @call.register(type(None))
        def _(user):
            return user.name
        """
    ),
    "a closure that each call makes": Case(
        """
        def call(user):
            def inner():
                return user.name
            return inner()
        """,
        before="        return user.name",
        after="        return user.name if user else 'nobody'",
    ),
    "a generator": Case(
        """
        def names(users):
            for user in users:
                yield user.name

        def call(user):
            return next(names([user]))
        """,
        before="yield user.name",
        after="yield user.name if user else 'nobody'",
    ),
    "a comprehension and a lambda": Case(
        """
        def call(user):
            key = lambda item: item.name
            return [key(each) for each in [user]][0]
        """,
        before="item.name",
        after="(item.name if item else 'nobody')",
    ),
    "a comprehension that the edit adds": Case(
        "def call(user):\n    return user.name\n",
        after="    return [each.name if each else 'nobody' for each in [user]][0]",
    ),
    "a coroutine": Case(
        """
        import asyncio

        async def name_of(user):
            return user.name

        def call(user):
            return asyncio.run(name_of(user))
        """
    ),
    "a module that the test imports": Case(
        "SHOWN = None\n\ndef call(user):\n    return user.name\n",
        before=f"None\n\ndef call(user):\n{BAD}",
        after=f"1\n\ndef call(user):\n{GOOD}",
        test="def test_none():\n    import subject\n\n    assert (subject.call(None), subject.SHOWN) == ('nobody', 1)",
    ),
    "a module that the test imports again": Case(
        "def call(user):\n    return user.name\n",
        test="""
        import importlib, subject

        def test_none():
            again = importlib.reload(subject)
            assert again.call(None) == subject.call(None) == "nobody"
        """,
    ),
    "a module that is patched in the test": Case(
        "def helper():\n    return 1\n\ndef call(user):\n    return user.name\n",
        test="""
        import subject

        def test_none(monkeypatch):
            monkeypatch.setattr(subject, "helper", lambda: 2)
            monkeypatch.setenv("PLACE", "here")
            assert (subject.call(None), subject.helper()) == ("nobody", 2)
        """,
    ),
    "session fixtures, files and captured output": Case(
        "def call(user):\n    return user.name\n",
        test="""
        import pytest, subject

        @pytest.fixture(scope="session")
        def place(tmp_path_factory):
            folder = tmp_path_factory.mktemp("place")
            yield folder / "file"
            assert (folder / "file").read_text() == "nobody"

        def test_none(place, capsys):
            assert not place.exists()
            place.write_text(subject.call(None))
            print("seen")
            assert capsys.readouterr().out == "seen\\n"

        def test_later(place):
            assert place.read_text() == "nobody"
        """,
    ),
    "a unittest class with subtests": Case(
        "def call(user):\n    return user.name\n",
        test="""
        import unittest, subject

        class TestCall(unittest.TestCase):
            def test_none(self):
                for user in (None, 0):
                    with self.subTest(user=user):
                        self.assertEqual(subject.call(user), "nobody")
        """,
    ),
    "source text": Case(
        "def call(user):\n    return user.name\n",
        test="""
        import inspect, subject

        def test_none():
            assert "nobody" in inspect.getsource(subject.call)
        """,
    ),
}


@pytest.mark.parametrize("name", AGREE)
def test_the_verdict_is_that_of_a_fresh_process(name: str, tmp_path: Path, interpreter: Interpreter) -> None:
    sources = written(tmp_path, AGREE[name])
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        first, second = (server.run(sources, 60) for _ in range(2))
        assert first is not None, server.problem
        assert second is not None, server.problem
    fresh = run_pytest(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",), sources=sources))
    assert gist(first) == gist(second) == gist(fresh)
    assert first.served == ("subject.py",)
    assert server.control is not None
    assert server.control.failed


UNSURE = {
    "the module's own level": (
        Case("LIMIT = 1\n\ndef call(user):\n    return user.name\n", "LIMIT = 1", "LIMIT = True"),
        "more than the inside of functions",
    ),
    "a class body": (
        Case("class A:\n    x = 1\n\ndef call(user):\n    return user.name\n", "x = 1", "x = 2"),
        "more than the inside of functions",
    ),
    "a default": (
        Case("def call(user=None):\n    return user.name\n", "user=None", "user=0"),
        "more than the inside of functions",
    ),
    "a decorator": (
        Case("def call(user):\n    return user.name\n", "def call", "@staticmethod\ndef call"),
        "more than the inside of functions",
    ),
    "a signature": (
        Case("def call(user):\n    return user.name\n", "(user)", "(user, *more)"),
        "signature",
    ),
    "a generator in the place of a function": (
        Case("def call(user):\n    return user.name\n", "return", "yield"),
        "signature or the free variables",
    ),
    "a free variable": (
        Case(
            "def make():\n    limit = 1\n    more = 2\n    def call(user):\n        return user.name + limit\n"
            "    more\n    return call\n\ncall = make()\n",
            "user.name + limit",
            "user.name + more",
        ),
        "free variables",
    ),
    "a function that was called at import": (
        Case(
            "def call(user):\n    return user.name if user is not None else None\n\nFIRST = call(None)\n",
            "else None",
            "else 'nobody'",
        ),
        "was called before the first test",
    ),
    "a generator that runs": (
        Case(
            "def names():\n    yield 1\n    yield 2\n\nrunning = names()\nnext(running)\n\n"
            "def call(user):\n    return user.name\n",
            "yield 2",
            "yield 3",
        ),
        "was called before the first test",
    ),
    "a function that is not there any more": (
        Case(
            "def gone(user):\n    return 1\ndel gone\n\ndef call(user):\n    return user.name\n", "return 1", "return 2"
        ),
        "not alive",
    ),
    "an edit of a comment": (
        Case("def call(user):\n    return user.name  # old\n", "# old", "# new"),
        "changes no code",
    ),
    "an edit that does not compile": (
        Case("def call(user):\n    return user.name\n", "user.name", "user.."),
        "does not compile",
    ),
    "threads": (
        Case(
            "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
            "def call(user):\n    return user.name\n"
        ),
        "threads are running",
    ),
    "an open socket": (
        Case("import socket\nS = socket.socket()\ndef call(user):\n    return user.name\n"),
        "a socket is open",
    ),
    "an event loop": (
        Case("import asyncio\nLOOP = asyncio.new_event_loop()\ndef call(user):\n    return user.name\n"),
        "a socket is open",
    ),
    "a database that is open": (
        Case(
            "import sqlite3\nDB = sqlite3.connect('data.db')\nDB.execute('create table if not exists t (x)')\n"
            "def call(user):\n    return user.name\n"
        ),
        "open for writing",
    ),
    "a temporary file made at import": (
        Case("import tempfile\nPLACE = tempfile.mkdtemp()\ndef call(user):\n    return user.name\n"),
        "temporary files were made",
    ),
    "a process started at import": (
        Case("import subprocess\nP = subprocess.Popen(['sleep', '30'])\ndef call(user):\n    return user.name\n"),
        "processes were started",
    ),
    "a file that tests leave in the project": (
        Case("def call(user):\n    open('left.txt', 'a').close()\n    return user.name\n"),
        "left traces",
    ),
    "a test that forks": (
        Case(
            "def call(user):\n    return user.name\n",
            test="import os, subject\n\ndef test_none():\n    pid = os.fork()\n    if not pid:\n        os._exit(0)\n"
            "    os.waitpid(pid, 0)\n    assert subject.call(None) == 'nobody'\n",
        ),
        "left traces",
    ),
    "a test that forks and stays": (
        Case(
            "def call(user):\n    return user.name\n",
            test="import os, subject\n\ndef test_none():\n    os.fork()\n    assert subject.call(None) == 'nobody'\n",
        ),
        "left traces",
    ),
    "a test that ends its process": (
        Case("import os\ndef call(user):\n    os._exit(0)\n    return user.name\n"),
        "did not reach the end",
    ),
    "a test that kills its process": (
        Case("import os\ndef call(user):\n    os.kill(os.getpid(), 9)\n    return user.name\n"),
        "ended their process",
    ),
    "a test that ends the session": (
        Case("import pytest\ndef call(user):\n    pytest.exit('enough')\n    return user.name\n"),
        "ended their process",
    ),
    "tests that end differently each time": (
        Case(
            "def call(user):\n    return user.name\n",
            test="import os, subject\n\ndef test_none():\n    raise type(f'E{os.getpid()}', (Exception,), {})\n",
        ),
        "do not end twice in the same way",
    ),
    "a file that cannot be collected": (
        Case("def call(user):\n    return user.name\n", test="import missing_module\n"),
        "not all tests could be collected",
    ),
    "no tests": (
        Case("def call(user):\n    return user.name\n", test="import subject\n"),
        "there are no tests",
    ),
    "a conftest that ends pytest": (
        Case("def call(user):\n    return user.name\n", others={"conftest.py": "raise SystemExit(1)\n"}),
        "the server did not come up",
    ),
}


@pytest.mark.parametrize("name", UNSURE)
def test_nothing_is_said_where_it_is_not_sure(name: str, tmp_path: Path, interpreter: Interpreter) -> None:
    case, reason = UNSURE[name]
    sources = written(tmp_path, case)
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        run = server.run(sources, 60)
        assert run is None
        assert reason in (server.problem or "")


def test_a_hanging_edit_is_ended_and_the_next_one_is_judged(tmp_path: Path, interpreter: Interpreter) -> None:
    case = Case("def call(user):\n    return user.name\n", after="    while True: pass")
    hanging = written(tmp_path, case)
    good = {"subject.py": hanging["subject.py"].replace(b"while True: pass", b"return 'nobody'")}
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        began = time.monotonic()
        assert server.run(good, 60) is not None, server.problem
        assert server.run(hanging, 1) is None
        assert server.problem == "the tests did not end in time"
        assert time.monotonic() - began < 50
        run = server.run(good, 60)
        assert run is not None
        assert run.outcomes[0][1] == "passed"
        assert [server.run(hanging, 0.5) for _ in range(2)] == [None, None]
        assert server.refusal == "3 runs had no result"
        assert server.run(good, 60) is None


def test_a_server_that_is_killed_says_nothing_more(tmp_path: Path, interpreter: Interpreter) -> None:
    case = Case("import os\ndef call(user):\n    return user.name\n", after="    os.kill(os.getppid(), 9)")
    sources = written(tmp_path, case)
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        assert server.run(sources, 60) is None
        assert server.refusal in ("the server does not answer", "the server has ended")
    assert server.run(sources, 60) is None


def test_edits_on_top_of_sources_that_are_served(tmp_path: Path, interpreter: Interpreter) -> None:
    case = Case("def call(user):\n    return user.name\n")
    edited = written(tmp_path, case)
    (tmp_path / "subject.py").write_text("raise RuntimeError('not this one')\n")
    served = {"subject.py": edited["subject.py"].replace(GOOD.encode(), BAD.encode())}
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",), sources=served)) as server:
        run = server.run(edited, 60)
        assert run is not None, server.problem
    assert server.control is not None
    assert [failure.exception.type for failure in server.control.failures] == ["AttributeError"]
    assert not run.failures


@pytest.mark.parametrize(("who", "is_usable"), [("sitecustomize", True), ("conftest", False)])
def test_only_what_the_project_hides_from_the_collector_is_in_the_way(
    who: str, is_usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.12 hides some objects of its own, as a `sitecustomize` does here before any code of the project runs."""
    sources = written(tmp_path, Case("def call(user):\n    return user.name\n"))
    (tmp_path / f"{who}.py").write_text("import gc\ngc.freeze()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    request = PytestRequest(Interpreter.find(sys.executable), tmp_path, node_ids=("test_subject.py",))
    with WarmServer(request) as server:
        assert (server.run(sources, 60) is not None) is is_usable
        assert server.problem == (None if is_usable else "the collector of garbage does not show all objects")


def test_xdist_in_the_options_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    interpreter = Interpreter.find(sys.executable)
    sources = written(tmp_path, Case("def call(user):\n    return user.name\n"))
    arguments = ("-p", "xdist", "-n", "1")
    with WarmServer(
        PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",), pytest_args=arguments)
    ) as server:
        assert server.run(sources, 60) is None
        assert server.problem == "the tests are distributed by xdist"


def test_old_versions_are_not_even_started(tmp_path: Path) -> None:
    for python, version, words in (("3.8.1", "8.0.0", "Python 3.8.1"), ("3.11.0", "6.2.5", "pytest 6.2.5")):
        interpreter = Interpreter(Path("/no/python"), python, version)
        with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("a.py",))) as server:
            assert server.run({}, 1) is None
            assert server.problem == f"{words} is too old"


def test_the_edit_leaves_nothing_behind(tmp_path: Path, interpreter: Interpreter) -> None:
    sources = written(tmp_path, Case("def call(user):\n    return user.name\n"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with WarmServer(PytestRequest(interpreter, tmp_path, node_ids=("test_subject.py",))) as server:
        assert server.run(sources, 60) is not None
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
