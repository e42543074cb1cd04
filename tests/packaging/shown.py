"""Documents that show commands and their output: read apart, run, and compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_FENCE = re.compile(r"(?:<!-- (.*?) -->\n)?```(\w*)(?: title=\"(.*?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the marker before it, its language, its text, and the file that it is the content of."""

    marker: str | None
    language: str
    text: str
    title: str | None = None


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a document in order."""
    for match in _FENCE.finditer(document):
        yield Block(match[1], match[2], match[4], match[3])


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block with the output that is shown for each."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def fits(shown: str, output: str) -> bool:
    """Whether an output is the shown one, in which `...` stands for anything."""
    pattern = ".*".join(map(re.escape, shown.strip().split("...")))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def reader() -> dict[str, str]:
    """The environment of somebody who reads: our commands on the path, an identity for git, no other environment."""
    environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "reader", f"GIT_{role}_EMAIL": "reader@example.org"}
    return environ


def follow(document: str, folder: Path) -> int:
    """Do in `folder` what a document shows, in its order; returns how many commands were run."""
    count = 0
    for block in blocks(document):
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        for command, shown in steps(block.text) if block.language == "console" else ():
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=reader(), check=False
            )
            assert done.returncode == 0, (command, done.stderr)
            assert fits(shown, done.stdout), (command, done.stdout)
            count += 1
    return count


def unknown_options(document: str) -> set[str]:
    """The options that a document names and no command that it names has; fails for a command that there is not."""
    named = set(re.findall(r"(?:`|\$ |bin/)selfdebug ([a-z]+)", document))
    options = set(re.findall(r"`(--[a-z-]+)", document))
    known = set()
    for name in sorted(named):
        done = subprocess.run(
            [sys.executable, "-m", "selfdebug", name, "-h"],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
            check=False,
        )
        assert done.returncode == 0, name
        known |= set(re.findall(r"--[a-z-]+", done.stdout))
    return options - known
