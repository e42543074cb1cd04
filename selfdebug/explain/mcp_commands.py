"""Runs a command of selfdebug beside the server: its progress is passed on, a cancelled one is left to roll back.

The command is a process of its own, so that what runs in it can neither write into the server's protocol stream nor
take the server down, and so that its roll back is the one that Ctrl-C gives to a person.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
from anyio.streams.text import TextReceiveStream

from selfdebug.explain.mcp_tools import Command

ROLL_BACK_SECONDS = 60.0
"""How long a cancelled command may take to put everything back before it is killed; the journal does the rest then."""

MAX_STDERR = 20_000


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: its one JSON document (None when it wrote none), and what it said for a person."""

    exit_code: int
    document: dict[str, Any] | None
    said: str


async def run_command(
    command: Command, environ: Mapping[str, str], progress: Callable[[str], Awaitable[None]]
) -> Finished:
    """Run it to its end, calling `progress` with each line that it says on the way.

    When the caller is cancelled the command is interrupted and waited for, so that it has rolled back before this
    raises.
    """
    process, tether = await _started(command, environ)
    try:
        output: list[str] = []
        said: list[str] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_feed, process, command.stdin)
            group.start_soon(_collect, process.stdout, output)
            group.start_soon(_relay, process.stderr, said, progress)
        exit_code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _put_down(process)
        os.close(tether)
    return Finished(exit_code, _document("".join(output)), "\n".join(said)[-MAX_STDERR:])


async def _started(command: Command, environ: Mapping[str, str]) -> tuple[anyio.abc.Process, int]:
    """The process, and the descriptor that it lives no longer than, however this process ends."""
    watched, tether = os.pipe()
    words = [sys.executable, "-m", "selfdebug.explain.tethered", str(watched), *command.words]
    env = {**os.environ, **environ, "PYTHONIOENCODING": "utf-8"}
    try:
        process = await anyio.open_process(
            words, cwd=command.root, env=env, start_new_session=True, pass_fds=(watched,)
        )
    except OSError:
        os.close(tether)
        raise
    finally:
        os.close(watched)
    return process, tether


async def _put_down(process: anyio.abc.Process) -> None:
    if process.returncode is None:
        process.terminate()  # an interrupt would be ignored by children of a background job
        with anyio.move_on_after(ROLL_BACK_SECONDS):
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


async def _feed(process: anyio.abc.Process, text: str | None) -> None:
    stream = process.stdin
    assert stream is not None  # open_process makes pipes
    try:
        if text is not None:
            await stream.send(text.encode("utf-8", "backslashreplace"))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # it ended before it had read all, and says so itself
    finally:
        await stream.aclose()


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: list[str]) -> None:
    assert stream is not None  # open_process makes pipes
    async for text in TextReceiveStream(stream, errors="replace"):
        into.append(text)


async def _relay(
    stream: anyio.abc.ByteReceiveStream | None, into: list[str], progress: Callable[[str], Awaitable[None]]
) -> None:
    assert stream is not None  # open_process makes pipes
    rest = ""
    async for text in TextReceiveStream(stream, errors="replace"):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            into.append(line)
            await progress(line.removeprefix("selfdebug: "))
    if rest:
        into.append(rest)


def _document(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
