"""Names of tests as the runners write them, and the pytest node ids that stand for the same tests here."""

from __future__ import annotations

from selfdebug.model import Failure


def named_by_frames(title: str, failure: Failure) -> str:
    """A name for a test whose log gives only a title: the node id when a frame shows its file, else the title."""
    function = title.partition("[")[0].replace("::", ".").rpartition(".")[2]
    for frame in failure.frames:
        if frame.file and frame.is_test and frame.function == function:
            head, bracket, tail = title.partition("[")
            return f"{frame.file}::{head.replace('.', '::')}{bracket}{tail}"
    return title
