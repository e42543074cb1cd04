"""One order in a process of its own, started again when it dies: what a thread here or a Dask worker elsewhere runs."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import time
import uuid
from pathlib import Path

import selfdebug
from selfdebug.batch.orders import Lost, Order, Reply
from selfdebug.pytest_process.child import Ended, Launch, run_child
from selfdebug.pytest_process.last_words import how_ended, last_telling_lines

ACTIVE = "active"
"""The file beside the frozen projects whose removal ends all jobs, wherever they run."""

# Our own package comes last on the path: no module of its folder may stand in for one of the interpreter's.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from selfdebug.batch.job_process import main; main(*sys.argv[1:])"
)


class _BatchEndedError(Exception):
    """Nobody waits for the answer any more."""


def isolated(order: Order, retries: int) -> Reply:
    """Carry an order out in a new process, which is started again up to `retries` times when it leaves no answer."""
    began = time.monotonic()
    active = order.folder.parent / ACTIVE
    said = "the batch was ended before"
    if not active.exists():
        said = f"{active.parent} is not to be seen on {socket.gethostname()}; name a shared folder with --work-dir"
    tries = 0
    while tries <= retries and active.exists():
        tries += 1
        try:
            ended, answer = _tried(order, active)
        except _BatchEndedError:
            break
        if answer is not None:
            return Reply(pickle.loads(answer), time.monotonic() - began, tries)
        said = _why(ended)
    return Reply(Lost(said), time.monotonic() - began, tries)


def _tried(order: Order, active: Path) -> tuple[Ended, bytes | None]:
    def tick() -> None:
        if not active.exists():
            raise _BatchEndedError

    marker = uuid.uuid4().hex
    name = f"{order.name}-{marker[:12]}"  # what a killed process left under another name is in nobody's way
    asked, given = (active.parent / f"{order.folder.name}-{name}.{kind}" for kind in ("order", "answer"))
    asked.write_bytes(pickle.dumps(Order(order.folder, name, order.settings, order.sources, order.task)))
    package = str(Path(selfdebug.__file__).parents[1])
    command = (sys.executable, "-P", "-c", _PROGRAM, package, str(asked), str(given))
    env = {name: value for name, value in os.environ.items() if name != "SELFDEBUG_DIR"}
    ended = run_child(Launch(command, active.parent, {**env, "SELFDEBUG_RUN": marker}, marker), float("inf"), tick)
    return ended, given.read_bytes() if given.exists() else None


def _why(ended: Ended) -> str:
    told = last_telling_lines(ended.output)
    return f"its process was ended {how_ended(ended)}" + (f": {told}" if told else "")
