"""Names of tests as the runners write them, and the pytest node ids that stand for the same tests here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from selfdebug.model import Failure

_TITLE_PHASE = re.compile(r"ERROR (?:at setup of|at teardown of|collecting) +")


def title_domain(title: str) -> str:
    """An entry's title without its phase."""
    return _TITLE_PHASE.sub("", title, count=1)


def named_by_frames(title: str, failure: Failure) -> str:
    """A name for a test whose log gives only a title: the node id when a frame shows its file, else the title."""
    title = title_domain(title)
    function = title.partition("[")[0].replace("::", ".").rpartition(".")[2]
    for frame in failure.frames:
        if frame.file and frame.is_test and frame.function == function:
            if title.startswith(frame.file.removesuffix(".py").replace("/", ".") + "."):
                return title
            head, bracket, tail = title.partition("[")
            return f"{frame.file}::{head.replace('.', '::')}{bracket}{tail}"
    return title


def node_ids_to_run(failures: Sequence[Failure], root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The node ids of the failing tests that can be run under `root`, and a sentence for each that cannot be mapped."""
    found: dict[str, None] = {}
    sentences: list[str] = []
    for failure in failures:
        if failure.node_id and (root / failure.node_id.partition("::")[0]).is_file():
            found[failure.node_id] = None
        else:
            sentences.append(f"{failure.node_id or 'A failure without a name'} could not be mapped to a test here.")
    return tuple(found), tuple(dict.fromkeys(sentences))
