"""What holds for every test: the user's state is not touched, Ctrl-C reaches what they start, coverage measures little.

Coverage makes a process take almost twice as long. So it measures the tests' own process, and those that they start
only where the tests are about code that runs nowhere else.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

STARTS_COVERAGE = {
    name: os.environ[name] for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG") if name in os.environ
}
"""What makes coverage measure each process that is started."""

MEASURED = (
    *("batch/", "codemods/", "cli/test_ask.py", "cli/test_command_line.py", "pytest_plugin/"),
    *("runtime/", "static/", "warm/"),
)
"""The tests of code that runs only in processes which they start."""


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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test."""
    is_measured = item.path.relative_to(Path(__file__).parent).as_posix().startswith(MEASURED)
    for name, value in STARTS_COVERAGE.items():
        if is_measured:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
