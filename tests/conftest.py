"""What holds for every test: the state of the user who runs them is not touched, and Ctrl-C reaches what they start."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def state_of_a_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Dry runs, and runs in projects that cannot be written, keep their traces in a folder of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_configure() -> None:
    """A shell ignores SIGINT in what it starts in the background, and that is inherited by every process below."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
