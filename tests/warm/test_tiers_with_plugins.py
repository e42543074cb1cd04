"""Forks say what fresh processes say, or nothing, under plugins that projects really use."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from gists import gist_in_any_order

from selfdebug.model import PytestRun
from selfdebug.pytest_process import ForkServer, Interpreter, PreloadedServer, PytestRequest, WarmServer, run_pytest

PLUGINS = (
    *("pytest-asyncio>=0.23", "anyio>=4", "pytest-cov>=5", "hypothesis>=6.100", "pytest-timeout>=2"),
    *("pytest-randomly>=3", "pytest-random-order>=1", "pytest-rerunfailures>=14", "pytest-forked>=1.6"),
    *("pytest-xdist>=3.5", "pytest-django>=4.8", "django>=4.2"),
)


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """One that has the plugins: in the environment of these tests they would be active in each run of pytest."""
    shared = tmp_path_factory.getbasetemp().parent  # of all workers, one of which installs
    folder, is_there = shared / "with-plugins", shared / "with-plugins-is-there"
    python = folder / "bin" / "python"
    with (shared / "with-plugins-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_there.exists() or is_there.read_text() != "\n".join(PLUGINS):  # or of another version of this list
            pip = (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check")
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
            subprocess.run(
                [*pip, "install", "-q", "--no-compile", f"pytest=={pytest.__version__}", *PLUGINS], check=True
            )
            is_there.write_text("\n".join(PLUGINS))
    return Interpreter.find(python)


SUBJECT = "def call(user):\n    return user.name\n"
GOOD, WRONG = (SUBJECT.replace("user.name", text) for text in ("user.name if user else 'nobody'", "user.title"))
LEVEL = "NOBODY = 'nobody'\n\ndef call(user):\n    return user.name if user else NOBODY\n"
TEST = "import subject\n\ndef test_none():\n    assert subject.call(None) == 'nobody'\n"


def project(root: Path, options: str, test: str, more: Mapping[str, str] | None = None) -> Path:
    ini = f"[pytest]\naddopts = {options}\nasyncio_default_fixture_loop_scope = function\n"
    for name, text in {"pytest.ini": ini, "subject.py": SUBJECT, "test_subject.py": test, **(more or {})}.items():
        (root / name).write_text(text)
    return root


def environment(*names: str) -> dict[str, str]:
    """An environment in which pytest loads the named plugins only."""
    only = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": ",".join(names)}
    return {**os.environ, **only}


@dataclass(frozen=True)
class Judges:
    """Says what edits do to a project, in one of three ways."""

    interpreter: Interpreter
    root: Path
    env: Mapping[str, str]

    @property
    def request(self) -> PytestRequest:
        return PytestRequest(self.interpreter, self.root, node_ids=("test_subject.py",), env=self.env)

    def forked(self, kind: type[ForkServer], *edits: str) -> tuple[list[PytestRun | None], ForkServer]:
        with kind(self.request) as server:
            return [server.run({"subject.py": edit.encode()}, 60) for edit in edits], server

    def fresh(self, edit: str) -> PytestRun:
        return run_pytest(replace(self.request, sources={"subject.py": edit.encode()}))


MANY = """
import asyncio, random
import anyio, pytest
from hypothesis import given, settings, strategies
import subject

@pytest.fixture(scope="session")
def seen():
    names = []
    yield names
    assert names

@pytest.mark.asyncio
async def test_with_a_loop(seen):
    await asyncio.sleep(0)
    seen.append("loop")
    assert subject.call(None) == "nobody"

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_with_anyio(anyio_backend, seen):
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 0)
    seen.append("anyio")
    assert subject.call(None) == "nobody"

@settings(max_examples=20)
@given(strategies.none() | strategies.just(0))
def test_with_examples(user):
    assert subject.call(user) == "nobody"

@pytest.mark.timeout(30)
def test_with_a_limit(seen):
    seen.append(random.random())
    assert subject.call(None) == "nobody"
