"""`pytest --selfdebug`: at the end of a failing session, what was wrong in one line and the command that repairs it.

pytest finds this module through its entry point and imports it in every session, so it imports nothing itself. It
never changes an outcome or the exit code, and stays off in the runs of pytest that selfdebug itself starts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_OPTIONS = {
    "--selfdebug": ("hint", "Diagnose each failure in one line and name the command that repairs it."),
    # A value of its own would swallow the path that may follow, so the option with a value is one more option.
    "--selfdebug=run": ("run", "The same, and repair the failures when the session is over."),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("selfdebug", "repair what fails")
    for option, (mode, text) in _OPTIONS.items():
        group.addoption(option, action="store_const", const=mode, dest="selfdebug", default=None, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Watch the session, where that was asked for."""
    mode = config.getoption("selfdebug")
    if mode is not None and "SELFDEBUG_RUN" not in os.environ:
        from selfdebug.pytest_plugin.watcher import Watcher

        config.pluginmanager.register(Watcher(config, repairs=mode == "run"), "selfdebug-watcher")
