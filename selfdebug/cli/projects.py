"""The project that a command looks at: found, and rolled back where a run was interrupted in it."""

from __future__ import annotations

from pathlib import Path

from selfdebug import config
from selfdebug.cli import output
from selfdebug.terminal import one_line


def project(root: Path | None) -> Path:
    """The root of the project, as its owner left it. Raises as `config.project_root` and `settled` do."""
    return settled(config.project_root(root))


def settled(root: Path) -> Path:
    """The root, once the roll back of a run that was killed there is finished, and that is said.

    Whatever a command would show or copy else holds a patch that nobody has accepted. Raises WorkspaceError where the
    roll back cannot be finished; a run that is alive is left alone.
    """
    from selfdebug.workspace import Workspace

    recovery = Workspace.open(root).recover()
    if recovery is not None:
        output.say(one_line(recovery.sentence))
    return root