"""
ALL = ("pytest_asyncio.plugin", "anyio.pytest_plugin", "_hypothesis_pytestplugin", "pytest_timeout", "pytest_randomly")


def test_many_plugins_at_once(tmp_path: Path, interpreter: Interpreter) -> None:
    names = (*ALL, "pytest_cov.plugin", "pytest_rerunfailures", "random_order.plugin")
    root = project(tmp_path, "--cov=subject --cov-report=xml --reruns 1 --random-order", MANY)
    before = {path.name for path in root.iterdir()}
    judges = Judges(interpreter, root, environment(*names))
    good, wrong = judges.fresh(GOOD), judges.fresh(WRONG)
    assert (len(good.passed), len(good.failures), len(wrong.failed)) == (4, 0, 4)
    for kind in (WarmServer, PreloadedServer):
        found, server = judges.forked(kind, GOOD, WRONG)
        assert gist_in_any_order(found[0]) == gist_in_any_order(good), server.problem
        assert found[1] is not None, server.problem
        assert set(found[1].failed) <= set(wrong.failed)
        assert {each.exception.type for each in found[1].failures} == {"AttributeError"}
    assert {path.name for path in root.iterdir()} == before  # no reports, no databases of examples


def test_tests_that_run_in_forks_of_their_own(tmp_path: Path, interpreter: Interpreter) -> None:
    judges = Judges(interpreter, project(tmp_path, "--forked", TEST), environment("pytest_forked"))
    found, server = judges.forked(WarmServer, GOOD)
    assert found == [None]
    assert server.problem == "the tests left traces outside their process"
    found, server = judges.forked(PreloadedServer, LEVEL)
    assert gist_in_any_order(found[0]) == gist_in_any_order(judges.fresh(LEVEL)), server.problem


def test_tests_that_are_distributed_are_left_alone(tmp_path: Path, interpreter: Interpreter) -> None:
    judges = Judges(interpreter, project(tmp_path, "-n 2", TEST), environment("xdist.plugin"))
    for kind in (WarmServer, PreloadedServer):
        found, server = judges.forked(kind, GOOD)
        assert found == [None]
        assert server.refusal == "the tests are distributed by xdist"


DJANGO = {
    "settings.py": (
        "SECRET_KEY = 'x'\nROOT_URLCONF = 'settings'\nurlpatterns = []\n"
        "INSTALLED_APPS = ['shop']\nDEFAULT_AUTO_FIELD = 'django.db.models.AutoField'\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'TEST': {'NAME': None}}}\n"
    ),
    "shop/__init__.py": "",
    "shop/models.py": (
        "from django.db import models\n\nclass Customer(models.Model):\n    name = models.CharField(max_length=9)\n"
    ),
}
WITH_DATABASE = """
import pytest
import subject
from shop.models import Customer

@pytest.mark.django_db
def test_none():
    assert subject.call(Customer.objects.first()) == 'nobody'
    Customer.objects.create(name='ann')
    assert subject.call(Customer.objects.first()) == 'ann'

@pytest.mark.django_db(transaction=True)
def test_committed():
    Customer.objects.create(name='bob')
    assert [subject.call(each) for each in Customer.objects.all()] == ['bob']

def test_pages(client):
    assert client.get(f'/{subject.call(None)}').status_code == 404
"""


def _with_django(root: Path, interpreter: Interpreter) -> Judges:
    (root / "shop").mkdir()
    return Judges(
        interpreter, project(root, "--ds=settings", WITH_DATABASE, DJANGO), environment("pytest_django.plugin")
    )


def test_a_database_of_django_in_memory(tmp_path: Path, interpreter: Interpreter) -> None:
    judges = _with_django(tmp_path, interpreter)
    for kind, edit in ((WarmServer, GOOD), (PreloadedServer, LEVEL)):
        fresh = judges.fresh(edit)
        assert len(fresh.passed) == 3, fresh.output
        found, server = judges.forked(kind, edit, WRONG, edit)
        assert [gist_in_any_order(each) for each in found[::2]] == [gist_in_any_order(fresh)] * 2, server.problem
        assert found[1] is not None, server.problem
        assert "test_subject.py::test_none" in found[1].failed


def test_a_database_of_django_on_disk(tmp_path: Path, interpreter: Interpreter) -> None:
    judges = _with_django(tmp_path, interpreter)
    settings = tmp_path / "settings.py"
    settings.write_text(settings.read_text().replace("None", "'test.sqlite3'"))
    assert len(judges.fresh(GOOD).passed) == 3
    found, server = judges.forked(WarmServer, GOOD)
    assert (found, server.problem) == ([None], "the tests left traces outside their process")
    assert not (tmp_path / "test.sqlite3").exists()


def test_limits_of_time_that_hypothesis_sets_are_no_verdict(tmp_path: Path, interpreter: Interpreter) -> None:
    test = (
        "import time\nfrom hypothesis import given, settings, strategies\nimport subject\n\n"
        "@settings(deadline=20, max_examples=3)\n@given(strategies.none())\ndef test_none(user):\n"
        "    assert subject.call(user) == 'nobody'\n    time.sleep(0.05)\n"
    )
    judges = Judges(interpreter, project(tmp_path, "", test), environment("_hypothesis_pytestplugin"))
    for kind in (WarmServer, PreloadedServer):
        found, server = judges.forked(kind, GOOD)
        assert found == [None]
        assert (server.problem or "").startswith("hypothesis complains")
        assert server.is_beyond_forks
