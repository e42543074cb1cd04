"""A group of failures as one cause: the tests to repair together, and what to call it."""

from __future__ import annotations

from selfdebug.batch.orders import Cause
from selfdebug.model import Failure, When
from selfdebug.repair.grouping import Group
from selfdebug.reports.evidence import crash_frame


def cause_of(group: Group) -> Cause:
    """The tests of a group and what they fail with. A conftest that cannot be imported fails all tests."""
    first = group[0].crash
    frame = crash_frame(first)
    where = f" at {frame.file}:{frame.line}" if frame else ""
    node_ids = tuple(failure.node_id for failure in group if failure.node_id)
    if any(map(_is_of_conftest, group)):
        node_ids = ()
    return Cause(node_ids, f"{first.exception.short_type}{where}")


def _is_of_conftest(failure: Failure) -> bool:
    return failure.when is When.COLLECT and (failure.node_id or "").rpartition("/")[2] == "conftest.py"
