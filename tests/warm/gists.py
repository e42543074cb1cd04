"""What two runs of the same tests have to agree on, in whatever process they were run."""

from __future__ import annotations

from selfdebug.model import PytestRun


def gist(run: PytestRun | None) -> object:
    """How the tests ended and where they failed, in their order, and which files were served."""
    assert run is not None
    return [run.outcomes, _failures(run), run.served]


def gist_in_any_order(run: PytestRun | None) -> object:
    """The same for plugins that shuffle the tests; None for no run."""
    return None if run is None else [sorted(run.outcomes), set(_failures(run)), run.served]


def _failures(run: PytestRun) -> list[tuple[object, ...]]:
    return [(each.node_id, each.exception.type, each.deepest and each.deepest.place) for each in run.failures]
