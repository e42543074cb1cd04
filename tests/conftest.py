"""What holds for every test: the user's state is not touched, Ctrl-C reaches what they start, coverage measures little.

Coverage makes a process take almost twice as long. So it measures the tests' own process, and those that they start
only where the tests are about code that runs nowhere else.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

STARTS_COVERAGE = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
"""The variables that make coverage measure each process that is started."""
IS_MEASURED = any(name in os.environ for name in STARTS_COVERAGE)

MEASURED = (
    *("batch/", "codemods/", "cli/test_ask.py", "cli/test_command_line.py", "pytest_plugin/"),
    *("runtime/", "static/", "warm/"),
)
"""The tests of code that runs only in processes which they start."""
SWEEPS = ("warm/test_tiers_agree.py",)
"""Of these, those that take the same code through many programs: what they run of it the others run as well."""


@pytest.fixture(scope="session", autouse=True)
def state_of_a_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Dry runs, and runs in projects that cannot be written, keep their traces in a folder of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


SLOW_PLUGINS = ("anyio", "hypothesispytest", "pytest_cov")
"""Of libraries that our own tests use: together they take as long to start as a third of pytest."""


@pytest.fixture(scope="session", autouse=True)
def without_slow_plugins() -> Iterator[None]:
    """The projects under test do without what only we use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in SLOW_PLUGINS))
        yield


@pytest.fixture
def with_each_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project of this test has all plugins that are installed."""
    monkeypatch.delenv("PYTEST_ADDOPTS")


def pytest_configure() -> None:
    """A shell ignores SIGINT in what it starts in the background, and that is inherited by every process below."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def coverage_of_children() -> str:
    """A file of settings: with `source`, each process and each fork would look for all files that it did not run."""
    checkout = Path(__file__).parents[1]
    run = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["run"]
    run["include"] = [f"{checkout / source}/*" for source in run.pop("source")]
    run["data_file"] = str(checkout / ".coverage")
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = Path(folder.name, "coverage.toml")
    lines = (f"{name} = {json.dumps(value)}" for name, value in run.items())
    file.write_text("\n".join(("[tool.coverage.run]", *lines)), encoding="utf-8")
    return str(file)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test."""
    for name in STARTS_COVERAGE:
        os.environ.pop(name, None)
    tests = item.path.relative_to(Path(__file__).parent).as_posix()
    if IS_MEASURED and tests.startswith(MEASURED) and not tests.startswith(SWEEPS):
        os.environ["COVERAGE_PROCESS_START"] = coverage_of_children()
